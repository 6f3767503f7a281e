"""What happens during a search, as small typed events that a caller can follow."""

from collections.abc import Callable
from dataclasses import dataclass

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.proposers import Outcome


@dataclass(frozen=True)
class Phase:
    """Something that takes time begins or goes on.

    :param name: What it is, such as ``iteration 2, candidate 3: documents``.
    :param done: How much is done.
    :param total: How much there is; 0 when it is not known.
    """

    name: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class BaselineEvaluated:
    """The baseline has its figures on the validation queries."""

    evaluation: Evaluation


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
    """

    iteration: int
    iterations: int
    adopted: Outcome | None
    objective: float


Event = Phase | BaselineEvaluated | CandidateTried | IterationEnded
Listener = Callable[[Event], None]
