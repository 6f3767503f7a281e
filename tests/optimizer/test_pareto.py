"""The list holds what nothing beats, and any program of a run can be frozen with honest figures."""

import json
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack import load_frozen, optimize
from autoindex_haystack.cli.main import main
from autoindex_haystack.collection import load_split
from autoindex_haystack.errors import CollectionError, RunError
from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.pareto import pareto_list
from autoindex_haystack.optimizer.refreeze import freeze_from_run
from autoindex_haystack.report.programs import read_programs
from autoindex_haystack.runs import read_journal
from autoindex_haystack.runs.journal import Journal

LEVELS = st.integers(1, 3)


@given(st.lists(st.tuples(LEVELS, LEVELS, LEVELS, LEVELS), min_size=1, max_size=12))
def test_nothing_on_the_list_is_beaten_and_everything_else_is(figures):
    evaluations = [
        SimpleNamespace(
            program_sha256=str(i),
            metrics={"recall@100": recall / 4, "ndcg@10": ndcg / 4},
            growth=float(growth),
            indexing_seconds=float(seconds),
        )
        for i, (recall, ndcg, growth, seconds) in enumerate(figures)
    ]
    costs = [(-recall, -ndcg, growth, seconds) for recall, ndcg, growth, seconds in figures]
    listed = {int(point.program_sha256) for point in pareto_list(evaluations, {})}
    for i, mine in enumerate(costs):
        as_good = {k for k, other in enumerate(costs) if all(a <= b for a, b in zip(other, mine, strict=True))}
        if i in listed:
            assert all(costs[k][:3] == mine[:3] for k in as_good)
        else:
            assert as_good & listed


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "run"
    optimize(folder, place, settings=SearchSettings(iterations=1, candidates=3))
    return place


def test_a_program_of_the_list_is_frozen_with_its_own_held_out_figures(run, folder, collection, tmp_path):
    result = json.loads((run / "result.json").read_text())
    points = [p for p in result["pareto"] if p["program_sha256"] != result["program_sha256"]]
    assert points
    chosen = points[0]["program_sha256"]
    frozen = freeze_from_run(run, chosen[:8], tmp_path / "frozen")
    assert frozen.program.sha256 == chosen
    assert load_frozen(tmp_path / "frozen").manifest == frozen.manifest
    again = evaluate(collection, frozen, queries="held-out", split=load_split(run, collection))
    assert again.metrics == pytest.approx(frozen.manifest.learned.held_out)
    assert frozen.manifest.learned.validation["recall@100"] == points[0]["recall@100"]
    gain = frozen.manifest.gain
    assert gain.acceptance == "chosen by hand"
    before, after = frozen.manifest.baseline.held_out, frozen.manifest.learned.held_out
    assert gain.held_out == pytest.approx(after["recall@100"] - before["recall@100"])
    assert json.loads((run / "result.json").read_text()) == result, "the run itself stays as it is"


def test_what_cannot_be_frozen_is_refused_with_what_to_do(run, tmp_path):
    with pytest.raises(RunError, match="pareto"):
        freeze_from_run(run, "0" * 64, tmp_path / "frozen")
    with pytest.raises(RunError, match="digits"):
        freeze_from_run(run, "", tmp_path / "frozen")
    twin, first = shutil.copytree(run, tmp_path / "twin"), read_journal(run)[0]
    Journal(twin).append({**first, "program": first["program"][:8] + "0" * 56})
    with pytest.raises(RunError, match=r"2 programs of .* give more digits"):
        freeze_from_run(twin, first["program"][:8], tmp_path / "frozen")
    failed = {"record": "failure", "program": first["program"], "error": "it gives another output"}
    shutil.copy(run / "journal.jsonl", twin)
    Journal(twin).append(failed)
    with pytest.raises(RunError, match="failed: it gives another output"):
        freeze_from_run(twin, first["program"], tmp_path / "frozen")
    scores = {query: {**values, "recall@100": 0.123} for query, values in first["scores"].items()}
    (twin / "journal.jsonl").unlink()
    Journal(twin).append({**first, "scores": scores})
    with pytest.raises(RunError, match=r"where the run had 0\.1230"):
        freeze_from_run(twin, first["program"], tmp_path / "frozen")
    with pytest.raises(RunError, match="no run"):
        freeze_from_run(tmp_path, "0" * 64)
    program = json.loads((run / "result.json").read_text())["program_sha256"]
    with pytest.raises(CollectionError):
        freeze_from_run(run, program, tmp_path / "frozen", collection=tmp_path / "nowhere")
    assert not (tmp_path / "frozen").exists()


def test_the_adopted_program_is_frozen_again_with_what_it_learned(run, tmp_path, capsys):
    assert (run / "frozen" / "state.json").exists()
    frozen, again = load_frozen(run / "frozen"), tmp_path / "again"
    assert main(["freeze", str(run), "--program", frozen.program.sha256[:12], "--out", str(again), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["program_sha256"] == frozen.program.sha256
    [label] = {tried.label for tried in read_programs(run, "recall@100") if tried.sha256 == frozen.program.sha256}
    assert main(["freeze", str(run), "--program", label, "--out", str(tmp_path / "labelled"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told | {"frozen": str(tmp_path / "labelled")}
    assert main(["freeze", str(run), "--program", "9.9", "--out", str(tmp_path / "nothing")]) == 2
    assert "'9.9' is not clear" in capsys.readouterr().err
    assert (again / "state.json").read_text() == (run / "frozen" / "state.json").read_text()
    assert load_frozen(again).manifest.learned == frozen.manifest.learned
    assert load_frozen(again).manifest.sha256 == told["sha256"] == frozen.manifest.sha256


def test_the_collection_may_have_moved(run, folder, tmp_path, capsys):
    moved = shutil.copytree(run, tmp_path / "run")
    info = json.loads((moved / "run.json").read_text())
    (moved / "run.json").write_text(json.dumps({**info, "collection_path": str(tmp_path / "gone")}))
    program = json.loads((moved / "result.json").read_text())["program_sha256"]
    assert main(["freeze", str(moved), "--program", program]) == 2
    assert "say with --collection where it is now" in capsys.readouterr().err
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    assert main(["freeze", str(moved), "--program", program, "--collection", str(elsewhere)]) == 0
    frozen = load_frozen(moved / f"frozen-{program[:12]}")
    assert f"frozen component {frozen.manifest.sha256[:12]}" in capsys.readouterr().out
