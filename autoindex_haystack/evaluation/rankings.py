"""Rankings as arrays; names and scores become Python objects for the queries that somebody looks at."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.retrieval import Ranking


class NamedRankings(Mapping[str, list[tuple[str, float]]]):
    """From a query's id to its best documents' ids and scores, best first, as deep as the metrics of tables look.

    :param queries: Ids of the queries.
    :param rankings: The ranking of documents for each.
    :param document_ids: The ids of all documents.
    """

    def __init__(self, queries: Sequence[str], rankings: Sequence[Ranking], document_ids: Sequence[str]) -> None:
        self._rankings = {
            query: (ranking.ordinals[:DEPTH].copy(), ranking.scores[:DEPTH].copy())
            for query, ranking in zip(queries, rankings, strict=True)
        }
        self._ids = document_ids

    @property
    def arrays(self) -> Mapping[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Query id to the ordinals and scores of its best documents, best first."""
        return self._rankings

    def __getitem__(self, query: str) -> list[tuple[str, float]]:
        ordinals, scores = self._rankings[query]
        return [(self._ids[d], s) for d, s in zip(ordinals.tolist(), scores.tolist(), strict=True)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries)"
