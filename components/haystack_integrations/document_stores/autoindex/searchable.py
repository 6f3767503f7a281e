"""One version of a store's documents together with the engine's index of them."""

import weakref
from dataclasses import dataclass
from typing import Any

from haystack import Document

from autoindex_haystack.retrieval import Index
from haystack_integrations.common.autoindex import copy_meta, make_document, restore_source
from haystack_integrations.document_stores.autoindex.chunk_rows import ChunkRows


class OpenIndex:
    """An engine's index, closed when nobody searches it any more.

    :param index: The index.
    :param digest: The digest of the rows that it was built of; empty if it is one that is changed in place, which sees
        to its files itself.
    """

    def __init__(self, index: Index, digest: str = "") -> None:
        self.index = index
        self.digest = digest
        if digest:
            # At the end of the process the engine may be gone before; there is nothing left to release then.
            weakref.finalize(self, index.close).atexit = False


@dataclass(frozen=True)
class Searchable:
    """What a search needs, unchangeable: a writer makes a new one.

    :param version: The version of the documents.
    :param state: The same, as other processes know it.
    :param rows: The documents as rows of the index.
    :param opened: The index.
    :param deleted: Chunks that are gone and still count in the index's number of chunks and average length.
    """

    version: int
    state: str
    rows: ChunkRows
    opened: OpenIndex
    deleted: int = 0

    def search(self, query: str, top_k: int, filters: dict[str, Any] | None) -> list[Document]:
        """Returns copies of the best chunks with their scores."""
        [ranking] = self.opened.index.search([query], top_k, self.rows.allowed(filters))
        found = zip(ranking.ordinals.tolist(), ranking.scores.tolist(), strict=True)
        documents = self.rows.documents
        return [make_document(documents[row], meta=copy_meta(documents[row].meta), score=score) for row, score in found]

    def search_documents(self, query: str, top_k: int, filters: dict[str, Any] | None) -> list[Document]:
        """Returns the documents of the best chunks, restored, with MaxP scores."""
        [ranking] = self.opened.index.search_documents([query], top_k, self.rows.allowed(filters))
        firsts, documents = self.rows.first[ranking.ordinals].tolist(), self.rows.documents
        found = zip(firsts, ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [restore_source(documents[first], documents[best], score) for first, best, score in found]
