"""What Lucene does with BM25, modelled in numpy, so that every difference from exact BM25 can be explained.

Lucene keeps a chunk's length in one byte (``SmallFloat.intToByte4``: exact below 40, then cut down to four significant
bits), counts only chunks with a token in N and in the average length, works in float32 and sums a query's terms in
float64. Its score of a term is ``w - w / (1 + tf / (k1 * (1 - b + b * length / average)))`` with ``w`` the idf
(``BM25Similarity`` of Lucene 8 and later), which equals ``idf * tf / (tf + k1 * (…))``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval.settings import BM25Settings

_FREE_VALUES = 24
"""Lengths below this have a byte of their own in ``SmallFloat.intToByte4``."""


@dataclass(frozen=True)
class Departures:
    """The ways in which Lucene departs from exact BM25, each of which can be switched on alone.

    :param skip_empty: N and the average length count only chunks with a token.
    :param byte_lengths: Lengths go through one byte.
    """

    skip_empty: bool = True
    byte_lengths: bool = True


@dataclass(frozen=True)
class Postings:
    """Which term occurs how often in which chunk, by term.

    :param vocabulary: Term to number.
    :param starts: int64, shape (terms + 1,): where each term's postings begin.
    :param chunks: int32, shape (postings,): the chunk of each posting, rising within a term.
    :param frequencies: float32, shape (postings,): how often the term occurs in it.
    :param lengths: int64, shape (chunks,): tokens of each chunk.
    """

    vocabulary: dict[str, int]
    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    frequencies: NDArray[np.float32]
    lengths: NDArray[np.int64]

    @classmethod
    def of_tokens(cls, tokens: Sequence[Sequence[int]], vocabulary: dict[str, int]) -> "Postings":
        """Count tokens.

        :param tokens: For each chunk its token numbers.
        :param vocabulary: Token to number.
        :returns: The postings.
        """
        lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        flat = np.fromiter((number for row in tokens for number in row), np.int64, int(lengths.sum()))
        keys = flat * len(tokens) + np.repeat(np.arange(len(tokens)), lengths)
        found, counts = np.unique(keys, return_counts=True)
        terms, chunks = np.divmod(found, len(tokens))
        starts = np.searchsorted(terms, np.arange(len(vocabulary) + 1))
        return cls(vocabulary, starts, chunks.astype(np.int32), counts.astype(np.float32), lengths)

    def scores(self, settings: BM25Settings, departures: Departures) -> NDArray[np.float32]:
        """Score each posting as Lucene does.

        :param settings: k1 and b.
        :param departures: Which of Lucene's departures are made.
        :returns: float32, shape (postings,).
        """
        counted = np.count_nonzero(self.lengths) if departures.skip_empty else len(self.lengths)
        average = np.float32(max(1, self.lengths.sum()) / max(1, counted))
        frequency = np.diff(self.starts).astype(np.float64)
        idf = np.log(1 + (counted - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        lengths = byte_lengths(self.lengths) if departures.byte_lengths else self.lengths
        k1, b, one = np.float32(settings.k1), np.float32(settings.b), np.float32(1)
        norms = k1 * ((one - b) + b * lengths.astype(np.float32) / average)
        weights = np.repeat(idf, np.diff(self.starts))
        # k1 = 0 makes every norm 0; Lucene divides all the same and gets the weight itself.
        with np.errstate(divide="ignore"):
            inverse = one / norms
        return np.asarray(weights - weights / (one + self.frequencies * inverse[self.chunks]), np.float32)


def byte_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns lengths as Lucene reads them back from one byte; ``SmallFloat.byte4ToInt(intToByte4(length))``.

    :param lengths: Numbers of tokens, 0 or more.
    """
    beyond = np.maximum(lengths - _FREE_VALUES, 0)
    bits = np.frexp(beyond.astype(np.float64))[1]
    shift = np.maximum(bits - 4, 0)
    return np.where(lengths < _FREE_VALUES, lengths, _FREE_VALUES + ((beyond >> shift) << shift))


def engine_of(postings: Postings, settings: BM25Settings, departures: Departures) -> Any:
    """Make a bm25s retriever that scores as Lucene does.

    :param postings: The postings.
    :param settings: k1 and b.
    :param departures: Which of Lucene's departures are made.
    :returns: A ``bm25s.BM25`` whose scores are summed in float64.
    """
    import bm25s

    engine = bm25s.BM25(method="lucene", k1=settings.k1, b=settings.b, backend="numpy", dtype="float64")
    engine.scores = {
        "data": postings.scores(settings, departures),
        "indices": postings.chunks,
        "indptr": postings.starts,
        "num_docs": len(postings.lengths),
    }
    engine.vocab_dict = postings.vocabulary
    engine.unique_token_ids_set = set(postings.vocabulary.values())
    engine.nonoccurrence_array = None
    return engine
