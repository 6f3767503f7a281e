"""The metrics in bulk, from ranks of relevant documents; equal to what ir_measures says of the same rankings."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.metrics import DEPTH, METRICS, SMOOTH_RECALL, PerQuery, smooth_gains

_CUT = 10
_DISCOUNT = np.log2(np.arange(2, _CUT + 2))


class Judgments:
    """The judged documents of a fixed set of queries.

    :param queries: Their ids.
    :param qrels: Query id to document id to grade; every query has at least one grade above 0.
    :param ordinals: Document id to ordinal, for all judged documents that are in the corpus.
    :param documents: Number of documents.
    """

    documents: NDArray[np.int64]
    """int64, shape (judgments,): the relevant documents of the corpus, query by query."""

    bounds: NDArray[np.int64]
    """int64, shape (queries + 1,): where those of each query begin."""

    def __init__(
        self,
        queries: Sequence[str],
        qrels: Mapping[str, Mapping[str, int]],
        ordinals: Mapping[str, int],
        documents: int,
    ) -> None:
        self._queries = tuple(queries)
        judged = {
            row * documents + ordinals[document]: grade
            for row, query in enumerate(queries)
            for document, grade in qrels[query].items()
            if grade > 0 and document in ordinals
        }
        keys = np.array(sorted(judged), np.int64)
        self._rows, self.documents = np.divmod(keys, max(1, documents))
        self.bounds = np.searchsorted(self._rows, np.arange(len(queries) + 1))
        self._grades = np.array([judged[key] for key in keys.tolist()], np.float64)
        grades = [sorted((grade for grade in qrels[query].values() if grade > 0), reverse=True) for query in queries]
        self._relevant = np.array([len(row) for row in grades], np.float64)
        ideal = np.zeros((len(queries), _CUT))
        for place, row in zip(ideal, grades, strict=True):
            place[: len(row)] = row[:_CUT]
        self._ideal, self._ideal_binary = _dcg(ideal), _dcg(ideal > 0)

    def score(self, ranks: NDArray[np.int64]) -> PerQuery:
        """Score rankings.

        :param ranks: int64, shape (judgments,): the rank of each of :attr:`documents` for its query, from 1; 0 for
            those that are not found.
        :returns: For every query the value of every metric.
        """
        gains = np.zeros((len(self._queries), _CUT))
        top = (ranks > 0) & (ranks <= _CUT)
        gains[self._rows[top], ranks[top] - 1] = self._grades[top]
        hits = gains > 0
        found = {
            "recall@100": self._sum((ranks > 0) & (ranks <= DEPTH)) / self._relevant,
            "ndcg@10": _dcg(gains) / self._ideal,
            "ndcg_binary@10": _dcg(hits) / self._ideal_binary,
            "recall@10": hits.sum(axis=1) / self._relevant,
            "mrr@10": np.where(hits.any(axis=1), 1 / (hits.argmax(axis=1) + 1), 0.0),
            SMOOTH_RECALL: self._sum(smooth_gains(ranks)) / self._relevant,
        }
        names = (*METRICS, SMOOTH_RECALL)
        rows = zip(*(found[name].tolist() for name in names), strict=True)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(self._queries, rows, strict=True)}

    def _sum(self, values: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64, shape (queries,): sum over the relevant documents of each query."""
        return np.bincount(self._rows, values, len(self._queries)).astype(np.float64)


def _dcg(gains: NDArray[np.float64] | NDArray[np.bool_]) -> NDArray[np.float64]:
    """Discounted cumulative gain of the first ten, added up rank by rank; float64, shape (queries,)."""
    return np.asarray(np.cumsum(gains / _DISCOUNT, axis=1)[:, -1])
