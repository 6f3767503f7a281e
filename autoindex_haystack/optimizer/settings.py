"""How a search is done."""

from dataclasses import dataclass, field

from autoindex_haystack.optimizer.selection import TOLERANCE
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.sandbox import Isolation, Limits


@dataclass(frozen=True)
class SearchSettings:
    """How a search is done.

    :param iterations: How many rounds of proposals.
    :param candidates: How many candidates a round.
    :param seed: The proposer's seed.
    :param tolerance: The gain in mean validation Recall@100 that counts as an improvement.
    :param bm25: BM25 parameters and analyzer, held fixed.
    :param backend: The engine, held fixed.
    :param limits: What a program may use and return.
    :param workers: Worker processes; candidates that are evaluated side by side share them.
    :param jobs: How many candidates of a round are evaluated side by side. It changes no result.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    """

    iterations: int = 5
    candidates: int = 4
    seed: int = 0
    tolerance: float = TOLERANCE
    bm25: BM25Settings = field(default_factory=BM25Settings)
    backend: str = "bm25s"
    limits: Limits = field(default_factory=Limits)
    workers: int = 1
    jobs: int = 1
    allowed_imports: tuple[str, ...] = ()
    isolation: Isolation = "full"
