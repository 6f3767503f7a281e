"""Order, rounding, MaxP and how deep to look: owned here alone, for every engine.

The order of chunks is (-round(score, 4), document id by code point, chunk ordinal); the order of documents after MaxP
is (-round(score, 4), document id by code point). Engines differ in the last bits of a float and in how they break ties;
rounding first makes their rankings comparable. Returned scores stay unrounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

ROUNDING = 10_000
"""Scores are ordered by ``rint(score * ROUNDING)``, that is rounded to four decimals."""

MAXP_DEPTH = 10_000
"""MaxP looks at no fewer chunks than these, as the paper does."""

FUSION_DEPTH = 1_000
"""So many documents of each ranking take part in a fusion at least."""

_FUSION_CONSTANT = 60
"""k of reciprocal rank fusion, as in its source."""

_FUSION_SCALE = 10_000
"""Factor of fused scores, so that rounding to four decimals leaves neighbouring ranks apart."""

_MARGIN = 100
"""Chunks asked for beyond ``top_k`` at first, so that ties at the cut are seldom a reason to ask again."""

_DEEPER = 4
"""Factor by which the pool of chunks grows while the answer is not certain."""


@dataclass(frozen=True)
class Hits:
    """Chunks that an engine found, in no particular order.

    :param ordinals: int64, shape (hits,): chunk ordinals.
    :param scores: float32, shape (hits,): raw scores, above 0.
    :param exhausted: True when no other chunk scores above 0.
    """

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float32]
    exhausted: bool

    @classmethod
    def none(cls) -> "Hits":
        """Returns the hits of a query that matches nothing."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32), True)

    @classmethod
    def best(cls, scores: NDArray[np.float32], depth: int, allowed: NDArray[np.bool_] | None = None) -> "Hits":
        """Choose the hits out of the scores of all chunks, past all ties at the cut.

        :param scores: float32, shape (chunks,): the score of each chunk.
        :param depth: How many hits are wanted at least.
        :param allowed: bool, shape (chunks,): chunks that may be returned; all when not given.
        :returns: The hits, by rising ordinal.
        """
        found = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
        exhausted = len(found) <= depth
        if not exhausted:
            cut = np.partition(scores[found], -depth)[-depth]
            found = found[scores[found] >= cut]
        return cls(found, scores[found], exhausted)


@dataclass(frozen=True)
class Ranking:
    """A ranked list, best first.

    :param ordinals: int64, shape (ranks,): ordinals of chunks, or of documents after MaxP.
    :param scores: float32, shape (ranks,): raw scores.
    :param chunks: int64, shape (ranks,): after MaxP each document's best chunk; otherwise the same as ``ordinals``.
    """

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float32]
    chunks: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ordinals)


class Searchable(Protocol):
    """What ranking needs of an index; see :class:`autoindex_haystack.retrieval.index.Index`."""

    documents: NDArray[np.int64]

    @property
    def document_order(self) -> NDArray[np.int64]: ...

    def candidates_many(
        self, queries: Sequence[str], depth: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Hits]: ...


