"""How far two engines agree on the same chunks: overlap of their rankings, differences of their scores.

What is measured is kept query by query, so that a difference can be looked up and explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from autoindex_haystack.retrieval.index import Index
from autoindex_haystack.retrieval.ranking import Ranking

DEPTHS = (10, 100)
"""How many of the first documents are compared."""


@dataclass(frozen=True)
class ScoreDifference:
    """Two scores of one document.

    :param document_id: The document.
    :param first: Its score in the first engine.
    :param second: Its score in the second.
    """

    document_id: str
    first: float
    second: float

    @property
    def absolute(self) -> float:
        """How far the scores are apart."""
        return abs(self.first - self.second)

    @property
    def relative(self) -> float:
        """How far they are apart as a share of the larger one."""
        return self.absolute / max(self.first, self.second)


@dataclass(frozen=True)
class QueryParity:
    """How far two engines agree on one query.

    :param overlap: Depth to the share of the first documents that both engines return, 0 to 1.
    :param shared: How many documents both return among the first of the greatest depth.
    :param absolute: The document whose scores are furthest apart; None when none is shared.
    :param relative: The same relative to the larger score.
    """

    overlap: dict[int, float]
    shared: int
    absolute: ScoreDifference | None
    relative: ScoreDifference | None


@dataclass(frozen=True)
class Parity:
    """How far two engines agree on a set of queries.

    :param queries: Query id to the agreement on it.
    """

    queries: dict[str, QueryParity] = field(default_factory=dict)

    def mean_overlap(self, depth: int) -> float:
        """Returns the mean overlap of the first ``depth`` documents; 1 without queries."""
        return fmean(query.overlap[depth] for query in self.queries.values()) if self.queries else 1.0

    def min_overlap(self, depth: int) -> float:
        """Returns the smallest overlap of the first ``depth`` documents; 1 without queries."""
        return min((query.overlap[depth] for query in self.queries.values()), default=1.0)

    @property
    def largest_absolute(self) -> tuple[str, ScoreDifference] | None:
        """The query and document whose scores are furthest apart; None when no document is shared."""
        found = [(name, query.absolute) for name, query in self.queries.items() if query.absolute]
        return max(found, key=lambda item: item[1].absolute, default=None)

    @property
    def largest_relative(self) -> tuple[str, ScoreDifference] | None:
        """The same relative to the larger of the two scores."""
        found = [(name, query.relative) for name, query in self.queries.items() if query.relative]
        return max(found, key=lambda item: item[1].relative, default=None)


def compare_indexes(first: Index, second: Index, queries: Mapping[str, str], depths: Sequence[int] = DEPTHS) -> Parity:
    """Ask two engines the same queries and compare what they return.

    :param first: An index.
    :param second: An index of another engine over the same chunks.
    :param queries: Query id to text.
    :param depths: How many of the first documents are compared.
    :returns: The agreement, query by query.
    :raises ValueError: If the indexes do not hold the same chunks of the same documents.

    ```python
    from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
    from autoindex_haystack.retrieval.parity import compare_indexes

    chunks = ChunkTable.of_texts(["a heated wing", "a cold engine"])
    first, second = (Bm25sIndex.build(chunks, BM25Settings(b=b)) for b in (0.75, 0.5))
    print(compare_indexes(first, second, {"q1": "wing"}).mean_overlap(10))
    ```
    """
    same_documents = list(first.document_ids) == list(second.document_ids)
    if not same_documents or not np.array_equal(first.documents, second.documents):
        msg = "the two indexes hold other chunks; build both from the same chunks"
        raise ValueError(msg)
    texts = list(queries.values())
    rankings = zip(
        queries, first.search_documents(texts, max(depths)), second.search_documents(texts, max(depths)), strict=True
    )
    return Parity({query: _compare(one, other, first.document_ids, depths) for query, one, other in rankings})


def _compare(first: Ranking, second: Ranking, document_ids: Sequence[str], depths: Sequence[int]) -> QueryParity:
    """Compare two rankings of one query."""
    shared, at_first, at_second = np.intersect1d(first.ordinals, second.ordinals, return_indices=True)
    differences = [
        ScoreDifference(document_ids[document], one, other)
        for document, one, other in zip(
            shared.tolist(), first.scores[at_first].tolist(), second.scores[at_second].tolist(), strict=True
        )
    ]
    return QueryParity(
        overlap={depth: _overlap(first, second, depth) for depth in depths},
        shared=len(shared),
        absolute=max(differences, key=lambda difference: difference.absolute, default=None),
        relative=max(differences, key=lambda difference: difference.relative, default=None),
    )


def _overlap(first: Ranking, second: Ranking, depth: int) -> float:
    """The share of the first documents that both have; two empty rankings agree."""
    one, other = first.ordinals[:depth], second.ordinals[:depth]
    longer = max(len(one), len(other))
    return len(np.intersect1d(one, other)) / longer if longer else 1.0
