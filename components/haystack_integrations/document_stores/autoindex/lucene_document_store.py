"""The document store that Lucene searches."""

import asyncio
from pathlib import Path
from typing import ClassVar

from haystack_integrations.document_stores.autoindex.async_base import AsyncBM25DocumentStore
from haystack_integrations.document_stores.autoindex.live_index import LiveIndex


class LuceneDocumentStore(AsyncBM25DocumentStore):
    """Keeps documents and searches them with Lucene, in memory or durably in a folder.

    Use it where the index shall behave as Lucene, Elasticsearch or OpenSearch do: it is the same as
    :class:`Bm25sDocumentStore`, but Lucene builds and searches the index. It needs the extra ``lucene``
    (``pip install "autoindex-haystack[lucene]"``), which brings its own Java.

    The index is changed in place: the first search after a write indexes what was written since, whoever wrote it.
    Documents that were deleted or replaced count in the number of documents and the average length until they are
    expunged; from then on scores are those of an index built anew. With up to 100,000 documents that happens at once,
    in a larger store as soon as they are more than 1 % of all, and by :meth:`expunge`. A line in the log tells when,
    and :attr:`deleted_chunks` how many still count.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.document_stores.autoindex import LuceneDocumentStore

    store = LuceneDocumentStore()
    store.write_documents([Document(content="A heated wing sheds ice."), Document(content="A cold engine coughs.")])
    [found] = store.search("ice on the wing", top_k=1)
    print(found.content, found.score)
    ```
    """

    backend: ClassVar[str] = "lucene"
    _indexes: LiveIndex

    @property
    def deleted_chunks(self) -> int:
        """How many documents that are gone still count in the scores; 0 means that these are a fresh index's."""
        return self._current().deleted

    def expunge(self) -> None:
        """Take documents that are gone out of the index, so that scores are those of an index built anew.

        It rewrites the parts of the index that hold any, which takes some seconds per million documents.

        :raises BackendError: If the engine is missing or fails.
        """
        found = self._current()
        with self._build_lock:
            self._searchable = self._indexes.expunge(self._stored, self._searchable or found)

    async def expunge_async(self) -> None:
        """Asynchronous :meth:`expunge`."""
        await asyncio.to_thread(self.expunge)

    def _make_indexes(self, folder: Path | None) -> LiveIndex:
        return LiveIndex(folder, self.backend, self.settings)
