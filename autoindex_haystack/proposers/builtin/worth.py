"""What figures are worth to a search: its objective, and a part of what the objective leaves out.

Everything here is linear, so that it says of changes what it says of figures.
"""

from collections.abc import Mapping

from autoindex_haystack.evaluation.objective import Objective, objective_value

_BESIDE = 0.25
"""What the metric that is not maximized counts beside the objective: it must not get worse, and tells of luck."""


def worth(metrics: Mapping[str, float], objective: Objective) -> float:
    """Returns what figures, or their changes, are worth.

    :param metrics: Recall@100 and nDCG@10, by name.
    :param objective: What the search maximizes.
    """
    value = objective_value(metrics, objective)
    return value + _BESIDE * (metrics["recall@100"] + metrics["ndcg@10"] - value)
