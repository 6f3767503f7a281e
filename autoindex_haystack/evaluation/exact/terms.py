"""The terms of a fixed set of queries: all that an evaluation needs to know of the texts beside their lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval.analyzers import tokenize


@dataclass(frozen=True)
class QueryTerms:
    """Queries as numbers of terms.

    :param terms: The distinct terms.
    :param bounds: int64, shape (queries + 1,): where each query's tokens begin.
    :param tokens: int32: the term of each token of each query, in order, repetitions kept.
    """

    terms: tuple[str, ...]
    bounds: NDArray[np.int64]
    tokens: NDArray[np.int32]

    @classmethod
    def of(cls, queries: Sequence[str], analyzer: str) -> "QueryTerms":
        """Analyze queries.

        :param queries: Their texts.
        :param analyzer: Name of the analyzer.
        """
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(token, len(numbers)) for token in tokenize(text, analyzer)] for text in queries]
        bounds = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        tokens = np.fromiter((number for row in rows for number in row), np.int32, int(bounds[-1]))
        return cls(tuple(numbers), bounds, tokens)

    def __len__(self) -> int:
        return len(self.bounds) - 1
