"""The metrics of every table, computed by ir_measures.

``recall@100`` is |relevant in the first 100| / |relevant|; ``ndcg@10`` uses the grades as gains, ``ndcg_binary@10``
(the paper's) counts every relevant document as 1. A query without any result has 0 everywhere.

``smooth_recall`` is for deciding, not for tables: it moves with every rank of every relevant document, where
Recall@100 jumps at one of them, so that few queries show a difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import log2
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

METRICS = ("recall@100", "ndcg@10", "ndcg_binary@10", "recall@10", "mrr@10")
"""The names of all metrics, the objective first."""

TITLES = {
    "recall@100": "Recall@100",
    "ndcg@10": "nDCG@10",
    "ndcg_binary@10": "nDCG@10, binary",
    "recall@10": "Recall@10",
    "mrr@10": "MRR@10",
}
"""How people write them."""

ROUNDING = 1e-9
"""What equal values may differ by, being sums of floats."""

OBJECTIVE = "recall@100"

DEPTH = 100
"""How many documents a ranking needs for these metrics."""

SMOOTH_RECALL = "smooth_recall"
"""The name of :func:`smooth_recall` among a query's values."""

SMOOTH_DEPTH = 1000
"""How many documents a ranking needs for it."""

_OFFSET, _NOWHERE = 10, 4 * SMOOTH_DEPTH

PerQuery = dict[str, dict[str, float]]
"""Query id to metric to value."""


def score_queries(rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]]) -> PerQuery:
    """Score rankings query by query.

    :param rankings: Query id to document ids, best first, without repetitions.
    :param qrels: Query id to document id to grade; every query of ``rankings`` needs at least one grade above 0.
    :returns: For every query of ``rankings`` the value of every metric.
    """
    import ir_measures

    names = _Names()
    # Falling scores keep the order that was given; ir_measures would sort ties its own way.
    run = [
        ir_measures.ScoredDoc(names[query], names[document], float(-rank))
        for query, documents in rankings.items()
        for rank, document in enumerate(documents)
    ]
    graded = [
        (names[query], names[document], max(grade, 0)) for query in rankings for document, grade in qrels[query].items()
    ]
    binary = [(query, document, int(grade > 0)) for query, document, grade in graded]
    scores: PerQuery = {query: dict.fromkeys(METRICS, 0.0) for query in rankings}
    given = dict(zip(map(names.__getitem__, rankings), rankings, strict=True))
    for measures, judged in zip(_measures(), (graded, binary), strict=True):
        truth = [ir_measures.Qrel(*judgment) for judgment in judged]
        for value in ir_measures.iter_calc(list(measures), truth, run):
            scores[given[value.query_id]][measures[value.measure]] = value.value
    return scores


def smooth_recall(ranks: NDArray[np.int64], relevant: int) -> float:
    """Average Recall@k over the depths k = 1 to 3999, small depths weighing more.

    The weight of k is ln((k + 11) / (k + 10)), about 1 / (k + 10), and Recall@k beyond 1000 is taken to be Recall@1000.
    The sum telescopes: a relevant document at rank r adds ln(4010 / (r + 10)) / ln(4010 / 11): 1 at the first rank,
    0.61 at the hundredth, 0.24 at the thousandth. On this scale a step from 200 to 100 counts about as much as one from
    50 to 20, whether or not a cut lies between. What is not found at all counts as 0, as if at rank 4000.

    :param ranks: int64, shape (found,): ranks of the relevant documents, from 1; those beyond 1000 count as not found.
    :param relevant: How many relevant documents the query has, found or not.
    :returns: The average, 0 to 1.
    """
    return float(smooth_gains(ranks).sum() / relevant)


def smooth_gains(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each relevant document adds to :func:`smooth_recall`, before it is divided by their number.

    :param ranks: int64, shape (documents,): their ranks, from 1; 0 for those that are not found.
    :returns: float64, shape (documents,): 0 to 1.
    """
    found = (ranks > 0) & (ranks <= SMOOTH_DEPTH)
    gains = np.log((_NOWHERE + _OFFSET) / (ranks + _OFFSET)) / np.log((_NOWHERE + _OFFSET) / (1 + _OFFSET))
    return np.where(found, gains, 0.0)


def ideal_dcg(grades: Iterable[int]) -> float:
    """Discounted cumulative gain at 10 of documents in the best order: the sum of grade / log2(rank + 1).

    :param grades: Their grades, above 0.
    """
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(sorted(grades, reverse=True)[:10], start=1))


def means(scores: PerQuery) -> dict[str, float]:
    """Average over queries.

    :param scores: What :func:`score_queries` returned; at least one query.
    :returns: Metric of :data:`METRICS` to mean.
    """
    return {metric: fmean(values[metric] for values in scores.values()) for metric in METRICS}


@cache
def _measures() -> tuple[dict[Any, str], dict[Any, str]]:
    from ir_measures import RR, R, nDCG

    return {R @ 100: "recall@100", nDCG @ 10: "ndcg@10", R @ 10: "recall@10", RR @ 10: "mrr@10"}, {
        nDCG @ 10: "ndcg_binary@10"
    }


class _Names(dict[str, str]):
    """Short plain names for ids: ir_measures' engine in C aborts the process for ids with a NUL character."""

    def __missing__(self, identifier: str) -> str:
        return self.setdefault(identifier, str(len(self)))
