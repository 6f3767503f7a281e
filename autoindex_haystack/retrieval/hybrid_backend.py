"""The hybrid engine: bm25s and embeddings, joined by reciprocal rank fusion."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval import ranking
from autoindex_haystack.retrieval.bm25s_backend import Bm25sIndex
from autoindex_haystack.retrieval.dense_backend import DenseRetriever, EmbeddingRetriever
from autoindex_haystack.retrieval.index import ChunkTable, Retriever
from autoindex_haystack.retrieval.ranking import Ranking
from autoindex_haystack.retrieval.settings import BM25Settings


class HybridRetriever(EmbeddingRetriever):
    """Ranks documents with several retrievers, each by MaxP over its own chunks, and joins the rankings.

    :param retrievers: Retrievers of the same documents; they are closed with this one.
    """

    def __init__(self, *retrievers: Retriever) -> None:
        self.document_ids = retrievers[0].document_ids
        self._retrievers = retrievers

    @classmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings) -> Self:
        dense = DenseRetriever.on(cls.package).build(chunks, settings)
        return cls(Bm25sIndex.build(chunks, settings), dense)

    def search_documents(
        self, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Ranking]:
        depth = max(top_k, ranking.FUSION_DEPTH)
        found = [retriever.search_documents(queries, depth, allowed) for retriever in self._retrievers]
        return [ranking.fuse(rankings, self.document_order, top_k) for rankings in zip(*found, strict=True)]

    def close(self) -> None:
        for retriever in self._retrievers:
            retriever.close()
