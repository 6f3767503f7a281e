"""How far a search has come; what its parts share."""

import math
from dataclasses import dataclass, field

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Outcome


@dataclass
class Standing:
    """The baseline, the incumbent and what was tried.

    :param baseline: The program that the search began with.
    :param baseline_evaluation: Its evaluation on the validation queries.
    :param incumbent: The best program so far.
    :param evaluation: Its evaluation.
    :param history: All outcomes so far, oldest first.
    :param detectable: The smallest gain in the objective that the validation queries can show.
    :param start: The program that the search starts from, with its evaluation; None when that is the baseline.
    :param luck: By how much the incumbent's gain is estimated to be too high because it was chosen.
    :param notes: What a user should know about the adopted programs.
    """

    baseline: Program
    baseline_evaluation: Evaluation
    incumbent: Program
    evaluation: Evaluation
    history: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    detectable: float = math.inf
    start: tuple[Program, Evaluation] | None = None
    luck: float = 0.0

    @classmethod
    def at_first(cls, baseline: Program, evaluation: Evaluation) -> "Standing":
        """Returns the standing of a search in which the baseline is the incumbent."""
        return cls(baseline, evaluation, baseline, evaluation)

    def start_from(self, program: Program, evaluation: Evaluation) -> None:
        """Make a program the incumbent before anything was tried."""
        self.start = program, evaluation
        self.adopt(program, evaluation)

    def adopt(self, program: Program, evaluation: Evaluation) -> None:
        """Make a program the incumbent."""
        self.incumbent, self.evaluation = program, evaluation

    @property
    def adopted(self) -> list[Outcome]:
        """The outcomes that became the incumbent, one after the other."""
        return [outcome for outcome in self.history if outcome.adopted]
