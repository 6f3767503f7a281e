"""Indexes of OpenSearch and Elasticsearch that see chunks as AutoIndex's own engines do: BM25 parameters and analyzer.

Both engines are Lucene, so their names of tokenizers and filters are the same. Nothing is asked of a cluster here.
"""

from typing import Any

from autoindex_haystack.frozen.chunk_meta import (
    PROGRAM_SHA256,
    SOURCE_CONTENT,
    SOURCE_ID,
    SOURCE_META,
    SPLIT_COUNT,
    SPLIT_ID,
)
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.retrieval.analyzers import stopwords

NAME = "autoindex"
"""What the analyzer and the similarity are called in an index."""

_WORDS = r"[\p{L}\p{N}_]{2,}"
"""Python's ``\\b\\w\\w+\\b`` for Java, whose own ``\\w`` knows ASCII only, or combining marks too."""

_LONGEST_KEYWORD = 8_191
"""Characters of a value that filters can find: Lucene allows 32,766 bytes, and a character has up to 4."""


def index_body(bm25: BM25Settings) -> dict[str, Any]:
    """Say how an index shall be created.

    :param bm25: BM25 parameters and analyzer.
    :returns: The body of ``PUT /<index>``: ``settings`` and ``mappings``. Queries see the field ``content`` alone; what
        the first chunk keeps of its document is stored and not indexed.
    """
    analysis: dict[str, Any] = {"analyzer": {NAME: {"type": "custom", **_ANALYZERS[bm25.analyzer]}}}
    if bm25.analyzer == "bm25s":
        analysis["tokenizer"] = {f"{NAME}_words": {"type": "pattern", "pattern": _WORDS, "group": 0}}
    if bm25.analyzer != "lucene-standard":
        analysis["filter"] = {f"{NAME}_stop": {"type": "stop", "stopwords": sorted(stopwords())}}
    if bm25.analyzer == "lucene-english":
        analysis["filter"][f"{NAME}_possessive"] = {"type": "stemmer", "language": "possessive_english"}
    similarity = {NAME: {"type": "BM25", "k1": bm25.k1, "b": bm25.b}}
    settings = {"index": {"similarity": similarity, "analysis": analysis, "query": {"default_field": ["content"]}}}
    return {"settings": settings, "mappings": _MAPPINGS}


_ANALYZERS: dict[str, dict[str, Any]] = {
    "bm25s": {"tokenizer": f"{NAME}_words", "filter": ["lowercase", f"{NAME}_stop"]},
    "lucene-english": {
        "tokenizer": "standard",
        "filter": [f"{NAME}_possessive", "lowercase", f"{NAME}_stop", "porter_stem"],
    },
    "lucene-standard": {"tokenizer": "standard", "filter": ["lowercase"]},
}

_MAPPINGS: dict[str, Any] = {
    "properties": {
        "id": {"type": "keyword"},
        "content": {"type": "text", "analyzer": NAME, "similarity": NAME},
        SOURCE_ID: {"type": "keyword"},
        SPLIT_ID: {"type": "long"},
        PROGRAM_SHA256: {"type": "keyword"},
        SPLIT_COUNT: {"type": "long"},
        SOURCE_CONTENT: {"type": "text", "index": False},
        SOURCE_META: {"type": "object", "enabled": False},
    },
    "dynamic_templates": [
        {
            "strings": {
                "match_mapping_type": "string",
                "mapping": {"type": "keyword", "ignore_above": _LONGEST_KEYWORD},
            }
        }
    ],
}
