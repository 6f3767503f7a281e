"""How candidates compare with the incumbent and with one another."""

from collections.abc import Iterable
from dataclasses import replace

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.objective import Objective, objective_differences, objective_value
from autoindex_haystack.proposers import Outcome

TOLERANCE = 1e-5
"""The paper's τ: the gain in the mean objective that a candidate needs."""


def compare(outcome: Outcome, evaluation: Evaluation, incumbent: Evaluation, objective: Objective) -> Outcome:
    """Fill in how a candidate's evaluation compares with the incumbent's.

    :param outcome: The outcome of the candidate.
    :param evaluation: The candidate's evaluation.
    :param incumbent: The incumbent's, on the same queries.
    :param objective: What the search maximizes.
    :returns: The outcome with evaluation, gain, fixed and broken queries.
    """
    differences = dict(
        zip(incumbent.scores, objective_differences(evaluation, incumbent, objective).tolist(), strict=True)
    )
    gain = objective_value(evaluation.metrics, objective) - objective_value(incumbent.metrics, objective)
    return replace(
        outcome,
        evaluation=evaluation,
        gain=gain,
        fixed=tuple(query for query, difference in differences.items() if difference > 0),
        broken=tuple(query for query, difference in differences.items() if difference < 0),
    )


def improvements(outcomes: Iterable[Outcome], tolerance: float, objective: Objective) -> list[Outcome]:
    """Find the candidates whose gain reaches the tolerance, the best first; only those evaluated on everything count.

    :param outcomes: The outcomes of one iteration.
    :param tolerance: The smallest gain that counts.
    :param objective: What the search maximizes.
    :returns: The improvements. Of equal ones that with the better nDCG@10, then the smaller index, goes first.
    """
    found = [
        outcome for outcome in outcomes if outcome.evaluation and outcome.gain is not None and outcome.gain >= tolerance
    ]
    return sorted(found, key=lambda outcome: _rank(outcome, objective), reverse=True)


def _rank(outcome: Outcome, objective: Objective) -> tuple[float, float, int]:
    assert outcome.evaluation
    metrics = outcome.evaluation.metrics
    value = objective_value(metrics, objective)
    return round(value, 12), round(metrics["ndcg@10"], 12), -outcome.evaluation.chunk_bytes
