"""The retriever that finds documents by their best chunk and gives back the originals."""

import asyncio
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore


@component
class RepresentationRetriever:
    """Retrieves documents by BM25 over their chunks: a document's score is that of its best chunk (MaxP).

    Use it with :class:`Bm25sDocumentStore` or :class:`LuceneDocumentStore`, filled through
    ``RepresentationPreprocessor``. It returns the original documents, with id, content and meta as they came, not the
    index text. The chunk that matched best is in the meta under ``best_chunk``, a dictionary of ``id``, ``content``,
    ``split_id`` and ``score``. Documents that were written without the preprocessor stand for themselves.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
    from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

    store = Bm25sDocumentStore()
    store.write_documents([Document(content="A heated wing sheds ice."), Document(content="A cold engine coughs.")])
    retriever = RepresentationRetriever(store, top_k=3)
    for document in retriever.run(query="ice on the wing")["documents"]:
        print(document.score, document.content, document.meta["best_chunk"]["content"])
    ```
    """

    def __init__(
        self,
        document_store: Bm25sDocumentStore | LuceneDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        return_chunks: bool = False,
    ) -> None:
        """Create the component.

        :param document_store: Where to search.
        :param filters: Filters on the chunks, which have the meta of their documents. Only chunks that match compete.
        :param top_k: How many documents to return at most.
        :param filter_policy: Whether filters given at run time replace these or are merged with them.
        :param return_chunks: Return the best chunks, as they are in the index, instead of documents.
        :raises TypeError: If the store is not one of AutoIndex.
        :raises ValueError: If ``top_k`` is not greater than 0.
        """
        if not isinstance(document_store, Bm25sDocumentStore | LuceneDocumentStore):
            msg = "document_store must be an instance of Bm25sDocumentStore or LuceneDocumentStore"
            raise TypeError(msg)
        if top_k <= 0:
            msg = f"top_k must be greater than 0, but got {top_k}"
            raise ValueError(msg)
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.filter_policy = filter_policy
        self.return_chunks = return_chunks

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component with its store.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
            return_chunks=self.return_chunks,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RepresentationRetriever":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        parameters = dict(data.get("init_parameters", {}))
        if "filter_policy" in parameters:
            parameters["filter_policy"] = FilterPolicy.from_str(parameters["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": parameters})

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_chunks: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Retrieve documents.

        :param query: The query.
        :param filters: Filters for this query; how they go with the component's own, its filter policy says.
        :param top_k: How many documents to return at most; 0 returns none.
        :param return_chunks: Return the best chunks instead of documents.
        :returns: A dictionary with the key ``documents``: the documents, best first; none that matches no word.
        :raises ValueError: If ``top_k`` is negative.
        :raises FilterError: If the filters are invalid.
        :raises BackendError: If the engine is missing or fails.
        """
        top_k = self.top_k if top_k is None else top_k
        if top_k < 0:
            msg = f"top_k must be greater than or equal to 0, but got {top_k}"
            raise ValueError(msg)
        chunks_wanted = self.return_chunks if return_chunks is None else return_chunks
        search = self.document_store.search if chunks_wanted else self.document_store.search_documents
        applied = apply_filter_policy(self.filter_policy, self.filters, filters)
        return {"documents": search(query, top_k=top_k, filters=applied)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        return_chunks: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Retrieve documents, while the event loop goes on; otherwise the same as :meth:`run`.

        :param query: The query.
        :param filters: Filters for this query; how they go with the component's own, its filter policy says.
        :param top_k: How many documents to return at most; 0 returns none.
        :param return_chunks: Return the best chunks instead of documents.
        :returns: A dictionary with the key ``documents``: the documents, best first; none that matches no word.
        :raises ValueError: If ``top_k`` is negative.
        :raises FilterError: If the filters are invalid.
        :raises BackendError: If the engine is missing or fails.
        """
        return await asyncio.to_thread(self.run, query, filters, top_k, return_chunks)

    def close(self) -> None:
        """Release the store's index and files; the next query opens them again."""
        self.document_store.close()

    async def close_async(self) -> None:
        """Release the store's index and files, while the event loop goes on."""
        await self.document_store.close_async()
