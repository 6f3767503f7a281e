"""A search told as it goes on: a line for each candidate and each iteration, progress for what takes time."""

import math

from autoindex_haystack.cli.output import Progress, print_notes
from autoindex_haystack.cli.text import shortened
from autoindex_haystack.evaluation.objective import Objective, objective_name, objective_value
from autoindex_haystack.optimizer.events import (
    BaselineEvaluated,
    CandidateAtRest,
    CandidateTried,
    Event,
    IterationEnded,
    Phase,
    Resumed,
    StartEvaluated,
)
from autoindex_haystack.proposers import Dropped
from autoindex_haystack.wording import counted

_IDEA = 90
"""Characters of a candidate's idea that are shown."""


class SearchLog:
    """A listener that shows what the search does.

    :param show: Where progress is shown.
    :param objective: What the search maximizes.
    :param quiet: Whether to write no lines.
    """

    def __init__(self, show: Progress, *, objective: Objective = "recall@100", quiet: bool = False) -> None:
        self._show = show
        self._objective = objective
        self._quiet = quiet

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case Phase(name, done, total, candidate):
                self._show(name, done, total, lane=candidate)
            case CandidateAtRest(candidate):
                self._show.end(candidate)
            case Resumed(records, seconds, notes):
                print_notes(notes)
                self._say(f"going on after {counted(records, 'record', 'records')} and {seconds:.0f} seconds")
            case BaselineEvaluated(evaluation, detectable):
                value = objective_value(evaluation.metrics, self._objective)
                self._say(f"baseline: validation {objective_name(self._objective)} {value:.4f}")
                queries = counted(len(evaluation.scores), "validation query", "validation queries")
                shown = f"a true gain of {detectable:.4f} shows in four of five runs, a smaller one in fewer"
                self._say(f"with {queries} {shown if math.isfinite(detectable) else 'no gain can be told from luck'}")
            case StartEvaluated(evaluation):
                value = objective_value(evaluation.metrics, self._objective)
                self._say(f"starting program: validation {objective_name(self._objective)} {value:.4f}")
            case CandidateTried(outcome, number):
                idea = shortened(outcome.candidate.idea, _IDEA)
                if outcome.dropped:
                    figure = _reached(outcome.dropped)
                elif outcome.gain is None:
                    figure = f"failed ({shortened(outcome.error, _IDEA)})"
                else:
                    figure = f"{outcome.gain:+.4f}"
                kind = "combination" if outcome.combined else f"candidate {number}"
                self._say(f"  {outcome.iteration}. {kind}: {figure}  {idea}")
            case IterationEnded(iteration, iterations, adopted, objective, refused, reason):
                verdict = f"adopted {shortened(adopted.candidate.idea, _IDEA)}" if adopted else "nothing adopted"
                if refused is not None:
                    verdict += f" ({refused.gain:+.4f} refused: {reason})"
                name = objective_name(self._objective)
                self._say(f"iteration {iteration} of {iterations}: {verdict}; validation {name} {objective:.4f}")

    def _say(self, line: str) -> None:
        if not self._quiet:
            self._show.say(line)


def _reached(dropped: Dropped) -> str:
    """How far a dropped candidate came and what is known of it."""
    known = f"at most {dropped.most:+.4f}" if dropped.certain else f"about {dropped.gain:+.4f}"
    return f"{known}, dropped after {dropped.documents:,} documents"
