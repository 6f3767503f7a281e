"""The metrics: worked out by hand, by an independent formula, and by ir_measures on a run file."""

import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from autoindex_haystack.evaluation import METRICS, OBJECTIVE, means, score_queries
from autoindex_haystack.evaluation.metrics import SMOOTH_DEPTH, smooth_recall

QRELS = {"q": {"a": 3, "b": 1, "c": 0, "d": -1, "gone": 2}}


def dcg(gains: list[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def model(ranking: list[str], judged: dict[str, int]) -> dict[str, float]:
    """The definitions of DESIGN, written down once more."""
    grades = [max(0, judged.get(document, 0)) for document in ranking]
    ideal = sorted((max(0, grade) for grade in judged.values()), reverse=True)
    binary, ideal_binary = [min(1, g) for g in grades], [min(1, g) for g in ideal]
    relevant = sum(ideal_binary)
    return {
        "recall@100": sum(binary[:100]) / relevant,
        "recall@10": sum(binary[:10]) / relevant,
        "ndcg@10": dcg(grades[:10]) / dcg(ideal[:10]),
        "ndcg_binary@10": dcg(binary[:10]) / dcg(ideal_binary[:10]),
        "mrr@10": next((1 / rank for rank, b in enumerate(binary[:10], start=1) if b), 0.0),
    }


def test_figures_worked_out_by_hand():
    [scores] = score_queries({"q": ["x", "a", "c", "b", "d"]}, QRELS).values()
    assert scores == pytest.approx(
        {
            "recall@100": 2 / 3,
            "recall@10": 2 / 3,
            "ndcg@10": (3 / math.log2(3) + 1 / math.log2(5)) / (3 + 2 / math.log2(3) + 1 / 2),
            "ndcg_binary@10": (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2),
            "mrr@10": 1 / 2,
        }
    )


IDS = [f"d{i}" for i in range(130)]


@given(
    ranking=st.lists(st.sampled_from(IDS), unique=True, max_size=120),
    judged=st.dictionaries(st.sampled_from(IDS), st.integers(-2, 4), min_size=1, max_size=40),
    best=st.sampled_from(IDS),
)
def test_figures_are_those_of_the_definitions(ranking, judged, best):
    judged[best] = 1
    assert score_queries({"q": ranking}, {"q": judged})["q"] == pytest.approx(model(ranking, judged))


def test_figures_are_those_of_ir_measures_over_several_queries():
    rankings = {f"q{n}": [IDS[(n * 7 + i * 3) % 130] for i in range(110)] for n in range(5)}
    qrels = {query: {IDS[(n * 11 + i) % 130]: i % 3 for i in range(20)} for n, query in enumerate(rankings)}
    run = {query: {d: 200.0 - i for i, d in enumerate(ranking)} for query, ranking in rankings.items()}
    measures = {R @ 100: "recall@100", nDCG @ 10: "ndcg@10", R @ 10: "recall@10", RR @ 10: "mrr@10"}
    expected = ir_measures.calc_aggregate(list(measures), qrels, run)
    found = means(score_queries(rankings, qrels))
    assert {name: found[name] for name in measures.values()} == pytest.approx(
        {measures[measure]: value for measure, value in expected.items()}
    )


def test_a_query_without_results_has_zero_and_counts_in_the_mean():
    scores = score_queries({"q": ["a"], "empty": []}, QRELS | {"empty": {"a": 1}})
    assert set(scores["empty"].values()) == {0.0}
    assert means(scores)["mrr@10"] == 0.5


def test_only_the_queries_that_were_ranked_are_scored():
    assert list(score_queries({"q": ["a"]}, QRELS | {"other": {"a": 1}})) == ["q"]


def test_the_order_that_is_given_counts_whatever_the_ids():
    for ranking in (["a", "x"], ["x", "a"]):
        expected = 1 / (1 + ranking.index("a"))
        assert score_queries({"q": ranking}, {"q": {"a": 1}})["q"]["mrr@10"] == expected


@pytest.mark.parametrize(
    "names", [("a\0b", "a\0c"), ("é ü", "文書"), ("", " "), ("a\tb", "a\nb"), ("\U0001f600", "%s")]
)
def test_ids_may_hold_any_character(names):
    one, two = names
    scores = score_queries({one: [two, one], two: [one]}, {one: {one: 1}, two: {two: 1}})
    assert scores[one]["mrr@10"] == 0.5
    assert scores[two]["mrr@10"] == 0.0


def test_every_metric_has_a_value_and_recall_100_is_the_objective():
    assert list(score_queries({"q": []}, QRELS)["q"]) == list(METRICS)
    assert METRICS[0] == OBJECTIVE == "recall@100"


@given(st.sets(st.integers(1, 1200), min_size=0, max_size=8), st.integers(0, 4))
def test_smooth_recall_is_the_weighted_mean_of_recall_at_every_depth(ranks, missing):
    relevant = len(ranks) + missing
    found = smooth_recall(np.array(sorted(ranks), np.int64), max(1, relevant))
    cuts = np.arange(1, 4 * SMOOTH_DEPTH)
    recall = np.array([sum(rank <= min(k, SMOOTH_DEPTH) for rank in ranks) for k in cuts]) / max(1, relevant)
    assert found == pytest.approx(np.average(recall, weights=np.log((cuts + 11) / (cuts + 10))))
