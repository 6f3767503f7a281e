"""Collections: documents, queries, judgments, their readers and the split of the queries."""

from autoindex_haystack.collection.collection import Collection, load_collection, load_corpus, read_queries
from autoindex_haystack.collection.corpus import Corpus, ids_of
from autoindex_haystack.collection.qrels import Qrels
from autoindex_haystack.collection.split import Split, load_split, make_split
from autoindex_haystack.collection.types import Chunk, Document

__all__ = [
    "Chunk",
    "Collection",
    "Corpus",
    "Document",
    "Qrels",
    "Split",
    "ids_of",
    "load_collection",
    "load_corpus",
    "load_split",
    "make_split",
    "read_queries",
]
