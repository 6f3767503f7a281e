"""A search as a run of MLflow. MLflow is no part of the usual environment: `test_full_packages` runs this with one."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from autoindex_haystack import load_frozen, optimize, resume
from autoindex_haystack.errors import Interrupted, RunError
from autoindex_haystack.optimizer import MLflowListener, SearchSettings
from autoindex_haystack.optimizer.events import CandidateTried, IterationEnded, RunBegun, RunEnded
from autoindex_haystack.runs import read_info

from .scripted import BOTH, BROKEN, MORE_STEMS, SAME, STEMS, Scripted, search

SECRET = "correct-horse-battery"


class Reached(Scripted):
    """One that asks a model, as it were, by an address that is nobody's business."""

    def settings(self):
        return {"model": "a-model", "connection": {"base_url": f"http://{SECRET}.local"}, "steps": 4}

    def account(self):
        return None

    def notes(self):
        return []


class Failing(Scripted):
    """One that has a fault."""

    def propose(self, state):
        return 1 // 0


def proposer():
    return Reached([SAME, BROKEN, STEMS, MORE_STEMS], [SAME], combination=BOTH)


SETTINGS = SearchSettings(iterations=2, acceptance="paper")


def test_the_first_event_of_a_search_tells_how_it_is_made_and_the_last_its_result(collection, tmp_path):
    result, events = search(collection, tmp_path / "run", Scripted([STEMS]))
    assert events[0] == RunBegun(tmp_path / "run", read_info(tmp_path / "run"))
    assert events[-1] == RunEnded(tmp_path / "run", result)
    events.clear()
    with pytest.raises(Interrupted):
        optimize(collection, tmp_path / "other", proposer=Scripted([STEMS]), listener=events.append, stop=lambda: True)
    assert events[-1] == RunEnded(tmp_path / "other", None, interrupted=True)
    with pytest.raises(ZeroDivisionError):
        optimize(collection, tmp_path / "broken", proposer=Failing([STEMS]), listener=events.append)
    assert events[-1] == RunEnded(tmp_path / "broken", None)


def test_without_mlflow_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(RunError, match=r'pip install "autoindex-haystack\[mlflow\]"'):
        MLflowListener()


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store on this machine, and who reads it."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is an extra; test_full_packages runs this with it")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    return uri, mlflow.MlflowClient(tracking_uri=uri)


def test_the_program_of_the_page_on_runs_works(tmp_path, store):
    tests = Path(__file__).resolve().parents[1]
    page = (tests.parent / "docs" / "runs.md").read_text(encoding="utf-8")
    [program] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "MLflow" in block]
    shutil.copytree(tests / "end_to_end" / "kitchen", tmp_path / "my_collection")
    exec(program, {})
    assert the_run(store[1]).info.run_name == "my_logged_run"


def the_run(client):
    [run] = client.search_runs([client.get_experiment_by_name("autoindex").experiment_id])
    return run


def by_step(client, run, name):
    return [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)]


