"""The component that gives the original documents of chunks that another retriever found in any document store."""

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import DocumentStore

from haystack_integrations.common.autoindex import SOURCE_ID, SPLIT_ID, is_document_list, restore_source, source_id_of

_SOURCES_A_FILTER = 500


@component
class SourceRetriever:
    """Retrieves the original documents of chunks from the document store that holds the chunks.

    Use it where chunks of ``RepresentationPreprocessor`` are in a document store that knows nothing of AutoIndex, after
    that store's retriever and ``MaxPAggregator``: index text is not for readers. ``RepresentationRetriever`` needs no
    such step. The store must be able to filter by ``meta.source_id`` and ``meta.split_id``.

    ### Usage example

    ```python
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
    from haystack_integrations.components.rankers.autoindex import MaxPAggregator
    from haystack_integrations.components.retrievers.autoindex import SourceRetriever

    store = InMemoryDocumentStore()
    preprocessor = RepresentationPreprocessor("my_run/frozen")
    store.write_documents(preprocessor.run(documents=[Document(content="A heated wing sheds ice.")])["documents"])

    query = Pipeline()
    query.add_component("retriever", InMemoryBM25Retriever(store, top_k=100))
    query.add_component("aggregator", MaxPAggregator(top_k=10))
    query.add_component("sources", SourceRetriever(store))
    query.connect("retriever", "aggregator")
    query.connect("aggregator", "sources")
    [document] = query.run({"retriever": {"query": "ice"}})["sources"]["documents"]
    print(document.content)
    preprocessor.close()
    ```
    """

    def __init__(self, document_store: DocumentStore) -> None:
        """Create the component.

        :param document_store: The store that holds the chunks.
        """
        self.document_store = document_store

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component with its store.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(self, document_store=self.document_store)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SourceRetriever":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Give the original documents of chunks.

        :param documents: The chunks, best first. Of several of one document the first counts.
        :returns: A dictionary with the key ``documents``: the originals in the same order, with the chunk's score, and
            the chunk in their meta under ``best_chunk``. A document that was written without the preprocessor, or whose
            first chunk is gone, stands for itself.
        :raises TypeError: If something else than a list of Documents is given.
        """
        best = _best(documents)
        filter_documents = self.document_store.filter_documents
        firsts = [first for filters in _first_chunks(list(best)) for first in filter_documents(filters)]
        return {"documents": _restore(best, firsts)}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Give the original documents of chunks, while the event loop goes on; otherwise the same as :meth:`run`.

        :param documents: The chunks, best first. Of several of one document the first counts.
        :returns: A dictionary with the key ``documents``: the originals in the same order.
        :raises TypeError: If something else than a list of Documents is given, or the store has no asynchronous
            methods.
        """
        if not hasattr(self.document_store, "filter_documents_async"):
            msg = f"Document store {type(self.document_store).__name__} does not provide async support."
            raise TypeError(msg)
        best = _best(documents)
        firsts: list[Document] = []
        for filters in _first_chunks(list(best)):
            firsts += await self.document_store.filter_documents_async(filters)
        return {"documents": _restore(best, firsts)}

    def close(self) -> None:
        """Release what the store holds, where it can be released."""
        if hasattr(self.document_store, "close"):
            self.document_store.close()

    async def close_async(self) -> None:
        """Release what the store holds for asynchronous calls, where it can be released."""
        if hasattr(self.document_store, "close_async"):
            await self.document_store.close_async()


def _best(documents: list[Document]) -> dict[str, Document]:
    """The chunks by their source."""
    if not is_document_list(documents):
        msg = "SourceRetriever expects a list of Documents as input."
        raise TypeError(msg)
    best: dict[str, Document] = {}
    for document in documents:
        best.setdefault(source_id_of(document), document)
    return best


def _first_chunks(sources: list[str]) -> list[dict[str, Any]]:
    """Filters that together match the first chunk of each source."""
    return [
        {
            "operator": "AND",
            "conditions": [
                {"field": f"meta.{SOURCE_ID}", "operator": "in", "value": sources[begin : begin + _SOURCES_A_FILTER]},
                {"field": f"meta.{SPLIT_ID}", "operator": "==", "value": 0},
            ],
        }
        for begin in range(0, len(sources), _SOURCES_A_FILTER)
    ]


def _restore(best: dict[str, Document], firsts: list[Document]) -> list[Document]:
    by_source = {source_id_of(first): first for first in firsts}
    return [restore_source(by_source.get(source, chunk), chunk, chunk.score) for source, chunk in best.items()]
