"""The whole query pipeline over any retriever of chunks as one component."""

from typing import TYPE_CHECKING, Any

from haystack import Document, Pipeline, default_from_dict, default_to_dict, super_component
from haystack.components.retrievers.types import TextRetriever
from haystack.document_stores.types import DocumentStore

from haystack_integrations.components.rankers.autoindex import MaxPAggregator
from haystack_integrations.components.retrievers.autoindex.source_retriever import SourceRetriever


@super_component
class MaxPRetriever:
    """Retrieves the original documents with any retriever of their chunks: a document's score is its best chunk's.

    It is that retriever, ``MaxPAggregator`` and ``SourceRetriever`` in one, for document stores that know nothing of
    AutoIndex. With those of AutoIndex use ``RepresentationRetriever``, which looks as deep as it must to be exact.

    ### Usage example

    ```python
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack_integrations.components.retrievers.autoindex import MaxPRetriever
    from haystack_integrations.components.writers.autoindex import RepresentationIndexer

    store = InMemoryDocumentStore()
    indexer = RepresentationIndexer("my_run/frozen", store)
    indexer.run(documents=[Document(content="A heated wing sheds ice. It needs power.")])
    retriever = MaxPRetriever(InMemoryBM25Retriever(store, top_k=100), store, top_k=10)
    print(retriever.run(query="ice on the wing")["documents"][0].content)
    indexer.close()
    ```
    """

    def __init__(self, retriever: TextRetriever, document_store: DocumentStore, *, top_k: int = 10) -> None:
        """Create the component.

        :param retriever: What finds the chunks. Give it a ``top_k`` several times as large as the one here: it counts
            chunks.
        :param document_store: The store that holds the chunks.
        :param top_k: How many documents to return at most.
        :raises ValueError: If ``top_k`` is not greater than 0.
        """
        self.retriever = retriever
        self.document_store = document_store
        self.top_k = top_k
        self.pipeline = Pipeline()
        self.pipeline.add_component("retriever", retriever)
        # Documents that were written without the preprocessor stand for themselves.
        self.pipeline.add_component("aggregator", MaxPAggregator(top_k=top_k, raise_on_missing_meta_fields=False))
        self.pipeline.add_component("sources", SourceRetriever(document_store))
        self.pipeline.connect("retriever.documents", "aggregator.documents")
        self.pipeline.connect("aggregator.documents", "sources.documents")
        self.input_mapping = {
            "query": ["retriever.query"],
            "filters": ["retriever.filters"],
            "top_k": ["aggregator.top_k"],
        }
        self.output_mapping = {"sources.documents": "documents"}

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component with its retriever and its store.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(self, retriever=self.retriever, document_store=self.document_store, top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "MaxPRetriever":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        return default_from_dict(cls, data)

    if TYPE_CHECKING:

        def run(
            self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
        ) -> dict[str, list[Document]]:
            """Retrieve documents.

            :param query: The query.
            :param filters: Filters on the chunks, which have the meta of their documents.
            :param top_k: How many documents to return at most.
            :returns: A dictionary with the key ``documents``: the originals, best first.
            """
