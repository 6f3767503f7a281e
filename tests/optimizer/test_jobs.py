"""Candidates side by side: the same result, no work left behind, and the time told."""

import threading

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.events import CandidateTried
from autoindex_haystack.optimizer.trials import PHASES
from autoindex_haystack.program import builtin_program

from .scripted import BOTH, BROKEN, MORE_STEMS, SAME, STEMS, WORSE, Scripted, journal, search


@pytest.mark.parametrize("stage_size", [None, 100])
def test_the_number_of_jobs_changes_nothing_but_the_time(collection, tmp_path, stage_size):
    """Also with failures, programs that are proposed twice in a round, combinations, slow programs and a stage."""
    slow = f"(sum(range(20_000)), {SAME})[1]"
    rounds = [slow, BROKEN, STEMS, STEMS, BROKEN, SAME, MORE_STEMS], [slow, WORSE, STEMS]
    told, written = [], []
    for jobs in (1, 3):
        out = tmp_path / str(jobs)
        events = []
        settings = SearchSettings(iterations=2, candidates=8, jobs=jobs, workers=2, stage_size=stage_size)
        proposer = Scripted(*rounds, combination=BOTH)
        result = optimize(collection, out, settings=settings, proposer=proposer, listener=events.append)
        assert (result.tried, result.failed) == (11, 2)
        assert bool(result.dropped) == bool(stage_size)
        tried = [event for event in events if isinstance(event, CandidateTried)]
        told.append([(e.number, e.outcome.candidate.sha256, e.outcome.gain, e.outcome.error) for e in tried])
        records = journal(out)
        for record in records:
            for time_spent in ("seconds", "calibrate_seconds"):
                record.pop(time_spent, None)
        written.append((records, proposer.states[1].history[2].fixed, result.learned, result.component_sha256))
    assert told[0] == told[1]
    assert written[0] == written[1]


def test_candidates_are_at_work_side_by_side_and_share_the_workers(collection, tmp_path, monkeypatch):
    together, given = threading.Barrier(2), []
    original = Evaluator.evaluate

    def spy(self, program, queries, **options):
        if "workers" in options and program.sha256 != builtin_program("full_document").sha256:
            together.wait(60)
        given.append(options.get("workers"))
        return original(self, program, queries, **options)

    monkeypatch.setattr(Evaluator, "evaluate", spy)
    settings = SearchSettings(iterations=1, jobs=2, workers=5)
    optimize(collection, tmp_path / "run", settings=settings, proposer=Scripted([STEMS, SAME]))
    assert given == [None, 2, 2, None, None], "all workers for what is evaluated alone"


def test_an_interrupted_search_leaves_no_work_behind(collection, tmp_path):
    """Ctrl-C reaches the main thread while other threads wait for programs that never end."""

    def interrupt(event):
        if isinstance(event, CandidateTried):
            raise KeyboardInterrupt

    endless = "[0 for _ in iter(int, 1)]"
    settings = SearchSettings(iterations=1, jobs=3)
    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        optimize(
            collection,
            tmp_path / "run",
            settings=settings,
            proposer=Scripted([SAME, endless, endless + "[:1]"]),
            listener=interrupt,
        )
    assert set(threading.enumerate()) <= threads


def test_where_the_time_went_is_told(collection, tmp_path):
    result, _ = search(collection, tmp_path / "run", Scripted([STEMS, SAME]))
    assert set(result.seconds) == {*PHASES, "total"}
    assert all(result.seconds[phase] > 0 for phase in ("calibrate", "program", "scan", "score", "check again"))
    assert sum(result.seconds.values()) <= 2 * result.seconds["total"]
    assert 0 < result.candidates_per_minute < 60 * result.tried / result.seconds["program"] * 10
