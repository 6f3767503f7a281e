"""What a difference between two systems on the same queries is worth."""

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel


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
