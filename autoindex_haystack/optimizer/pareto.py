"""The programs of a run that no other one beats in everything: quality against size and time."""

from collections.abc import Iterable, Mapping

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.runs import ParetoPoint

_SAME_TIME = 1.1
"""Times that differ by less than a tenth are the same: the machine does other things as well."""


def pareto_list(evaluations: Iterable[Evaluation], ideas: Mapping[str, str]) -> list[ParetoPoint]:
    """Find the programs that no other one beats in Recall@100, nDCG@10, index size and indexing time.

    :param evaluations: All evaluations of a run on the validation queries.
    :param ideas: A program's hash to its idea.
    :returns: The programs, that with the best Recall@100 first. Of equal ones only the first that was tried.
    """
    points = [
        ParetoPoint(
            program_sha256=evaluation.program_sha256,
            idea=ideas.get(evaluation.program_sha256, "the baseline"),
            recall=evaluation.metrics["recall@100"],
            ndcg=evaluation.metrics["ndcg@10"],
            growth=evaluation.growth,
            seconds=evaluation.indexing_seconds,
        )
        for evaluation in evaluations
    ]
    kept = [
        point
        for i, point in enumerate(points)
        if not any(_beats(other, point, earlier=k < i) for k, other in enumerate(points) if k != i)
    ]
    return sorted(kept, key=lambda point: (-point.recall, -point.ndcg, point.growth))


def _beats(one: ParetoPoint, other: ParetoPoint, *, earlier: bool) -> bool:
    better = (one.recall, one.ndcg, -one.growth)
    worse = (other.recall, other.ndcg, -other.growth)
    no_worse = all(a >= b for a, b in zip(better, worse, strict=True)) and one.seconds <= _SAME_TIME * other.seconds
    return no_worse and (better != worse or earlier)