def test_a_search_is_one_run_with_settings_figures_by_iteration_and_the_component(collection, tmp_path, store):
    uri, client = store
    events = []

    def listen(event):
        events.append(event)
        logged(event)

    logged = MLflowListener(tracking_uri=uri, tags={"team": "search"})
    result = optimize(collection, tmp_path / "my_run", settings=SETTINGS, proposer=proposer(), listener=listen)
    run = the_run(client)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "my_run")
    parameters = run.data.params
    assert (parameters["iterations"], parameters["objective"], parameters["bm25.k1"]) == ("2", "recall@100", "1.5")
    assert (parameters["proposer"], parameters["proposer.model"]) == ("scripted", "a-model")
    tags = run.data.tags
    assert (tags["autoindex.collection"], tags["team"]) == (collection.name, "search")
    assert tags["autoindex.program_sha256"] == result.program_sha256
    ended = [event for event in events if isinstance(event, IterationEnded)]
    expected = [(0, result.baseline.validation["recall@100"]), *((event.iteration, event.objective) for event in ended)]
    assert by_step(client, run, "validation/recall_at_100") == expected
    assert by_step(client, run, "validation/objective") == expected
    tried = [event for event in events if isinstance(event, CandidateTried)]
    assert by_step(client, run, "candidates/tried")[-1] == (2, len(tried)) == (2, result.tried)
    assert by_step(client, run, "candidates/failed")[-1] == (2, result.failed)
    gain = [dict(by_step(client, run, f"validation/{name}")) for name in ("gain_low", "gain", "gain_high")]
    assert [value[0] for value in gain] == [0, 0, 0]
    assert gain[0][2] < gain[1][2] < gain[2][2]
    assert gain[1][2] == pytest.approx(result.gain.validation)
    assert by_step(client, run, "growth")[-1] == (2, result.growth)
    figures = run.data.metrics
    for metric, name in (("recall@100", "recall_at_100"), ("ndcg@10", "ndcg_at_10")):
        assert figures[f"held_out/{name}"] == result.learned.held_out[metric]
        assert figures[f"held_out/{name}_baseline"] == result.baseline.held_out[metric]
        assert figures[f"held_out/{name}_gain_low"] == result.differences[metric].low
    assert figures["held_out/gain"] == result.gain.held_out
    fetched = client.download_artifacts(run.info.run_id, "frozen", str(tmp_path))
    assert load_frozen(fetched).manifest.sha256 == result.component_sha256
    key = read_info(tmp_path / "my_run").id_key
    for path in [tmp_path / "mlflow.db", *(tmp_path / "mlruns").rglob("*")]:
        content = path.read_bytes() if path.is_file() else b""
        assert SECRET.encode() not in content
        assert key.encode() not in content


def test_a_search_that_is_resumed_goes_on_with_its_run(collection, tmp_path, store):
    uri, client = store
    ended = []

    def listen(event):
        logged(event)
        ended.extend([event] if isinstance(event, IterationEnded) else [])

    logged, out = MLflowListener(tracking_uri=uri), tmp_path / "run"
    with pytest.raises(Interrupted):
        optimize(collection, out, settings=SETTINGS, proposer=proposer(), listener=listen, stop=lambda: bool(ended))
    assert the_run(client).info.status == "KILLED"
    listener = MLflowListener(tracking_uri=uri)
    result = resume(out, collection=collection, proposer=proposer(), listener=listener)
    run = the_run(client)
    assert run.info.status == "FINISHED"
    assert [step for step, _ in by_step(client, run, "validation/objective")] == [0, 1, 2]
    assert by_step(client, run, "candidates/tried")[-1] == (2, result.tried)


def test_a_search_that_fails_leaves_a_run_that_failed(collection, tmp_path, store):
    uri, client = store
    listener = MLflowListener(tracking_uri=uri)
    with pytest.raises(ZeroDivisionError):
        optimize(collection, tmp_path / "run", settings=SETTINGS, proposer=Failing([STEMS]), listener=listener)
    assert the_run(client).info.status == "FAILED"


def test_a_store_that_is_lost_stops_no_search_and_one_that_never_was_begins_none(collection, tmp_path, store, caplog):
    uri, _ = store

    def listen(event):
        if isinstance(event, CandidateTried):
            (tmp_path / "mlflow.db").write_bytes(b"lost" * 4096)
        logged(event)

    logged = MLflowListener(tracking_uri=uri)
    result = optimize(collection, tmp_path / "run", settings=SETTINGS, proposer=proposer(), listener=listen)
    assert load_frozen(result.frozen).manifest.sha256 == result.component_sha256
    [said] = [record.getMessage() for record in caplog.records if record.name.startswith("autoindex_haystack")]
    assert "the search goes on and is no longer logged there" in said
    nowhere = MLflowListener(tracking_uri=f"http://user:{SECRET}@127.0.0.1:9")
    with pytest.raises(RunError, match="cannot be logged to MLflow") as refused:
        optimize(collection, tmp_path / "none", settings=SETTINGS, proposer=proposer(), listener=nowhere)
    assert SECRET not in str(refused.value)
    assert not (tmp_path / "none").exists()
