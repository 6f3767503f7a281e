"""BM25 scores from a scan, bit for bit those of the bm25s engine, and the few chunks that can decide a ranking.

The formula is the ``lucene`` method of bm25s (Kamphuis et al., ECIR 2020,
https://cs.uwaterloo.ca/~jimmylin/publications/Kamphuis_etal_ECIR2020_preprint.pdf):
``idf * tf / (k1 * (1 - b + b * length / average) + tf)`` with ``idf = log(1 + (N - df + 0.5) / (df + 0.5))``.
As there, a posting's weight is computed in double precision, kept in single, and added up in single precision in the
order of the query's tokens. What Lucene does instead is owned by :mod:`autoindex_haystack.retrieval.lucene_model`.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled
from autoindex_haystack.evaluation.exact.judgments import Judgments
from autoindex_haystack.evaluation.exact.scan import Scan
from autoindex_haystack.evaluation.exact.terms import QueryTerms
from autoindex_haystack.retrieval.ranking import ROUNDING, Ranking, max_p_each
from autoindex_haystack.retrieval.settings import BM25Settings

_STRETCH = 64
"""Chunks that are passed over together when none of them scores high enough."""

_GLANCE = 4096
"""Documents of which those before another are counted, until it is asked whether they are too many already."""

_SPREAD = 4
"""How many times as many places as a ranking has documents are dealt out to, to find its last score nearly."""

_ALIKE = 2 / ROUNDING
"""Scores that lie further apart never round to the same."""

_HIGHEST = np.iinfo(np.int32).max
"""More than any score as an integer."""


@dataclass(frozen=True)
class WeightedPostings:
    """The postings of each term with their weights.

    :param starts: int64, shape (terms + 1,): where each term's postings begin.
    :param chunks: int32, shape (postings,): their chunks, rising within a term.
    :param weights: float32, shape (postings,): what each adds to a score.
    :param single: Whether they are added up in single precision.
    """

    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    weights: NDArray[np.float32]
    single: bool = True

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


class Ranked(NamedTuple):
    """What is known of the ranking of all documents for each query.

    :param rankings: The best documents, as many as were asked for.
    :param ranks: int64, shape (judgments,): the rank of each relevant document, from 1; 0 for those beyond the depth
        that was asked for, or not found at all.
    """

    rankings: list[Ranking]
    ranks: NDArray[np.int64]


class Scorer:
    """Ranks documents for a fixed set of queries.

    :param queries: The queries.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    :param judgments: The documents whose ranks are wanted.
    """

    def __init__(self, queries: QueryTerms, document_order: NDArray[np.int64], judgments: Judgments) -> None:
        self._queries = queries
        self._order = document_order
        self._judgments = judgments

    def rank(
        self,
        scan: Scan,
        postings: WeightedPostings,
        top_k: int,
        depth: int,
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> Ranked:
        """Rank documents by their best chunk, as every engine's ``search_documents`` does.

        :param scan: The scan of the corpus.
        :param postings: Its postings, with weights.
        :param top_k: How many documents of each ranking are wanted at most.
        :param depth: How far down the ranks of relevant documents are wanted.
        :param pool: Threads to use.
        :param threads: How many there are.
        """
        firsts = np.flatnonzero(np.diff(scan.owners, prepend=-1, append=len(self._order)))
        depths = top_k, depth
        count = len(self._queries)
        step = max(1, -(-count // (2 * threads)))
        parts = [
            pool.submit(self._part, postings, scan.owners, firsts, depths, first, min(first + step, count))
            for first in range(0, count, step)
        ]
        done = [part.result() for part in parts]
        ranks = [np.empty(0, np.int64), *(part.ranks for part in done)]
        return Ranked([ranking for part in done for ranking in part.rankings], np.concatenate(ranks))

    def _part(
        self,
        postings: WeightedPostings,
        owners: NDArray[np.int64],
        firsts: NDArray[np.int64],
        depths: tuple[int, int],
        first: int,
        last: int,
    ) -> Ranked:
        """Rank for the queries from ``first`` to before ``last``."""
        present = owners[firsts[:-1]]
        bounds = self._judgments.bounds[first : last + 1]
        relevant = self._judgments.documents[bounds[0] : bounds[-1]]
        places = np.searchsorted(present, relevant)
        places[~np.isin(relevant, present)] = -1
        sums = np.empty(len(owners), np.float32 if postings.single else np.float64)
        ends, found, scores, ranks = best_chunks(
            self._queries.bounds[first : last + 1], self._queries.tokens, postings.starts, postings.chunks,
            postings.weights, sums, sums if postings.single else np.empty(len(owners), np.float32), firsts,
            bounds - bounds[0], places, self._order[present], *depths, np.float32(_ALIKE),
        )  # fmt: skip
        return Ranked(max_p_each(found, scores, ends, owners, self._order, depths[0]), ranks)


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
def _add_up(tokens, starts, chunks, weights, sums, scores):  # type: ignore[no-untyped-def]
    """Score all chunks for a query, token by token; ``sums`` are the scores themselves or of double precision."""
    sums[:] = 0
    for token in tokens:
        for place in range(starts[token], starts[token + 1]):
            sums[chunks[place]] += weights[place]
    if sums.itemsize != scores.itemsize:
        scores[:] = sums


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
def _range_of(top, alike):  # type: ignore[no-untyped-def]
    """From which to which score, as integers, documents may share the rounded score of one with the score ``top``."""
    ends = np.array([max(top - alike, np.float32(0)), top + alike]).view(np.int32)
    return max(ends[0], np.int32(1)), ends[1]


@compiled
def _ranks_of(places, tops, integers, order, depth, alike, rivals, ranks):  # type: ignore[no-untyped-def]
    """The ranks of documents, by counting those before each in the order of ranking; 0 for those beyond ``depth``.

    Only documents that score nearly as much as the last of them can be before any; these are found in one pass.

    :param places: Their places in ``tops``, the best scores of documents, and ``integers``, the same as integers.
    :param rivals: int32, shape (documents,): room for scores.
    :param ranks: Takes the ranks.
    """
    least = _HIGHEST
    for place in places:
        if place >= 0 and tops[place] > 0:
            least = min(least, _range_of(tops[place], alike)[0])
    several = 0
    if least < _HIGHEST:
        for score in integers:
            if score >= least:
                rivals[several] = score
                several += 1
    for i in range(len(places)):
        ranks[i] = _rank_of(places[i], tops, integers, order, depth, alike, rivals[:several])


@compiled
def _rank_of(place, tops, integers, order, depth, alike, rivals):  # type: ignore[no-untyped-def]
    """The rank of one document; ``rivals`` are the scores, as integers, of all that may be before it."""
    if place < 0 or tops[place] <= 0:
        return 0
    low, high = _range_of(tops[place], alike)
    above, around = 0, 0
    for begin in range(0, len(rivals), _GLANCE):
        for score in rivals[begin : begin + _GLANCE]:
            above += score > high
            around += score >= low
        if above >= depth:
            return 0
    if around > above + 1:
        level = np.rint(np.float64(tops[place]) * ROUNDING)
        for other in range(len(tops)):
            if low <= integers[other] <= high:
                its = np.rint(np.float64(tops[other]) * ROUNDING)
                above += its > level or (its == level and order[other] < order[place])
    return above + 1 if above < depth else 0


@compiled
def best_chunks(  # type: ignore[no-untyped-def]
    bounds, tokens, starts, chunks, weights, sums, scores, firsts, judged, places, order, top_k, depth, alike
):
    """For each query, all chunks that can be the best of one of the first ``top_k`` documents, and some more.

    These are the chunks that score above 0 and not further than ``alike`` below the document in the last place.

    :param sums: float32 or float64, shape (chunks,): room for the sums of weights.
    :param scores: float32, shape (chunks,): room for scores; ``sums`` if they are added up in single precision.
    :param firsts: int64, shape (documents + 1,): the first chunk of each document that has one.
    :param judged: int64, shape (queries + 1,): where the relevant documents of each query begin in ``places``, which
        has their places among the documents with a chunk, -1 for others.
    :param order: int64, shape (documents,): rises with the ids of the documents with a chunk.
    :returns: Where the chunks of each query end, the chunks, their scores, and the ranks of the relevant documents.
    """
    single = len(firsts) - 1 == len(scores)
    tops = scores if single else np.empty(len(firsts) - 1, np.float32)
    peaks = np.empty(_SPREAD * top_k, np.int32)
    integers, bits = scores.view(np.int32), np.empty(1, np.int32)
    rivals = np.empty(len(tops), np.int32)
    queries = len(bounds) - 1
    ends, ranks = np.empty(queries, np.int64), np.empty(len(places), np.int64)
    found = np.empty(2 * top_k * queries, np.int64)
    values = np.empty(len(found), np.float32)
    total = 0
    for query in range(queries):
        _add_up(tokens[bounds[query] : bounds[query + 1]], starts, chunks, weights, sums, scores)
        if not single:
            _best_of_each(scores, firsts, tops)
        own = slice(judged[query], judged[query + 1])
        _ranks_of(places[own], tops, tops.view(np.int32), order, depth, alike, rivals, ranks[own])
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
        ends[query] = total
    return ends, found[:total], values[:total], ranks
