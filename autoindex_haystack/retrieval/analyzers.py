"""Analyzers: how a text becomes the tokens that BM25 counts.

``bm25s`` is the analyzer of the paper and of the bm25s package: lower-case, the pattern ``\\b\\w\\w+\\b`` on Unicode,
33 English stop words removed, no stemming.
"""

import re
from collections.abc import Sequence
from functools import cache

ANALYZER_NAMES = ("bm25s",)
"""Every analyzer that can be named in settings."""

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""The token pattern of the ``bm25s`` analyzer, as in bm25s and scikit-learn's CountVectorizer."""


@cache
def stopwords() -> frozenset[str]:
    """Returns the 33 English stop words of bm25s (those of Lucene's classic English list)."""
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


@cache
def _find_tokens() -> re.Pattern[str]:
    return re.compile(TOKEN_PATTERN)


def tokenize(text: str, analyzer: str = "bm25s") -> list[str]:
    """Split one text into tokens, in order, repetitions kept.

    :param text: The text of a chunk or a query.
    :param analyzer: The analyzer's name.
    :returns: The tokens.
    :raises ValueError: If the analyzer is unknown.

    ```python
    from autoindex_haystack.retrieval.analyzers import tokenize

    assert tokenize("The Wing's lift, 3.14!") == ["wing", "lift", "14"]
    ```
    """
    _check_name(analyzer)
    stop = stopwords()
    return [token for token in _find_tokens().findall(text.lower()) if token not in stop]


def has_token(text: str, analyzer: str = "bm25s") -> bool:
    """Whether a text has any token; stops at the first.

    :param text: The text.
    :param analyzer: The analyzer's name.
    """
    _check_name(analyzer)
    stop = stopwords()
    return any(match.group() not in stop for match in _find_tokens().finditer(text.lower()))


def tokenize_corpus(texts: Sequence[str], analyzer: str = "bm25s") -> tuple[list[list[int]], dict[str, int]]:
    """Split many texts into token numbers.

    :param texts: The texts of the chunks.
    :param analyzer: The analyzer's name.
    :returns: For each text its token numbers in order, and the vocabulary (token to number).
    """
    _check_name(analyzer)
    find, stop = _find_tokens().findall, stopwords()
    vocabulary: dict[str, int] = {}
    # A stop word gets the number -1, so that one dictionary look-up a token decides.
    numbers: dict[str, int] = dict.fromkeys(stop, -1)
    tokenized = []
    for text in texts:
        row = []
        for token in find(text.lower()):
            number = numbers.get(token)
            if number is None:
                number = len(vocabulary)
                vocabulary[token] = numbers[token] = number
            if number >= 0:
                row.append(number)
        tokenized.append(row)
    return tokenized, vocabulary


def _check_name(analyzer: str) -> None:
    if analyzer not in ANALYZER_NAMES:
        msg = f"unknown analyzer {analyzer!r}; known: {', '.join(ANALYZER_NAMES)}"
        raise ValueError(msg)
