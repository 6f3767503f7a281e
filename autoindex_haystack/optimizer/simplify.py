"""When an incumbent is shortened: a program that leaves something out of it need only lose nothing."""

from collections.abc import Sequence

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.metrics import ROUNDING
from autoindex_haystack.proposers import Outcome

_NDCG_LOSS = 0.001
"""What nDCG@10 may lose, in the mean over the validation queries."""


def simplifications(outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Outcome]:
    """Find the candidates that do as well as the incumbent with less.

    :param outcomes: The outcomes of one round.
    :param incumbent: The incumbent's evaluation.
    :returns: Those that only leave something out, do not lower the mean objective, lower nDCG@10 by 0.001 at most and
        do not have more index text; the smallest index first.
    """
    found = [
        (outcome.evaluation.chunk_bytes, -outcome.gain, place, outcome)
        for place, outcome in enumerate(outcomes)
        if outcome.candidate.simplifies
        and outcome.evaluation
        and outcome.gain is not None
        and outcome.gain >= -ROUNDING
        and outcome.evaluation.metrics["ndcg@10"] >= incumbent.metrics["ndcg@10"] - _NDCG_LOSS
        and outcome.evaluation.chunk_bytes <= incumbent.chunk_bytes
    ]
    return [outcome for *_, outcome in sorted(found, key=lambda row: row[:3])]
