"""`autoindex explain`: the story of a run agrees with its journal, its rankings and its judgments."""

import json
import shutil

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.cli.main import main
from autoindex_haystack.collection import make_split
from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.evaluation.diagnosis import Reason
from autoindex_haystack.optimizer import SearchSettings


@pytest.fixture(scope="module")
def run(collection, tmp_path_factory):
    out = tmp_path_factory.mktemp("explained") / "run"
    optimize(collection, out, settings=SearchSettings(iterations=2, candidates=4))
    return out


def explain(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main(["explain", *map(str, arguments)]) == code
    return capsys.readouterr()


def missed(collection, run, program):
    """What an evaluation from scratch says is missed."""
    split = make_split(collection, 0)
    rankings = evaluate(collection, program, queries="validation", split=split).rankings
    relevant = [(query, doc) for query in split.validation for doc in collection.qrels[query]]
    return {(query, doc) for query, doc in relevant if doc not in {found for found, _ in rankings[query]}}


def test_the_story_counts_what_an_evaluation_misses(collection, run, capsys):
    story = json.loads(explain(capsys, run, "--json").out)
    before, after = missed(collection, run, "builtin:full_document"), missed(collection, run, run / "frozen")
    assert (story["baseline"]["missed"], story["learned"]["missed"]) == (len(before), len(after))
    assert len(before) > len(after)
    assert sum(story["baseline"]["reasons"].values()) == len(before)
    assert set(story["baseline"]["reasons"]) <= {str(reason) for reason in Reason}
    result = json.loads((run / "result.json").read_text())
    assert len(story["adopted"]) == result["adopted"]
    gains = sum(step["gain"] for step in story["adopted"])
    assert gains == pytest.approx(
        result["learned"]["validation"]["recall@100"] - result["baseline"]["validation"]["recall@100"]
    )


def test_the_story_tells_what_was_forecast_tried_and_came_of_it(run, capsys):
    story = json.loads(explain(capsys, run, "--json").out)
    forms = next(transform for transform in story["transforms"] if transform["transform"] == "word_forms")
    assert forms["adopted"]
    assert forms["reached"] > forms["lost"]
    assert forms["tried"] + forms["in_bundles"] > 0
    if forms["best"] is not None:
        assert forms["best"] == pytest.approx(forms["forecast"], abs=0.05)
    refused = [transform for transform in story["transforms"] if transform["refused"]]
    told = explain(capsys, run).out
    for transform in refused:
        assert transform["best"] > 0
        assert transform["adopted"] or transform["refused"].partition(" (")[0] in told
    assert f"{story['baseline']['missed']} with the whole document" in told
    assert "variant form" in told
    assert "adopted" in told


def test_each_missed_document_of_a_query_has_its_line(collection, run, capsys):
    before, after = missed(collection, run, "builtin:full_document"), missed(collection, run, run / "frozen")
    query = sorted(before)[0][0]
    told = json.loads(explain(capsys, run, "--query", query, "--json").out)
    assert {miss["doc_id"] for miss in told["missed"]} == {doc for q, doc in after if q == query}
    assert {miss["doc_id"] for miss in told["brought_in"]} == {doc for q, doc in before - after if q == query}
    lines = explain(capsys, run, "--query", query).out.splitlines()[1:]
    assert len(lines) == len(told["missed"]) + len(told["brought_in"])
    for miss, line in zip([*told["missed"], *told["brought_in"]], lines, strict=True):
        assert line.startswith(f"  {miss['doc_id']}: ")
        assert line.endswith(miss["explanation"])


def test_held_out_queries_are_not_looked_into(collection, run, capsys):
    held_out = make_split(collection, 0).held_out[0]
    told = explain(capsys, run, "--query", held_out, code=2)
    assert told.out == ""
    assert f"'{held_out}' is a held-out query" in told.err
    assert "never diagnosed" in told.err
    assert "'nowhere' is no validation query" in explain(capsys, run, "--query", "nowhere", code=2).err


def test_the_story_is_told_in_the_objective(collection, tmp_path, capsys):
    run = tmp_path / "run"
    result = optimize(collection, run, settings=SearchSettings(iterations=1, candidates=4, objective="ndcg@10"))
    story = json.loads(explain(capsys, run, "--json").out)
    assert result.adopted
    assert sum(step["gain"] for step in story["adopted"]) == pytest.approx(result.gain.validation)
    told = explain(capsys, run).out
    assert "nDCG@10): " in told
    assert "Recall@100" not in told


def test_what_is_no_run_is_told_in_one_sentence(run, tmp_path, capsys):
    for command in (("explain",), ("freeze", "--program", "abcdef")):
        assert main([*command, str(tmp_path)]) == 2
        told = capsys.readouterr().err
        assert "holds no" in told
        assert "validation error" not in told
        assert len(told.splitlines()) == 1
    broken = shutil.copytree(run, tmp_path / "broken")
    (broken / "result.json").write_text('{"collection": 3}')
    told = explain(capsys, broken, code=2).err
    assert "result.json holds no finished run that this version can read" in told
    assert len(told.splitlines()) == 1


def test_a_run_without_evidence_says_so(run, tmp_path, capsys):
    copy = shutil.copytree(run, tmp_path / "copy")
    shutil.rmtree(copy / "evidence")
    assert "holds no evidence" in explain(capsys, copy, code=2).err
    (copy / "result.json").unlink()
    assert "holds no finished run" in explain(capsys, copy, code=2).err
