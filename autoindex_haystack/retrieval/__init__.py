"""Retrieval: analyzers, the index interface with its bm25s engine, and the one place that owns order and MaxP."""

from autoindex_haystack.retrieval.bm25s_backend import Bm25sIndex
from autoindex_haystack.retrieval.index import (
    FOR_EVALUATION,
    ChunkTable,
    Index,
    Retriever,
    backend_names,
    get_backend,
    get_retriever,
    retriever_names,
)
from autoindex_haystack.retrieval.ranking import Hits, Ranking
from autoindex_haystack.retrieval.settings import BM25Settings

__all__ = [
    "FOR_EVALUATION",
    "BM25Settings",
    "Bm25sIndex",
    "ChunkTable",
    "Hits",
    "Index",
    "Ranking",
    "Retriever",
    "backend_names",
    "get_backend",
    "get_retriever",
    "retriever_names",
]
