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
    store.write_documents([Document(content="A heated wing sheds ice."), Document(content="A cold engine starts badly.")])
    [found] = store.search("ice on the wing", top_k=1)
    print(found.content, found.score)
    ```

    :param path: The folder that keeps documents and index, made at the first write; None keeps them in memory.
    :param k1: Saturation of term frequency.
    :param b: Strength of length normalization, 0 to 1.
    :param analyzer: Name of the analyzer.
    :raises StoreError: If the folder holds documents of another engine or with other settings.
    :raises ValueError: If a setting is unknown or out of its range.
    """

    backend: ClassVar[str] = "lucene"
