"""What a gain is worth: the smallest that so many queries can show, and the gain without the luck of being chosen.

The best of many programs was chosen with the very queries that tell its gain, so its gain there is too high on average
(the winner's curse). Two sources of that are estimated for each adopted program and taken off:

- **the mark**: the guarded rule adopts only what exceeds a mark, so luck helps whatever passes. With t normal around
  its true value and known to exceed the mark, the true value is estimated by the mean of its conditional likelihood
  (Ghosh, Zou, Wright: Estimating odds ratios in genome scans, American Journal of Human Genetics 82, 2008), over values
  that are no loss;
- **the choice**: the best of several is taken. Choosing again on resampled queries tells what the chosen one gains on
  the queries that were left out (bootstrap bias corrected cross-validation: Tsamardinos, Greasidou, Borboudakis,
  Machine Learning 107, 2018).

``benchmarks/selection.py`` compares the corrected gains with the true ones.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation import SMOOTH_RECALL, Evaluation
from autoindex_haystack.evaluation.objective import (
    Objective,
    evidence_differences,
    objective_differences,
    objective_name,
)
from autoindex_haystack.optimizer.acceptance import Verdict
from autoindex_haystack.optimizer.luck import ALPHA, spent
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.proposers import Outcome
from autoindex_haystack.wording import counted

FEW_QUERIES = 50
"""With fewer validation queries a user is told that most gains cannot be shown."""


def few_queries_note(queries: int, detectable: float) -> str | None:
    """Warn when validation queries are few.

    :param queries: How many there are.
    :param detectable: The gain that they can show.
    :returns: A sentence; None when they are enough.
    """
    if queries >= FEW_QUERIES:
        return None
    shown = f"only a gain of about {detectable:.2f} or more" if math.isfinite(detectable) else "no gain"
    return (
        f"{counted(queries, 'validation query is', 'validation queries are')} few and can show {shown}; with "
        f"{FEW_QUERIES} or more, smaller gains can be told from luck."
    )


def nothing_left_note(iteration: int, objective: Objective) -> str:
    """Say that a search has ended as nothing is left to gain.

    :param iteration: The iteration that it did not begin.
    :param objective: What it maximized.
    :returns: A sentence.
    """
    ended = "There was nothing to search for" if iteration == 1 else f"The search ended before iteration {iteration}"
    return f"{ended}: the {objective_name(objective)} on the validation queries is 1, so that nothing is left to gain."


_SPREAD = 0.4
"""Standard deviation of the differences in smooth recall between a program and the baseline, as a share of that of the
baseline over queries: about what adding word forms does on four collections (0.33 to 0.47)."""

_POWER = 0.8
_RESAMPLES = 1_000


def detectable_gain(baseline: Evaluation, settings: SearchSettings) -> float:
    """Tell before the search which true gain in Recall@100 the validation queries would show in four of five runs.

    The gain is the first round's mark plus what the power needs, in standard errors of smooth recall. A gain in smooth
    recall is taken for one as large in the objective, as it is on average.

    :param baseline: The baseline's evaluation on the validation queries.
    :param settings: How the search is done.
    :returns: The gain, on the objective's scale; infinite where they can show none: there are too few, or the
        baseline does equally well on all.
    """
    from scipy import stats

    values = np.array([scores[SMOOTH_RECALL] for scores in baseline.scores.values()])
    queries = len(values)
    # A test by changes of sign cannot give less than the share of one of all of them.
    if queries < 2 or 0.5**queries > ALPHA or not values.std():
        return math.inf
    level = spent(1, max(1, settings.iterations)) / settings.candidates
    # With few queries no t exceeds the mark more often than all changes of sign allow.
    level = max(level, 0.5**queries)
    standard_errors = stats.t.isf(level, queries - 1) + stats.norm.ppf(_POWER)
    return float(standard_errors * _SPREAD * values.std(ddof=1) / math.sqrt(queries))


def luck_of_a_step(
    winner: Verdict,
    verdicts: Sequence[Verdict],
    outcomes: Sequence[Outcome],
    incumbent: Evaluation,
    objective: Objective,
) -> float:
    """Estimate by how much the gain of an adopted program over the incumbent before it is too high.

    :param winner: The verdict on it.
    :param verdicts: All verdicts of the round.
    :param outcomes: All its outcomes.
    :param incumbent: The evaluation of the incumbent before it.
    :param objective: What the search maximizes.
    :returns: What to take off the gain.
    """
    assert winner.outcome.evaluation
    # The guarded rule chooses among those that passed; without a mark the choice was among all.
    passed = [verdict.outcome for verdict in verdicts if verdict.accepted]
    rivals = outcomes if winner.mark is None else passed
    gains = [objective_differences(o.evaluation, incumbent, objective) for o in rivals if o.evaluation]
    luck = luck_of_the_choice(np.array(gains))
    if winner.mark is None or winner.statistic is None or not math.isfinite(winner.mark):
        return luck
    own = objective_differences(winner.outcome.evaluation, incumbent, objective)
    evidence = evidence_differences(winner.outcome.evaluation.scores, incumbent.scores, objective)
    return luck + luck_of_the_mark(own, evidence, winner.statistic, winner.mark)


def luck_of_the_mark(gains: NDArray[np.float64], evidence: NDArray[np.float64], statistic: float, mark: float) -> float:
    """Estimate by how much a gain is too high because its evidence had to exceed a mark.

    :param gains: float64, shape (queries,): the program's differences in the objective.
    :param evidence: float64, shape (queries,): the differences that were tested.
    :param statistic: Their Student's t.
    :param mark: What it had to exceed.
    :returns: What to take off the mean gain: the excess of t, as it shows in the objective.
    """
    excess = max(0.0, statistic - _true_value(statistic, mark))
    spread = evidence.std(ddof=1)
    if not spread:
        return 0.0
    slope = np.cov(gains, evidence)[0, 1] / spread**2
    return float(slope * spread / math.sqrt(len(evidence)) * excess)


def luck_of_the_choice(gains: NDArray[np.float64], seed: int = 0) -> float:
    """Estimate by how much the best mean gain of several programs is too high because it is the best.

    :param gains: float64, shape (programs, queries): the differences of all that might have been chosen.
    :param seed: Seed of the resampling.
    :returns: What to take off the best one's mean.
    """
    if len(gains) < 2:
        return 0.0
    queries = gains.shape[1]
    weights = np.random.default_rng([seed, queries]).multinomial(queries, np.full(queries, 1 / queries), _RESAMPLES)
    best = (weights @ gains.T).argmax(axis=1)
    left_out = weights == 0
    counts = left_out.sum(axis=1)
    elsewhere = (left_out @ gains.T)[np.arange(_RESAMPLES), best] / np.maximum(counts, 1)
    return float(gains.mean(axis=1).max() - elsewhere[counts > 0].mean()) if counts.any() else 0.0


def _true_value(statistic: float, mark: float) -> float:
    """Estimate the mean, 0 or more, of a normal variable of unit variance that was seen as it exceeds a mark."""
    from scipy import stats

    values = np.linspace(0.0, statistic + 4.0, 2001)
    log_likelihood = stats.norm.logpdf(statistic - values) - stats.norm.logcdf(values - mark)
    return float(np.average(values, weights=np.exp(log_likelihood - log_likelihood.max())))
