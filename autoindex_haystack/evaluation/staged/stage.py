"""The documents of a stage: all that are judged, those that stand in their way now, and a random sample of the rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NEAR = 0.5
"""Share of a stage, beside the judged documents, for those that an earlier ranking has; the rest is the sample."""


@dataclass(frozen=True)
class Stage:
    """A part of a corpus that stands for all of it.

    :param ordinals: int64, shape (stage,): the documents, rising.
    :param weights: float64, shape (stage,): how many documents of the corpus each stands for, itself included.
    """

    ordinals: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ordinals)


def choose_stage(
    document_ids: Sequence[str],
    judged: Iterable[str],
    rankings: Mapping[str, Sequence[tuple[str, float]]],
    size: int,
    seed: int = 0,
) -> Stage:
    """Choose the documents of a stage.

    Judged documents are in whatever the size, and leave at least half of it to others. The documents that were ranked
    best for some query come next, rank by rank, until half of the rest is theirs. Of all others a seeded random sample
    is drawn, each of which stands for as many as there are for one drawn.

    :param document_ids: The ids of all documents.
    :param judged: Ids of the judged documents; those that are not in the corpus are left out.
    :param rankings: Query id to the best documents' ids and scores, under the program to be beaten.
    :param size: How many documents; more if there are many judged ones.
    :param seed: Seed of the sample.
    :returns: The stage.
    """
    number_of = {document: i for i, document in enumerate(document_ids)}
    weights = np.zeros(len(document_ids))
    weights[[number_of[document] for document in judged if document in number_of]] = 1
    room = max(size - int(weights.sum()), size // 2)
    near = int(_NEAR * room)
    for document in _by_rank(rankings):
        if near == 0:
            break
        if weights[number_of[document]] == 0:
            weights[number_of[document]] = 1
            near -= 1
            room -= 1
    others = np.flatnonzero(weights == 0)
    drawn = np.random.default_rng(seed).permutation(others)[:room]
    if len(drawn):
        weights[drawn] = len(others) / len(drawn)
    ordinals = np.flatnonzero(weights)
    return Stage(ordinals, weights[ordinals])


def _by_rank(rankings: Mapping[str, Sequence[tuple[str, float]]]) -> Iterable[str]:
    """The documents of all rankings: the first of each, the second of each, and so on."""
    deepest = max((len(ranking) for ranking in rankings.values()), default=0)
    return (ranking[rank][0] for rank in range(deepest) for ranking in rankings.values() if rank < len(ranking))
