"""One version of a store's documents together with the engine's index of them."""

from dataclasses import dataclass, replace
from typing import Any

from haystack import Document

from haystack_integrations.common.autoindex import copy_meta, restore_source
from haystack_integrations.document_stores.autoindex.chunk_rows import ChunkRows
from haystack_integrations.document_stores.autoindex.index_cache import OpenIndex


@dataclass(frozen=True)
class Searchable:
    """What a search needs, unchangeable: a writer makes a new one.

    :param version: The version of the documents.
    :param rows: The documents as rows of the index.
    :param opened: The index.
    """

    version: int
    rows: ChunkRows
    opened: OpenIndex

    def search(self, query: str, top_k: int, filters: dict[str, Any] | None) -> list[Document]:
        """Returns copies of the best chunks with their scores."""
        [ranking] = self.opened.index.search([query], top_k, self.rows.allowed(filters))
        found = zip(ranking.ordinals.tolist(), ranking.scores.tolist(), strict=True)
        documents = self.rows.documents
        return [replace(documents[row], meta=copy_meta(documents[row].meta), score=score) for row, score in found]

    def search_documents(self, query: str, top_k: int, filters: dict[str, Any] | None) -> list[Document]:
        """Returns the documents of the best chunks, restored, with MaxP scores."""
        [ranking] = self.opened.index.search_documents([query], top_k, self.rows.allowed(filters))
        firsts, documents = self.rows.first[ranking.ordinals].tolist(), self.rows.documents
        found = zip(firsts, ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [restore_source(documents[first], documents[best], score) for first, best, score in found]
