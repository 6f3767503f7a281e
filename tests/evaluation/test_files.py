"""Files that other tools read: TREC run files, metrics query by query."""

import json

import ir_measures
import pytest
from ir_measures import RR, R, nDCG

from autoindex_haystack.errors import CollectionError, RunError
from autoindex_haystack.evaluation import Evaluator, write_per_query, write_run_file
from autoindex_haystack.evaluation.metrics import METRICS
from autoindex_haystack.program import builtin_program


def test_a_run_file_has_six_columns_and_a_line_for_each_ranked_document(tmp_path):
    path = tmp_path / "deep" / "run.trec"
    write_run_file(path, {"q1": [("0001", 3.25), ("é", 1.1234567)], "q2": []}, tag="mine")
    assert path.read_text(encoding="utf-8") == "q1 Q0 0001 1 3.250000 mine\nq1 Q0 é 2 1.123457 mine\n"


def test_written_scores_fall_with_the_rank_so_that_every_tool_keeps_the_order(tmp_path):
    path = tmp_path / "run.trec"
    write_run_file(path, {"q": [("b", 2.00001), ("a", 2.00003), ("c", 2.00003), ("d", 2.0), ("e", 1.0)]})
    scores = [float(line.split()[4]) for line in path.read_text().splitlines()]
    assert scores == [2.00001, 2.000009, 2.000008, 2.0, 1.0]


def test_a_run_file_gives_the_same_figures_in_ir_measures(small, tmp_path):
    """Also where documents tie: here all three that match."""
    small.queries["q1"] = "cold wing engine cold"
    with Evaluator(small) as evaluator:
        evaluation = evaluator.evaluate(builtin_program("full_document"), small.queries)
    write_run_file(tmp_path / "run.trec", evaluation.rankings)
    run = list(ir_measures.read_trec_run(str(tmp_path / "run.trec")))
    figures = ir_measures.calc_aggregate([R @ 100, nDCG @ 10, RR @ 10], small.qrels, run)
    assert figures == {
        R @ 100: pytest.approx(evaluation.metrics["recall@100"]),
        nDCG @ 10: pytest.approx(evaluation.metrics["ndcg@10"]),
        RR @ 10: pytest.approx(evaluation.metrics["mrr@10"]),
    }


@pytest.mark.parametrize("identifier", ["a b", "a\tb", "a\nb", "", "a\u00a0b"])
def test_ids_that_a_run_file_cannot_hold_are_refused_and_nothing_is_left(tmp_path, identifier):
    for rankings in ({"q": [(identifier, 1.0)]}, {identifier: [("d", 1.0)]}):
        with pytest.raises(CollectionError, match="a run file cannot hold ids with white space"):
            write_run_file(tmp_path / "run.trec", rankings)
    assert list(tmp_path.iterdir()) == []


SCORES = {"q1": dict.fromkeys(METRICS, 0.5), "ü 2": dict.fromkeys(METRICS, 1 / 3)}


def test_metrics_by_query_are_written_as_a_table_or_as_json_lines(tmp_path):
    write_per_query(tmp_path / "q.tsv", SCORES)
    header, first, second = (tmp_path / "q.tsv").read_text(encoding="utf-8").splitlines()
    assert header.split("\t") == ["query_id", *METRICS]
    assert first.split("\t") == ["q1", *["0.500000"] * 5]
    assert second.split("\t")[0] == "ü 2"
    write_per_query(tmp_path / "q.jsonl", SCORES)
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {line.pop("query_id"): line for line in lines} == SCORES


def test_an_id_that_a_table_cannot_hold_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(CollectionError, match=r"let the name end in \.jsonl"):
        write_per_query(tmp_path / "q.tsv", {"a\tb": SCORES["q1"]})
    assert list(tmp_path.iterdir()) == []
    write_per_query(tmp_path / "q.jsonl", {"a\tb": SCORES["q1"]})


def test_a_file_is_replaced_whole_and_a_place_that_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "run.trec"
    write_run_file(path, {"q": [("a", 1.0)] * 100})
    write_run_file(path, {"q": [("b", 1.0)]})
    assert path.read_text() == "q Q0 b 1 1.000000 autoindex\n"
    with pytest.raises(RunError, match="cannot write"):
        write_run_file(path / "below", {})
