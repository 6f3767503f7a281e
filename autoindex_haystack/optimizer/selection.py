"""Which candidates count as improvements and which of them is best."""

from collections.abc import Sequence
from dataclasses import replace

from autoindex_haystack.evaluation import OBJECTIVE, Evaluation
from autoindex_haystack.proposers import Outcome

TOLERANCE = 1e-5
"""The paper's τ: the gain in mean Recall@100 that a candidate needs."""


def compare(outcome: Outcome, evaluation: Evaluation, incumbent: Evaluation) -> Outcome:
    """Fill in how a candidate's evaluation compares with the incumbent's.

    :param outcome: The outcome of the candidate.
    :param evaluation: The candidate's evaluation.
    :param incumbent: The incumbent's, on the same queries.
    :returns: The outcome with evaluation, gain, fixed and broken queries.
    """
    differences = {
        query: values[OBJECTIVE] - incumbent.scores[query][OBJECTIVE] for query, values in evaluation.scores.items()
    }
    return replace(
        outcome,
        evaluation=evaluation,
        gain=evaluation.objective - incumbent.objective,
        fixed=tuple(query for query, difference in differences.items() if difference > 0),
        broken=tuple(query for query, difference in differences.items() if difference < 0),
    )


def improvements(outcomes: Sequence[Outcome], tolerance: float) -> list[Outcome]:
    """Find the candidates whose gain reaches the tolerance, the best first.

    :param outcomes: The outcomes of one iteration.
    :param tolerance: The smallest gain that counts.
    :returns: The improvements. Of equal ones that with the better nDCG@10, then the smaller index, goes first.
    """
    found = [outcome for outcome in outcomes if outcome.gain is not None and outcome.gain >= tolerance]
    return sorted(found, key=_rank, reverse=True)


def _rank(outcome: Outcome) -> tuple[float, float, int]:
    assert outcome.evaluation
    metrics = outcome.evaluation.metrics
    return round(outcome.evaluation.objective, 12), round(metrics["ndcg@10"], 12), -outcome.evaluation.chunk_bytes
