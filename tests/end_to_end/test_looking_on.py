"""Who looks on sees how far a run is: in a list of runs, from another terminal, and where the search itself runs."""

import json
import subprocess
import sys
import time

import pytest

from autoindex_haystack.cli.live import LiveView
from autoindex_haystack.runs import read_result
from autoindex_haystack.runs.lock import RunLock
from tests.end_to_end.interrupted import COMMAND, HOLD, KITCHEN, MACHINE, SEARCH


def test_runs_are_listed_with_their_states(broken, finished, here):
    with subprocess.Popen([sys.executable, "-c", HOLD, broken], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        told = json.loads(here("runs", broken.parent, "--json").succeeded().out)["runs"]
        assert [(row["run"], row["state"]) for row in told] == [(str(broken), "running")]
        other.kill()
    [row] = json.loads(here("runs", broken.parent, "--json").succeeded().out)["runs"]
    assert (row["state"], row["collection"], row["learned"]) == ("interrupted", "kitchen", None)
    [row] = json.loads(here("runs", finished.parent, "--json").succeeded().out)["runs"]
    result = read_result(finished)
    assert (row["state"], row["held_out_gain"]) == ("finished", result.gain.held_out)
    assert row["learned"] == result.learned.held_out["ndcg@10"]
    assert row["status"]["best"] == result.learned.validation["ndcg@10"]
    assert (row["status"]["tried"], row["status"]["adopted"]) == (result.tried, result.adopted)
    assert row["status"]["gain"] == pytest.approx(result.gain.validation)
    text = here("runs", finished.parent).succeeded().out
    assert "finished" in text
    assert f"{result.gain.held_out:+.4f}" in text
    assert "no runs" in here("runs", KITCHEN).succeeded().out


def test_another_terminal_can_watch_until_the_end(tmp_path, autoindex):
    run = tmp_path / "run"
    command = list(map(str, [*COMMAND, "optimize", KITCHEN, "--out", run, *SEARCH, *MACHINE, "--quiet"]))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (run / "run.json").exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        watched = autoindex("watch", run).succeeded().out
        out = process.communicate(timeout=60)[0]
    result = read_result(run)
    *_, last, end = watched.splitlines()
    assert f"{result.tried} candidates tried, {result.adopted} adopted" in last
    assert f"{result.learned.validation['ndcg@10']:.4f}" in last
    assert end == f"{run} is finished; read it with `autoindex report {run}`"
    assert "candidate 1" not in out
    assert "gain in ndcg@10" in out


def test_what_was_interrupted_says_so_to_who_watches(broken, here):
    assert f"go on with `autoindex optimize --resume {broken}`" in here("watch", broken).succeeded().out
    assert json.loads(here("watch", broken, "--json").succeeded().out)["state"] == "interrupted"
    here("watch", KITCHEN).failed(2, "holds no run")


def test_a_search_never_draws_the_run_that_it_is_about_to_replace(broken):
    view = LiveView(broken, at_work=True)
    assert list(view()) == []
    lock = RunLock(broken)
    try:
        assert "iteration" in str(next(iter(view())))
    finally:
        lock.release()