def rounded(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Returns scores rounded to four decimals, as int64 multiples of 0.0001."""
    return np.rint(scores.astype(np.float64) * ROUNDING).astype(np.int64)


def code_point_order(ids: Sequence[str]) -> NDArray[np.int64]:
    """Returns for each id its rank among all ids by code point; int64, shape (ids,)."""
    order = np.empty(len(ids), np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return order


def rank_chunks(
    index: Searchable, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
) -> list[Ranking]:
    """Rank chunks; see :meth:`autoindex_haystack.retrieval.index.Index.search`."""

    def best(hits: Hits) -> Ranking | None:
        order = np.lexsort((hits.ordinals, index.document_order[index.documents[hits.ordinals]], -rounded(hits.scores)))
        ranking = _take(hits, order[:top_k])
        return ranking if _certain(ranking, hits, top_k) else None

    return _deepen(index, queries, top_k, 0, allowed, best)


def rank_documents(
    index: Searchable, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
) -> list[Ranking]:
    """Rank documents by their best chunk; see :meth:`autoindex_haystack.retrieval.index.Index.search_documents`.

    The pool of chunks grows until no chunk outside it could change the first ``top_k`` documents.
    """

    def best(hits: Hits) -> Ranking | None:
        ranking = max_p(hits, index.documents, index.document_order, top_k)
        return ranking if _certain(ranking, hits, top_k) else None

    return _deepen(index, queries, top_k, MAXP_DEPTH, allowed, best)


def max_p(hits: Hits, documents: NDArray[np.int64], document_order: NDArray[np.int64], top_k: int) -> Ranking:
    """Score documents by their best chunk and order them.

    :param hits: Chunks and scores.
    :param documents: int64, shape (chunks,): the document of each chunk.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    :param top_k: How many documents at most.
    :returns: The ranking of documents. Among chunks whose scores round to the same, the first stands for its document.
    """
    chunks, scores = hits.ordinals, hits.scores
    if (chunks[1:] <= chunks[:-1]).any():
        order = np.argsort(chunks)
        chunks, scores = chunks[order], scores[order]
    ends = np.array([len(chunks)])
    return max_p_each(chunks, scores, ends, documents, document_order, top_k)[0]


def max_p_each(
    chunks: NDArray[np.int64],
    scores: NDArray[np.float32],
    ends: NDArray[np.int64],
    documents: NDArray[np.int64],
    document_order: NDArray[np.int64],
    top_k: int,
) -> list[Ranking]:
    """Do what :func:`max_p` does for several queries at once.

    :param chunks: int64, shape (hits,): the chunks of the first query, rising, then those of the next.
    :param scores: float32, shape (hits,): their scores, above 0.
    :param ends: int64, shape (queries,): where the hits of each query end.
    :param documents: int64, shape (chunks,): the document of each chunk, not decreasing.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    :param top_k: How many documents at most.
    :returns: For each query its ranking of documents.
    """
    owners, levels = documents[chunks], rounded(scores)
    # The chunks of a document stand together.
    begins = np.ones(len(owners), np.bool_)
    begins[1:] = owners[1:] != owners[:-1]
    begins[ends[:-1][ends[:-1] < len(owners)]] = True
    first = np.flatnonzero(begins)
    ends = np.searchsorted(first, ends)
    if len(first) < len(owners):
        highest = np.maximum.reduceat(levels, first)
        at_height = np.flatnonzero(levels == np.repeat(highest, np.diff(np.r_[first, len(owners)])))
        scores, levels = np.maximum.reduceat(scores, first), highest
        chunks, owners = chunks[at_height[np.searchsorted(at_height, first)]], owners[first]
    places = document_order[owners] - levels * len(document_order)
    rankings = []
    for begin, end in pairwise([0, *ends.tolist()]):
        best = begin + _lowest(places[begin:end], top_k)
        rankings.append(Ranking(owners[best], scores[best], chunks[best]))
    return rankings


def fuse(rankings: Sequence[Ranking], document_order: NDArray[np.int64], top_k: int) -> Ranking:
    """Join rankings of documents by reciprocal rank fusion: a document scores the sum of 1 / (60 + rank), times 10,000.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009.

    :param rankings: Rankings of documents after MaxP, each of at least :data:`FUSION_DEPTH` documents where there are
        so many.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    :param top_k: How many documents at most.
    :returns: The joint ranking. A document's chunk is that of the ranking in which it stands highest, the first of them
        where it stands equally high.
    """
    fused = np.zeros(len(document_order), np.float64)
    highest = np.full(len(document_order), np.iinfo(np.int64).max)
    chunks = np.full(len(document_order), -1, np.int64)
    for one in rankings:
        ranks = np.arange(1, len(one) + 1)
        fused[one.ordinals] += _FUSION_SCALE / (_FUSION_CONSTANT + ranks)
        better = ranks < highest[one.ordinals]
        highest[one.ordinals[better]] = ranks[better]
        chunks[one.ordinals[better]] = one.chunks[better]
    found = np.flatnonzero(fused)
    scores = fused.astype(np.float32)[found]
    order = np.lexsort((document_order[found], -rounded(scores)))[:top_k]
    return Ranking(found[order], scores[order], chunks[found[order]])


def _lowest(places: NDArray[np.int64], number: int) -> NDArray[np.intp]:
    """Where the lowest of some numbers are that all differ, in rising order; all are sorted only where most are asked
    for.
    """
    if len(places) <= 2 * number:
        return np.argsort(places)[:number]
    lowest = np.argpartition(places, number)[:number]
    return lowest[np.argsort(places[lowest])]


def _take(hits: Hits, order: NDArray[np.intp]) -> Ranking:
    chunks = hits.ordinals[order]
    return Ranking(chunks, hits.scores[order], chunks)


def _empty() -> Ranking:
    return Ranking(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64))


def _certain(ranking: Ranking, hits: Hits, top_k: int) -> bool:
    """Whether no chunk outside the hits could enter the ranking: its last score must round above all unseen ones."""
    if hits.exhausted:
        return True
    return len(ranking) == top_k and bool(rounded(ranking.scores[-1:])[0] > rounded(hits.scores.min(keepdims=True))[0])


def _deepen(
    index: Searchable,
    queries: Sequence[str],
    top_k: int,
    least: int,
    allowed: NDArray[np.bool_] | None,
    best: Callable[[Hits], Ranking | None],
) -> list[Ranking]:
    """Ask the index for more and more chunks, ``least`` at first, for the queries whose ranking is not certain yet."""
    if top_k <= 0:
        return [_empty() for _ in queries]
    depth = max(top_k + _MARGIN, least)
    rankings: list[Ranking | None] = [None] * len(queries)
    open_queries = list(range(len(queries)))
    while open_queries:
        found = index.candidates_many([queries[i] for i in open_queries], depth, allowed)
        for i, hits in zip(open_queries, found, strict=True):
            rankings[i] = best(hits)
        open_queries = [i for i in open_queries if rankings[i] is None]
        depth *= _DEEPER
    return [ranking for ranking in rankings if ranking is not None]
