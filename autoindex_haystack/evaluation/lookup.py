"""Searching the chunks of one program by hand: the index that an evaluation ranks with, kept open."""

from dataclasses import dataclass
from functools import cached_property

from autoindex_haystack.retrieval import ChunkTable, Index


@dataclass(frozen=True)
class Found:
    """A document that a query found.

    :param rank: Its rank, from 1.
    :param doc_id: Its id.
    :param score: Its score, that of its best chunk.
    :param chunk: The text of that chunk.
    """

    rank: int
    doc_id: str
    score: float
    chunk: str


class Lookup:
    """An index of one program's chunks with their texts. Close it after use.

    :param chunks: The chunks.
    :param index: Their index.
    """

    def __init__(self, chunks: ChunkTable, index: Index) -> None:
        self._chunks = chunks
        self._index = index

    def search(self, query: str, top_k: int) -> list[Found]:
        """Rank documents as an evaluation does.

        :param query: Any text.
        :param top_k: How many documents at most.
        :returns: The documents, best first.
        """
        [ranking] = self._index.search_documents([query], top_k)
        ids, texts = self._chunks.document_ids, self._chunks.texts
        rows = zip(ranking.ordinals.tolist(), ranking.scores.tolist(), ranking.chunks.tolist(), strict=True)
        return [Found(rank, ids[d], score, texts[c]) for rank, (d, score, c) in enumerate(rows, start=1)]

    @cached_property
    def ordinals(self) -> dict[str, int]:
        """The place of each document in the corpus, by its id."""
        return {identifier: i for i, identifier in enumerate(self._chunks.document_ids)}

    def close(self) -> None:
        """Release the index."""
        self._index.close()
