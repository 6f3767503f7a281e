"""What a difference between two systems on the same queries is worth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

_BLOCK = 1_000
"""Changes of sign that are multiplied at a time: the signs are small, as floats they would not be."""


class PairedDifference(BaseModel):
    """A paired comparison over queries.

    :param mean: Mean of the differences, new minus old.
    :param low: Lower end of the 95 % interval of the mean.
    :param high: Upper end.
    :param p_value: Two-sided p-value of the paired t-test.
    """

    mean: float
    low: float
    high: float
    p_value: float


def paired_difference(new: Sequence[float], old: Sequence[float]) -> PairedDifference:
    """Compare two systems by the paired t-test and its interval, as is usual for per-query metrics.

    See Smucker, Allan, Carterette: A comparison of statistical significance tests for information retrieval evaluation
    (CIKM 2007).

    :param new: One value a query.
    :param old: The values of the other system for the same queries, in the same order.
    :returns: The comparison; an interval of no width when all differences are equal or there is one query.
    """
    from scipy import stats

    differences = np.asarray(new, np.float64) - np.asarray(old, np.float64)
    mean = float(differences.mean())
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    if spread == 0.0:
        return PairedDifference(mean=mean, low=mean, high=mean, p_value=1.0 if mean == 0.0 else 0.0)
    error = spread / np.sqrt(len(differences))
    half = float(stats.t.ppf(0.975, len(differences) - 1) * error)
    p_value = float(2 * stats.t.sf(abs(mean / error), len(differences) - 1))
    return PairedDifference(mean=mean, low=mean - half, high=mean + half, p_value=p_value)


def sign_flip_p_value(new: Sequence[float], old: Sequence[float], *, seed: int = 0) -> float:
    """Compare two systems by the paired permutation test, which assumes nothing about how differences are distributed.

    Where the systems are alike, each query's difference is as likely to be that as its opposite (Fisher's randomization
    test, as in Smucker, Allan, Carterette, CIKM 2007).

    :param new: One value a query.
    :param old: The values of the other system for the same queries, in the same order.
    :param seed: Seed of the changes of sign, of which there are 9,999, or all when there are fewer.
    :returns: The two-sided p-value of the mean difference; 1 when at most one query differs.
    """
    from scipy import stats

    differences = np.asarray(new, np.float64) - np.asarray(old, np.float64)
    differences = differences[differences != 0]
    if len(differences) < 2:
        return 1.0  # The opposite of one difference is as large.
    test = stats.permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        batch=_BLOCK,
        random_state=np.random.default_rng(seed),
    )
    return float(test.pvalue)


class SignFlips:
    """The same random changes of sign for all comparisons over the same queries.

    Where a program changes nothing real, each query's difference is as likely to be that as its opposite. Flipping the
    signs of all programs' differences together, query by query, shows what luck gives to the best of many programs that
    resemble one another (the maximum over a family: Westfall and Young, Resampling-based multiple testing, 1993).

    :param queries: How many queries.
    :param seed: Seed of the signs.
    :param flips: How many random changes of sign.
    """

    def __init__(self, queries: int, seed: int = 0, flips: int = 10_000) -> None:
        random = np.random.default_rng([seed, queries])
        self._signs = random.integers(0, 2, (flips, queries), dtype=np.int8) * np.int8(2) - np.int8(1)

    def sums(self, differences: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum differences over queries under each change of sign.

        :param differences: float64, shape (queries, programs).
        :returns: float64, shape (flips, programs).
        """
        blocks = range(0, len(self._signs), _BLOCK)
        return np.concatenate([self._signs[i : i + _BLOCK].astype(np.float64) @ differences for i in blocks])


def studentized(sums: NDArray[np.float64], squares: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    """Student's t of sums of paired differences; changes of sign leave the sums of squares as they are.

    :param sums: Sums of the differences over the queries.
    :param squares: Sums of their squares, of a shape that fits.
    :param queries: How many queries, 2 or more.
    :returns: float64, the shape of ``sums``: t with ``queries - 1`` degrees of freedom; minus infinity where all
        differences are 0, which speaks for nothing.
    """
    spread = np.maximum(queries * squares - sums**2, 1e-12 * queries * squares) / (queries - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = sums / np.sqrt(spread)
    return np.where(squares > 0, t, -np.inf)
