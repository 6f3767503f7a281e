"""Could the best of all programs of a run be luck? One test over everything that was tried on the same queries.

A run tries many programs on the same validation queries; the best of them looks better than it is. The test here
holds for the whole run: if no program changes anything real, at most a share ``alpha`` of runs let anything pass. It

- compares each program with the incumbent query by query, by Student's t of the paired differences;
- takes what luck gives from random changes of sign of the queries, the same for all programs, so that a dozen variants
  of one idea do not count as a dozen ideas (Westfall and Young, Resampling-based multiple testing, 1993);
- spends ``alpha`` over the rounds, the first ones more, as sequential trials do (Lan and DeMets, Biometrika 70, 1983:
  the power family of Kim and DeMets with exponent 1/3), since proposers begin with what speaks most for itself;
- gives back what was spent on a program that passed (the fallback of Wiens, Pharmaceutical Statistics 2, 2003), so
  that improvements of an improvement are not asked for more than the first;
- counts a combination of what looked good as what it is, a choice made with these very queries: under each change of
  sign it stands for the sum of those that would have looked good under it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation import SignFlips, studentized

ALPHA = 0.02
"""Of runs in which no program changes anything real, the share that may adopt one: one in twenty, less a margin for
programs that follow from earlier outcomes on the same queries, and for those that are tried since their forecasts on
these queries were the best of many, which the test does not see (``benchmarks/null_runs.py``)."""

_EXPONENT = 1 / 3


def spent(iteration: int, iterations: int, alpha: float = ALPHA) -> float:
    """Tell how much of ``alpha`` may be spent by the end of a round.

    :param iteration: The round, from 1.
    :param iterations: How many rounds there are.
    :param alpha: What may be spent by the end of the last one.
    :returns: The share of runs that may let something pass by luck up to this round.
    """
    return float(alpha * min(1.0, iteration / iterations) ** _EXPONENT)


@dataclass(frozen=True)
class RoundTest:
    """What the test found for the programs of one round.

    :param statistics: float64, shape (programs,): Student's t.
    :param p_values: float64, shape (programs,): the share of runs that would let something pass by luck up to now if
        this program's t were the mark.
    :param allowed: What that share may be.
    :param mark: The t that a program has to exceed.
    """

    statistics: NDArray[np.float64]
    p_values: NDArray[np.float64]
    allowed: float
    mark: float

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Which programs are better by more than luck; bool, shape (programs,)."""
        return self.p_values <= self.allowed


class LuckTest:
    """The test over a whole run, round by round.

    :param queries: How many validation queries, 2 or more.
    :param iterations: How many rounds there will be.
    :param seed: Seed of the changes of sign.
    :param flips: How many there are.
    :param alpha: The share of runs without any real change that may let something pass.
    """

    def __init__(
        self, queries: int, iterations: int, *, seed: int = 0, flips: int = 10_000, alpha: float = ALPHA
    ) -> None:
        self._queries = queries
        self._iterations = iterations
        self._alpha = alpha
        self._flips = SignFlips(queries, seed, flips)
        self._crossed = np.zeros(flips, bool)

    def round(self, iteration: int, differences: NDArray[np.float64], combined: Sequence[bool] = ()) -> RoundTest:
        """Test the programs of the next round.

        :param iteration: Its number, from 1.
        :param differences: float64, shape (programs, queries): each program minus the incumbent.
        :param combined: Which programs combine others of the round; none when not given.
        :returns: The test.
        """
        allowed = spent(iteration, self._iterations, self._alpha)
        squares = (differences**2).sum(axis=1)
        statistics = studentized(differences.sum(axis=1), squares, self._queries)
        luck = self._luck(differences, squares, np.array(combined or [False] * len(differences)))
        highest = np.where(self._crossed, np.inf, luck.max(axis=1, initial=-np.inf))
        order = np.sort(highest)[::-1]
        at_least = len(order) - np.searchsorted(order[::-1], statistics, side="left")
        p_values = (1 + at_least) / (1 + len(order))
        place = int(allowed * (1 + len(order)) + 1e-9) - 1
        mark = float(order[place]) if place >= 0 else np.inf
        test = RoundTest(statistics, p_values, allowed, mark)
        self._crossed |= (luck[:, ~test.passed] > mark).any(axis=1)
        return test

    def _luck(
        self, differences: NDArray[np.float64], squares: NDArray[np.float64], combined: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """What t is under each change of sign; float64, shape (flips, programs)."""
        sums = self._flips.sums(differences.T)
        luck = studentized(sums, squares, self._queries)
        if combined.any() and not combined.all():
            single = differences[~combined]
            good = (luck[:, ~combined] > 0).astype(np.float64)
            joint = (good * sums[:, ~combined]).sum(axis=1)
            joint_squares = np.einsum("fi,ij,fj->f", good, single @ single.T, good, optimize=True)
            chosen = studentized(joint, joint_squares, self._queries)
            luck[:, combined] = np.maximum(luck[:, combined], chosen[:, None])
        return luck
