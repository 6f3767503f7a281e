"""How a search is done."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from autoindex_haystack.evaluation.objective import OBJECTIVES, Objective
from autoindex_haystack.optimizer.selection import TOLERANCE
from autoindex_haystack.program import missing_modules
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.sandbox import Isolation, Limits

AcceptanceName = Literal["guarded", "paper"]

ACCEPTANCES: tuple[str, ...] = get_args(AcceptanceName)
"""The names of all rules of acceptance, the default first."""


@dataclass(frozen=True)
class SearchSettings:
    """How a search is done.

    :param iterations: How many rounds of proposals.
    :param candidates: How many candidates a round.
    :param seed: The proposer's seed.
    :param objective: What the search maximizes on the validation queries.
    :param acceptance: ``guarded``: a candidate must be better by more than luck, see
        :class:`~autoindex_haystack.optimizer.acceptance.GuardedAcceptance`; ``paper``: any gain counts.
    :param max_growth: Guarded: how many times the corpus the index text may be.
    :param tolerance: The gain in the mean objective that counts as an improvement.
    :param bm25: BM25 parameters and analyzer, held fixed.
    :param backend: The engine, held fixed.
    :param limits: What a program may use and return.
    :param stage_size: Documents of a stage, for corpora several times larger: candidates run over these first, and
        those whose estimated gain is not good enough go no further. A number of its own when not given; with 0 only
        candidates that are sure not to be improvements are dropped.
    :param workers: Worker processes; candidates that are evaluated side by side share them.
    :param jobs: How many candidates of a round are evaluated side by side. It changes no result.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    """

    iterations: int = 10
    candidates: int = 8
    seed: int = 0
    objective: Objective = "recall@100"
    acceptance: AcceptanceName = "guarded"
    max_growth: float = 3.0
    tolerance: float = TOLERANCE
    bm25: BM25Settings = field(default_factory=BM25Settings)
    backend: str = "bm25s"
    limits: Limits = field(default_factory=Limits)
    stage_size: int | None = None
    workers: int = 1
    jobs: int = 1
    allowed_imports: tuple[str, ...] = ()
    isolation: Isolation = "full"

    @property
    def growth_limit(self) -> float | None:
        """How many times the corpus an accepted program's index text may be; None where the rule has no limit."""
        return self.max_growth if self.acceptance == "guarded" else None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, whoever gives it.

        :raises ValueError: If a setting has another type or is out of its range; the message names it.
        """
        for name, least in (("iterations", 0), ("candidates", 1), ("seed", None), ("workers", 1), ("jobs", 1)):
            _check_whole(name, getattr(self, name), least)
        if self.stage_size is not None:
            _check_whole("stage_size", self.stage_size, 0)
        for name in ("max_growth", "tolerance"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                msg = f"{name} must be a number greater than 0, but is {value!r}"
                raise ValueError(msg)
        if missing := missing_modules(self.allowed_imports):
            msg = f"allowed_imports: this Python has no module {missing[0]!r}; install it, or leave it out"
            raise ValueError(msg)
        for name, known in (("objective", OBJECTIVES), ("acceptance", ACCEPTANCES)):
            if getattr(self, name) not in known:
                msg = f"{name} must be one of {', '.join(known)}, but is {getattr(self, name)!r}"
                raise ValueError(msg)


def _check_whole(name: str, value: object, least: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        at_least = "" if least is None else f" of at least {least}"
        msg = f"{name} must be a whole number{at_least}, but is {value!r}"
        raise ValueError(msg)
