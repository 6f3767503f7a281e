import math

import pytest
from haystack import Document, Pipeline
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.evaluation.metrics import score_queries
from haystack_integrations.components.evaluators.autoindex import RankingEvaluator


def chunk(source, split=0):
    return Document(id=f"{source}#{split}", meta={"source_id": source})


def test_init_default():
    evaluator = RankingEvaluator()
    assert (evaluator.metrics, evaluator.source_key) == (["recall@100", "ndcg@10"], "source_id")


@pytest.mark.parametrize("metrics", [[], ["recall"], ["recall@0"], ["map@10"], ["ndcg@x"]])
def test_init_with_an_unknown_metric(metrics):
    with pytest.raises(ValueError, match="metric"):
        RankingEvaluator(metrics)


def test_to_dict_and_back_also_through_yaml():
    evaluator = RankingEvaluator(["mrr@5"], source_key="parent")
    pipeline = Pipeline()
    pipeline.add_component("evaluator", evaluator)
    loaded = Pipeline.loads(pipeline.dumps()).get_component("evaluator")
    assert loaded.to_dict() == evaluator.to_dict()


def test_chunks_of_one_document_count_as_one_rank():
    evaluator = RankingEvaluator(["recall@2", "precision@2", "mrr@2", "ndcg@2"])
    truth = [[Document(id="a"), Document(id="b")]]
    found = [[chunk("x"), chunk("x", 1), chunk("b"), chunk("b", 1), chunk("a")]]
    result = evaluator.run(truth, found)
    ideal = 1 + 1 / math.log2(3)
    assert result["metrics"] == {
        "recall@2": 0.5,
        "precision@2": 0.5,
        "mrr@2": 0.5,
        "ndcg@2": pytest.approx(1 / math.log2(3) / ideal),
    }
    assert (result["score"], result["individual_scores"]) == (0.5, [0.5])


def test_grades_are_the_scores_of_the_ground_truth():
    truth = [[Document(id="a", score=1.0), Document(id="b", score=3.0), Document(id="c", score=0.0)]]
    result = RankingEvaluator(["ndcg@10", "recall@10"]).run(truth, [[chunk("a"), chunk("c"), chunk("b")]])
    expected = (1 + 3 / math.log2(4)) / (3 + 1 / math.log2(3))
    assert result["metrics"] == {"ndcg@10": pytest.approx(expected), "recall@10": 1.0}


def test_queries_without_results_or_relevant_documents_have_0():
    result = RankingEvaluator(["recall@10"]).run([[Document(id="a")], [], [Document(id="a")]], [[], [], [chunk("a")]])
    assert result["individual_scores"] == [0.0, 0.0, 1.0]
    assert result["score"] == pytest.approx(1 / 3)


@given(
    st.lists(
        st.tuples(
            st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=5),
            st.lists(st.text(max_size=3), unique=True, max_size=8),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_equal_to_the_metrics_of_the_core_for_any_ids(queries):
    truth = [[Document(id=name or "-") for name in relevant] for relevant, _ in queries]
    found = [[Document(id=name or "-") for name in ranked] for _, ranked in queries]
    result = RankingEvaluator(["recall@100", "ndcg@10", "recall@10", "mrr@10"]).run(truth, found)
    rankings = {str(i): [document.id for document in ranked] for i, ranked in enumerate(found)}
    qrels = {str(i): {document.id: 1 for document in relevant} for i, relevant in enumerate(truth)}
    expected = score_queries(rankings, qrels)
    for i, scores in enumerate(result["per_query"]):
        assert scores == pytest.approx({name: expected[str(i)][name] for name in scores})


def test_wrong_input_is_refused():
    evaluator = RankingEvaluator()
    with pytest.raises(ValueError, match="got 1 and 2"):
        evaluator.run([[]], [[], []])
    with pytest.raises(ValueError, match="at least one"):
        evaluator.run([], [])
    with pytest.raises(TypeError, match="lists of lists of Documents"):
        evaluator.run([["a"]], [["a"]])
