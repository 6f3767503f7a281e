"""The metrics of every table, computed by ir_measures.

``recall@100`` is |relevant in the first 100| / |relevant|; ``ndcg@10`` uses the grades as gains, ``ndcg_binary@10``
(the paper's) counts every relevant document as 1. A query without any result has 0 everywhere.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any

METRICS = ("recall@100", "ndcg@10", "ndcg_binary@10", "recall@10", "mrr@10")
"""The names of all metrics, the objective first."""

OBJECTIVE = "recall@100"

DEPTH = 100
"""How many documents a ranking needs for these metrics."""

PerQuery = dict[str, dict[str, float]]
"""Query id to metric to value."""


def score_queries(rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]]) -> PerQuery:
    """Score rankings query by query.

    :param rankings: Query id to document ids, best first, without repetitions.
    :param qrels: Query id to document id to grade; every query of ``rankings`` needs at least one grade above 0.
    :returns: For every query of ``rankings`` the value of every metric.
    """
    import ir_measures

    # Falling scores keep the order that was given; ir_measures would sort ties its own way.
    run = [
        ir_measures.ScoredDoc(query, document, float(-rank))
        for query, documents in rankings.items()
        for rank, document in enumerate(documents)
    ]
    judged = {query: qrels[query] for query in rankings}
    binary = {query: {name: int(grade > 0) for name, grade in grades.items()} for query, grades in judged.items()}
    scores: PerQuery = {query: dict.fromkeys(METRICS, 0.0) for query in rankings}
    graded, paper = _measures()
    for names, truth in ((graded, judged), (paper, binary)):
        for value in ir_measures.iter_calc(list(names), _qrels(truth), run):
            scores[value.query_id][names[value.measure]] = value.value
    return scores


def means(scores: PerQuery) -> dict[str, float]:
    """Average over queries.

    :param scores: What :func:`score_queries` returned; at least one query.
    :returns: Metric to mean.
    """
    return {metric: fmean(values[metric] for values in scores.values()) for metric in METRICS}


@cache
def _measures() -> tuple[dict[Any, str], dict[Any, str]]:
    from ir_measures import RR, R, nDCG

    return {R @ 100: "recall@100", nDCG @ 10: "ndcg@10", R @ 10: "recall@10", RR @ 10: "mrr@10"}, {
        nDCG @ 10: "ndcg_binary@10"
    }


def _qrels(grades: Mapping[str, Mapping[str, int]]) -> list[Any]:
    from ir_measures import Qrel

    return [
        Qrel(query, document, max(grade, 0)) for query, judged in grades.items() for document, grade in judged.items()
    ]
