"""The document store that Lucene searches."""

from typing import ClassVar

from haystack_integrations.document_stores.autoindex.async_base import AsyncBM25DocumentStore


class LuceneDocumentStore(AsyncBM25DocumentStore):
    """Keeps documents and searches them with Lucene, in memory or durably in a folder.

    Use it where the index shall behave as Lucene, Elasticsearch or OpenSearch do: it is the same as
    :class:`Bm25sDocumentStore`, but Lucene builds and searches the index. It needs the extra ``lucene``
    (``pip install "autoindex-haystack[lucene]"``), which brings its own Java.

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
