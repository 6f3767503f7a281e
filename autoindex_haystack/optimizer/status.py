"""Keeps the status of a search up to date, from its events."""

import threading
from collections.abc import Callable
from typing import Any

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.objective import objective_gain, objective_value
from autoindex_haystack.optimizer.events import (
    BaselineEvaluated,
    CandidateAtRest,
    CandidatesProposed,
    CandidateTried,
    Event,
    IterationEnded,
    Phase,
    StartEvaluated,
)
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.runs import RunFolder
from autoindex_haystack.runs.status import CandidateStatus, RunStatus

_EVERY = 1.0
"""Seconds between two writings of the file."""


class StatusKeeper:
    """A listener that knows how far a search is, and writes it down once a second while it is open.

    :param folder: The run folder.
    :param settings: How the search is done.
    :param account: Gives what a language model was used for so far; None when none is asked.
    """

    def __init__(
        self, folder: RunFolder, settings: SearchSettings, account: Callable[[], dict[str, Any] | None]
    ) -> None:
        self.status = RunStatus(iterations=settings.iterations, objective=settings.objective)
        self._folder = folder
        self._objective = settings.objective
        self._account = account
        self._baseline: Evaluation | None = None
        self._began = 0.0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write, name="autoindex-status", daemon=True)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        with self._lock:
            self._take(event)

    def __enter__(self) -> "StatusKeeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._save()

    def _take(self, event: Event) -> None:
        status = self.status
        match event:
            case Phase(name, candidate=0):
                status.phase = name
            case Phase(candidate=number):
                self._put(number, "at work")
            case CandidateAtRest(number):
                self._put(number, "waiting")
            case BaselineEvaluated(evaluation):
                self._baseline = evaluation
                status.baseline = status.best = objective_value(evaluation.metrics, self._objective)
                self._began = self._folder.seconds
            case StartEvaluated(evaluation):
                self._found_better(evaluation)
            case CandidatesProposed(iteration, candidates, combined):
                if not combined:
                    status.iteration, status.candidates = iteration, []
                first = len(status.candidates) + 1
                status.candidates += [
                    CandidateStatus(number=number, idea=candidate.idea)
                    for number, candidate in enumerate(candidates, first)
                ]
            case CandidateTried(outcome, number):
                status.tried += 1
                state = "dropped" if outcome.dropped else "failed" if outcome.error else "tried"
                self._put(number, state, outcome.gain)
            case IterationEnded(iteration, iterations, adopted):
                taken = self._folder.seconds - self._began
                status.seconds_left = taken / iteration * (iterations - iteration)
                if adopted and adopted.evaluation:
                    status.adopted += 1
                    self._found_better(adopted.evaluation)

    def _put(self, number: int, state: str, gain: float | None = None) -> None:
        if number <= len(self.status.candidates):
            candidate = self.status.candidates[number - 1]
            if candidate.state in ("waiting", "at work"):
                candidate.state, candidate.gain = state, gain

    def _found_better(self, evaluation: Evaluation) -> None:
        assert self._baseline
        difference = objective_gain(evaluation, self._baseline, self._objective)
        self.status.best = objective_value(evaluation.metrics, self._objective)
        self.status.gain, self.status.low, self.status.high = difference.mean, difference.low, difference.high

    def _save(self) -> None:
        with self._lock:
            self.status.seconds = self._folder.seconds
            self.status.llm = self._account()
            copy = self.status.model_copy(deep=True)
        copy.save(self._folder.path)

    def _write(self) -> None:
        while not self._ended.wait(_EVERY):
            self._save()
