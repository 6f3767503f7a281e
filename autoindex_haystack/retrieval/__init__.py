"""Retrieval: analyzers, the index interface with its bm25s engine, and the one place that owns order and MaxP."""

from autoindex_haystack.retrieval.bm25s_backend import Bm25sIndex
from autoindex_haystack.retrieval.index import ChunkTable, Index, backend_names, get_backend
from autoindex_haystack.retrieval.ranking import Hits, Ranking
from autoindex_haystack.retrieval.settings import BM25Settings

__all__ = ["BM25Settings", "Bm25sIndex", "ChunkTable", "Hits", "Index", "Ranking", "backend_names", "get_backend"]
