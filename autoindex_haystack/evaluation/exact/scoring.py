"""BM25 scores from a scan, bit for bit those of the bm25s engine, and the few chunks that can decide a ranking.

The formula is the ``lucene`` method of bm25s (Kamphuis et al., ECIR 2020,
https://cs.uwaterloo.ca/~jimmylin/publications/Kamphuis_etal_ECIR2020_preprint.pdf):
``idf * tf / (k1 * (1 - b + b * length / average) + tf)`` with ``idf = log(1 + (N - df + 0.5) / (df + 0.5))``.
As there, a posting's weight is computed in double precision, kept in single, and added up in single precision in the
order of the query's tokens.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled
from autoindex_haystack.evaluation.exact.scan import Scan
from autoindex_haystack.evaluation.exact.terms import QueryTerms
from autoindex_haystack.retrieval.ranking import ROUNDING, Hits, Ranking, max_p
from autoindex_haystack.retrieval.settings import BM25Settings

_STRETCH = 64
"""Chunks that are passed over together when none of them scores high enough."""

_SPREAD = 4
"""How many times as many places as a ranking has documents are dealt out to, to find its last score nearly."""

_ALIKE = 2 / ROUNDING
"""Scores that lie further apart never round to the same."""


@dataclass(frozen=True)
class WeightedPostings:
    """The postings of each term with their weights.

    :param starts: int64, shape (terms + 1,): where each term's postings begin.
    :param chunks: int32, shape (postings,): their chunks, rising within a term.
    :param weights: float32, shape (postings,): what each adds to a score.
    """

    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, scan: Scan, terms: int, settings: BM25Settings) -> "WeightedPostings":
        """Weigh the postings of a scan.

        :param scan: The scan of a whole corpus.
        :param terms: How many terms the queries have.
        :param settings: k1 and b.
        """
        starts = np.zeros(terms + 1, np.int64)
        np.cumsum(np.bincount(scan.terms, minlength=terms), out=starts[1:])
        number, tokens = len(scan), int(scan.lengths.sum(dtype=np.int64))
        idf = np.array([_idf(df, number) if df else 0.0 for df in np.diff(starts).tolist()], np.float32)
        chunks, weights = np.empty(len(scan.terms), np.int32), np.empty(len(scan.terms), np.float32)
        average = tokens / max(1, number)
        _weigh(
            scan.lengths, scan.counts, scan.terms, scan.times, starts[:-1].copy(), idf,
            settings.k1, settings.b, average, chunks, weights,
        )  # fmt: skip
        return cls(starts, chunks, weights)


class Scorer:
    """Ranks documents for a fixed set of queries.

    :param queries: The queries.
    :param settings: k1 and b.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    """

    def __init__(self, queries: QueryTerms, settings: BM25Settings, document_order: NDArray[np.int64]) -> None:
        self._queries = queries
        self._settings = settings
        self._order = document_order

    def rank(self, scan: Scan, top_k: int, pool: ThreadPoolExecutor, threads: int) -> list[Ranking]:
        """Rank documents by their best chunk, as every engine's ``search_documents`` does.

        :param scan: The scan of the corpus.
        :param top_k: How many documents at most.
        :param pool: Threads to use.
        :param threads: How many there are.
        :returns: A ranking for each query.
        """
        postings = WeightedPostings.of(scan, len(self._queries.terms), self._settings)
        firsts = np.flatnonzero(np.diff(scan.owners, prepend=-1, append=len(self._order)))
        count = len(self._queries)
        step = max(1, -(-count // (2 * threads)))
        parts = [
            pool.submit(self._part, postings, scan.owners, firsts, top_k, first, min(first + step, count))
            for first in range(0, count, step)
        ]
        return [ranking for part in parts for ranking in part.result()]

    def _part(
        self,
        postings: WeightedPostings,
        owners: NDArray[np.int64],
        firsts: NDArray[np.int64],
        top_k: int,
        first: int,
        last: int,
    ) -> Sequence[Ranking]:
        """Rank for the queries from ``first`` to before ``last``."""
        ends, found, scores = best_chunks(
            self._queries.bounds, self._queries.tokens, postings.starts, postings.chunks, postings.weights,
            firsts, top_k, np.float32(_ALIKE), first, last,
        )  # fmt: skip
        rows = []
        begin = 0
        for end in ends.tolist():
            hits = Hits(found[begin:end], scores[begin:end], exhausted=False)
            rows.append(max_p(hits, owners, self._order, top_k))
            begin = end
        return rows


def _idf(frequency: int, number: int) -> float:
    return math.log(1 + (number - frequency + 0.5) / (frequency + 0.5))


@compiled
def _weigh(lengths, counts, terms, times, places, idf, k1, b, average, chunks, weights):  # type: ignore[no-untyped-def]
    """Sort postings by term, weighing them; ``places`` is where the next posting of each term goes."""
    at = 0
    for chunk in range(len(lengths)):
        if counts[chunk]:
            norm = k1 * ((1 - b) + b * lengths[chunk] / average)
            for _ in range(counts[chunk]):
                term = terms[at]
                place = places[term]
                places[term] = place + 1
                chunks[place] = chunk
                time = np.float64(times[at])
                weights[place] = np.float32(np.float64(idf[term]) * (time / (norm + time)))
                at += 1


@compiled
def _add_up(tokens, starts, chunks, weights, scores):  # type: ignore[no-untyped-def]
    """Score all chunks for a query, token by token."""
    scores[:] = 0
    for token in tokens:
        for place in range(starts[token], starts[token + 1]):
            scores[chunks[place]] += weights[place]


@compiled
def _best_of_each(scores, firsts, tops):  # type: ignore[no-untyped-def]
    """The best score of each document, of the chunks from its first to before the next document's."""
    for document in range(len(tops)):
        best = np.float32(0)
        for chunk in range(firsts[document], firsts[document + 1]):
            best = max(best, scores[chunk])
        tops[document] = best


