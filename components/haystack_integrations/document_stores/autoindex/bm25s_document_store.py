"""The document store that bm25s searches."""

from typing import ClassVar

from haystack_integrations.document_stores.autoindex.async_base import AsyncBM25DocumentStore


class Bm25sDocumentStore(AsyncBM25DocumentStore):
    """Keeps documents and searches them with bm25s, in memory or durably in a folder.

    Use it with ``RepresentationRetriever``, and with ``RepresentationPreprocessor`` before the ``DocumentWriter``. It
    needs nothing beside Python, and scores with exact document lengths. :class:`LuceneDocumentStore` is the same over
    Lucene.

    With a path, every call that writes is durable and whole when it returns; one process writes at a time, and others
    see what it committed at their next call. Meta is stored as JSON, so tuples come back as lists.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

    store = Bm25sDocumentStore()
    store.write_documents([Document(content="A heated wing sheds ice."), Document(content="A cold engine coughs.")])
    [found] = store.search("ice on the wing", top_k=1)
    print(found.content, found.score)
    ```
    """

    backend: ClassVar[str] = "bm25s"
