"""The metrics in bulk, from ordinals of documents; equal to what ir_measures says of the same rankings."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.metrics import DEPTH, METRICS, SMOOTH_DEPTH, SMOOTH_RECALL, PerQuery, smooth_recall
from autoindex_haystack.retrieval.ranking import Ranking

_CUT = 10
_DISCOUNT = np.log2(np.arange(2, _CUT + 2))


class Judgments:
    """The judged documents of a fixed set of queries.

    :param queries: Their ids.
    :param qrels: Query id to document id to grade; every query has at least one grade above 0.
    :param ordinals: Document id to ordinal, for all judged documents that are in the corpus.
    :param documents: Number of documents.
    """

    def __init__(
        self,
        queries: Sequence[str],
        qrels: Mapping[str, Mapping[str, int]],
        ordinals: Mapping[str, int],
        documents: int,
    ) -> None:
        self._queries = tuple(queries)
        self._documents = documents
        judged = {
            row * documents + ordinals[document]: grade
            for row, query in enumerate(queries)
            for document, grade in qrels[query].items()
            if grade > 0 and document in ordinals
        }
        self._keys = np.array(sorted(judged), np.int64)
        self._grades = np.array([judged[key] for key in self._keys.tolist()], np.float64)
        grades = [sorted((grade for grade in qrels[query].values() if grade > 0), reverse=True) for query in queries]
        self._relevant = np.array([len(row) for row in grades], np.float64)
        ideal = np.zeros((len(queries), _CUT))
        for place, row in zip(ideal, grades, strict=True):
            place[: len(row)] = row[:_CUT]
        self._ideal, self._ideal_binary = _dcg(ideal), _dcg(ideal > 0)

    def score(self, rankings: Sequence[Ranking]) -> PerQuery:
        """Score rankings.

        :param rankings: One of documents for each query.
        :returns: For every query the value of every metric.
        """
        gains = self._gains(rankings)
        hits = gains > 0
        first = hits[:, :_CUT].argmax(axis=1)
        found = {
            "recall@100": hits[:, :DEPTH].sum(axis=1) / self._relevant,
            "ndcg@10": _dcg(gains) / self._ideal,
            "ndcg_binary@10": _dcg(hits) / self._ideal_binary,
            "recall@10": hits[:, :_CUT].sum(axis=1) / self._relevant,
            "mrr@10": np.where(hits[:, :_CUT].any(axis=1), 1 / (first + 1), 0.0),
        }
        names = (*METRICS, SMOOTH_RECALL)
        found[SMOOTH_RECALL] = np.array(
            [smooth_recall(np.flatnonzero(row) + 1, int(n)) for row, n in zip(hits, self._relevant, strict=True)]
        )
        rows = zip(*(found[name].tolist() for name in names), strict=True)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(self._queries, rows, strict=True)}

    def _gains(self, rankings: Sequence[Ranking]) -> NDArray[np.float64]:
        """float64, shape (queries, SMOOTH_DEPTH): the grade at each rank, 0 where nothing relevant is."""
        gains = np.zeros((len(rankings), SMOOTH_DEPTH))
        for row, ranking in enumerate(rankings):
            keys = row * self._documents + ranking.ordinals[:SMOOTH_DEPTH]
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            if len(self._keys):
                gains[row, : len(keys)] = np.where(self._keys[places] == keys, self._grades[places], 0)
        return gains


def _dcg(gains: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
    """Discounted cumulative gain of the first ten, added up rank by rank; float64, shape (queries,)."""
    return np.asarray(np.cumsum(gains[:, :_CUT] / _DISCOUNT, axis=1)[:, -1])