@compiled
def _select(values, place):  # type: ignore[no-untyped-def]
    """What stands at a place when the values are sorted (Hoare's quickselect); they are moved about."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@compiled
def _almost_last(tops, top_k, peaks):  # type: ignore[no-untyped-def]
    """A score that is reached by ``top_k`` documents and by not many more; 0 if there are not so many.

    Documents are dealt out to the places of ``peaks``, which keep the best of theirs. The ``top_k`` best of these are
    scores of as many documents. Scores are integers here: those of floats above 0 have the same order.
    """
    peaks[:] = 0
    for start in range(0, len(tops), len(peaks)):
        for place in range(min(len(peaks), len(tops) - start)):
            peaks[place] = max(peaks[place], tops[start + place])
    return _select(peaks, len(peaks) - top_k)


@compiled
def best_chunks(bounds, tokens, starts, chunks, weights, firsts, top_k, alike, first, last):  # type: ignore[no-untyped-def]
    """For some queries, all chunks that can be the best of one of the first ``top_k`` documents, and some more.

    These are the chunks that score above 0 and not further than ``alike`` below the document in the last place.

    :param firsts: int64, shape (documents + 1,): the first chunk of each document that has one.
    :returns: Where the chunks of each query end, the chunks, their scores.
    """
    scores = np.empty(firsts[-1], np.float32)
    single = len(firsts) - 1 == len(scores)
    tops = scores if single else np.empty(len(firsts) - 1, np.float32)
    peaks = np.empty(_SPREAD * top_k, np.int32)
    integers, bits = scores.view(np.int32), np.empty(1, np.int32)
    ends = np.empty(last - first, np.int64)
    found = np.empty(2 * top_k * (last - first), np.int64)
    values = np.empty(len(found), np.float32)
    total = 0
    for query in range(first, last):
        _add_up(tokens[bounds[query] : bounds[query + 1]], starts, chunks, weights, scores)
        if not single:
            _best_of_each(scores, firsts, tops)
        bits[0] = _almost_last(tops.view(np.int32), top_k, peaks)
        bits.view(np.float32)[0] = max(bits.view(np.float32)[0] - alike, np.float32(0))
        least = bits[0]
        for begin in range(0, len(scores), _STRETCH):
            peak = np.int32(0)
            for score in integers[begin : begin + _STRETCH]:
                peak = max(peak, score)
            if peak > least:
                for chunk in range(begin, min(begin + _STRETCH, len(scores))):
                    if integers[chunk] > least:
                        if total == len(found):
                            found = np.concatenate((found, np.empty(len(found) + 1, np.int64)))
                            values = np.concatenate((values, np.empty(len(found) - len(values), np.float32)))
                        found[total] = chunk
                        values[total] = scores[chunk]
                        total += 1
        ends[query - first] = total
    return ends, found[:total], values[:total]
