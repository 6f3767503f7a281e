"""What a search maximizes: Recall@100, nDCG@10, or the mean of both."""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.metrics import SMOOTH_RECALL, TITLES, PerQuery
from autoindex_haystack.evaluation.outcome import Evaluation
from autoindex_haystack.evaluation.significance import PairedDifference, paired_difference

Objective = Literal["recall@100", "ndcg@10", "weighted"]

OBJECTIVES: tuple[str, ...] = get_args(Objective)
"""The names of all objectives, the paper's first."""

_WEIGHTS: dict[str, dict[str, float]] = {
    "recall@100": {"recall@100": 1.0},
    "ndcg@10": {"ndcg@10": 1.0},
    "weighted": {"recall@100": 0.5, "ndcg@10": 0.5},
}


def objective_value(values: Mapping[str, float], objective: Objective) -> float:
    """Give the objective's value.

    :param values: Metric to value, of one query or on average.
    :param objective: The objective.
    :returns: The metric it names; for ``weighted`` the mean of Recall@100 and nDCG@10. Between 0 and 1.
    """
    return sum(weight * values[metric] for metric, weight in _WEIGHTS[objective].items())


def objective_name(objective: Objective) -> str:
    """Name an objective in a sentence."""
    return TITLES.get(objective, f"mean of {TITLES['recall@100']} and {TITLES['ndcg@10']}")


def objective_differences(new: Evaluation, old: Evaluation, objective: Objective) -> NDArray[np.float64]:
    """Compare two programs by the objective, query by query.

    :param new: The evaluation of the one.
    :param old: That of the other, on the same queries.
    :param objective: The objective.
    :returns: float64, shape (queries,): new minus old, in the order of the old one's queries.
    """
    return np.array(
        [objective_value(new.scores[q], objective) - objective_value(v, objective) for q, v in old.scores.items()]
    )


def objective_gain(new: Evaluation, old: Evaluation, objective: Objective) -> PairedDifference:
    """Compare two programs by the objective, with the interval of the difference.

    :param new: The evaluation of the one.
    :param old: That of the other, on the same queries.
    :param objective: The objective.
    :returns: The comparison by the paired t-test.
    """
    values = [objective_value(new.scores[query], objective) for query in old.scores]
    return paired_difference(values, [objective_value(before, objective) for before in old.scores.values()])


def evidence_differences(new: PerQuery, old: PerQuery, objective: Objective) -> NDArray[np.float64]:
    """Compare two programs by what shows a difference with few queries.

    Recall@100 changes for few queries, by jumps. Smooth recall moves with every rank of every relevant document, and a
    program that truly gains in Recall@100 gains in it as well. Where the objective looks at the top, nDCG@10 counts as
    much, each on the scale of its own root mean square.

    :param new: The scores of the one.
    :param old: Those of the other, on the same queries.
    :param objective: The objective.
    :returns: float64, shape (queries,).
    """
    smooth = _differences(new, old, SMOOTH_RECALL)
    return smooth if objective == "recall@100" else _scaled(smooth) + _scaled(_differences(new, old, "ndcg@10"))


def _differences(new: PerQuery, old: PerQuery, metric: str) -> NDArray[np.float64]:
    return np.array([new[query][metric] - values[metric] for query, values in old.items()])


def _scaled(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    scale = np.sqrt(np.mean(differences**2))
    return differences / scale if scale > 0 else differences
