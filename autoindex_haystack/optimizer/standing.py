"""How far a search has come; what its parts share."""

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
    :param notes: What a user should know about the adopted programs.
    """

    baseline: Program
    baseline_evaluation: Evaluation
    incumbent: Program
    evaluation: Evaluation
    history: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def at_first(cls, baseline: Program, evaluation: Evaluation) -> "Standing":
        """Returns the standing of a search in which the baseline is the incumbent."""
        return cls(baseline, evaluation, baseline, evaluation)

    def adopt(self, program: Program, evaluation: Evaluation) -> None:
        """Make a program the incumbent."""
        self.incumbent, self.evaluation = program, evaluation

    @property
    def adopted(self) -> list[Outcome]:
        """The outcomes that became the incumbent, one after the other."""
        return [outcome for outcome in self.history if outcome.adopted]
