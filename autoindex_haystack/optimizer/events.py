"""What happens during a search, as small typed events that a caller can follow."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.proposers import Candidate, Outcome
from autoindex_haystack.runs import RunInfo, RunResult


@dataclass(frozen=True)
class Phase:
    """Something that takes time begins or goes on.

    :param name: What it is, such as ``iteration 2, candidate 3: documents``.
    :param done: How much is done.
    :param total: How much there is; 0 when it is not known.
    :param candidate: The number of the candidate, several of which may be at work at a time; 0 for anything else.
    """

    name: str
    done: int = 0
    total: int = 0
    candidate: int = 0


@dataclass(frozen=True)
class CandidateAtRest:
    """Nothing more happens to a candidate until its round is decided.

    :param candidate: Its number in the iteration, from 1.
    """

    candidate: int


@dataclass(frozen=True)
class Resumed:
    """An interrupted search goes on; the events of what was done before come first, once more.

    :param records: How many records its journal has.
    :param seconds: How long it had taken.
    :param notes: What a user should know about the state in which it was found.
    """

    records: int
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunBegun:
    """The search begins, or goes on, in its run folder.

    :param run: The run folder.
    :param info: How the run is made, as in ``run.json``.
    """

    run: Path
    info: RunInfo


@dataclass(frozen=True)
class RunEnded:
    """The last event of a search.

    :param run: The run folder.
    :param result: The result, which is on disk with the frozen component; None when the search broke off.
    :param interrupted: Whether it broke off because someone wished it.
    """

    run: Path
    result: RunResult | None
    interrupted: bool = False


@dataclass(frozen=True)
class BaselineEvaluated:
    """The baseline has its figures on the validation queries.

    :param evaluation: Its evaluation.
    :param detectable: The smallest gain in the objective that the validation queries can show.
    """

    evaluation: Evaluation
    detectable: float = math.inf


@dataclass(frozen=True)
class StartEvaluated:
    """The program that the search starts from has its figures on the validation queries.

    :param evaluation: Its evaluation.
    """

    evaluation: Evaluation


@dataclass(frozen=True)
class CandidatesProposed:
    """There are new candidates.

    :param iteration: The iteration, from 1.
    :param candidates: The candidates.
    :param combined: Whether it is the combination of earlier ones of the iteration.
    """

    iteration: int
    candidates: tuple[Candidate, ...]
    combined: bool = False


@dataclass(frozen=True)
class CandidateTried:
    """A candidate has its figures, or failed.

    :param outcome: The outcome; ``adopted`` is not decided yet.
    :param number: Its number in the iteration, from 1.
    """

    outcome: Outcome
    number: int


@dataclass(frozen=True)
class IterationEnded:
    """An iteration is over.

    :param iteration: Its number, from 1.
    :param iterations: How many there are.
    :param adopted: The adopted outcome, if any.
    :param objective: The incumbent's objective now.
    :param refused: The best candidate that gained and was not adopted all the same, if any.
    :param reason: Why it was not.
    """

    iteration: int
    iterations: int
    adopted: Outcome | None
    objective: float
    refused: Outcome | None = None
    reason: str = ""


Event = (
    Phase
    | Resumed
    | RunBegun
    | BaselineEvaluated
    | StartEvaluated
    | CandidatesProposed
    | CandidateAtRest
    | CandidateTried
    | IterationEnded
    | RunEnded
)
Listener = Callable[[Event], None]


def one_at_a_time(*listeners: Listener) -> Listener:
    """Join listeners.

    :param listeners: The listeners.
    :returns: One for events of several threads, which calls the given ones in their order, with one event at a time.
    """
    lock = threading.Lock()

    def listen(event: Event) -> None:
        with lock:
            for listener in listeners:
                listener(event)

    return listen
