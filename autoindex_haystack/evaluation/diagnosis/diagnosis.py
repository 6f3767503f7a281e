"""Why relevant documents are missed under one program."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autoindex_haystack.collection import Document, Qrels
from autoindex_haystack.evaluation.diagnosis.cures import Cures
from autoindex_haystack.evaluation.diagnosis.explain import explain
from autoindex_haystack.evaluation.diagnosis.postings import QueryPostings
from autoindex_haystack.evaluation.diagnosis.reasons import Miss, Reason
from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.retrieval import Ranking
from autoindex_haystack.retrieval.analyzers import tokenize

_MOST = 0.5
"""From this share of the query's weight on, a document is crowded out rather than short of terms."""


class Diagnosis:
    """Says why documents are missed under one program.

    :param postings: The queries' terms in the program's chunks.
    :param documents: The raw documents, in the order of ``postings.document_ids``.
    :param queries: Query ids and texts.
    :param qrels: Their judgments.

    ```python
    from autoindex_haystack.collection import Document
    from autoindex_haystack.evaluation.diagnosis import Diagnosis, Reason, count_terms
    from autoindex_haystack.retrieval import BM25Settings, ChunkTable

    documents = [Document("a", "Heated wings."), Document("b", "A cold engine.")]
    queries = {"q": "heating of engines"}
    chunks = ChunkTable.of_texts([document.text for document in documents], ["a", "b"])
    diagnosis = Diagnosis(count_terms(chunks, queries.values(), BM25Settings()), documents, queries, {"q": {"a": 1}})
    assert diagnosis.diagnose("q", "a").reason == Reason.VARIANT_FORM
    ```
    """

    def __init__(
        self, postings: QueryPostings, documents: Sequence[Document], queries: Mapping[str, str], qrels: Qrels
    ) -> None:
        self.postings = postings
        self._documents = documents
        self._queries = queries
        self._qrels = qrels
        self._last: tuple[str, Ranking] | None = None

    def diagnose(self, query_id: str, doc_id: str) -> Miss:
        """Say why a document is not among the first 100 of a query, or that it is.

        :param query_id: A query.
        :param doc_id: A document; it need not be judged.
        :returns: The reason with its figures.
        :raises KeyError: If there is no such query.
        """
        terms = tokenize(self._queries[query_id], self.postings.settings.analyzer)
        number = self.postings.number_of.get(doc_id)
        if number is None or not terms or not self._has_token(number):
            plain = Reason.NOT_IN_CORPUS if number is None else Reason.UNREACHABLE if terms else Reason.EMPTY_QUERY
            return Miss(query_id, doc_id, plain, explain(plain, {}), {"rank": None, "score": 0.0})
        ranking = self.ranking(query_id)
        place = np.flatnonzero(ranking.ordinals == number)
        rank = int(place[0]) + 1 if len(place) else None
        cut = float(ranking.scores[DEPTH - 1]) if len(ranking) >= DEPTH else 0.0
        cures = Cures(self.postings, terms, self._documents[number], number)
        reason = Reason.FOUND if rank is not None and rank <= DEPTH else _decide(cures, cut)
        figures: dict[str, Any] = {
            "rank": rank,
            "score": cures.score,
            "cut": cut,
            "tokens": cures.tokens,
            "average_tokens": self.postings.average,
            "covered": cures.covered,
            "terms": cures.terms,
            "if": {} if reason == Reason.FOUND else {str(cure): score for cure, score in cures.scores.items()},
        }
        if reason == Reason.DROWNED:
            figures["part"] = cures.part
        return Miss(query_id, doc_id, reason, explain(reason, figures), figures)

    def misses(self, query_id: str | None = None) -> list[Miss]:
        """Say it for every relevant document that is missed.

        :param query_id: The query; all queries when not given.
        :returns: One entry a missed document, in the order of the queries and of the document ids.
        :raises KeyError: If there is no such query.
        """
        found = []
        for query in [query_id] if query_id is not None else self._queries:
            inside = {self.postings.document_ids[i] for i in self.ranking(query).ordinals[:DEPTH].tolist()}
            relevant = sorted(document for document, grade in self._qrels[query].items() if grade > 0)
            found += [self.diagnose(query, document) for document in relevant if document not in inside]
        return found

    @property
    def relevant(self) -> int:
        """How many relevant documents the queries have, those that the corpus lacks too."""
        return sum(grade > 0 for query in self._queries for grade in self._qrels[query].values())

    def ranking(self, query_id: str) -> Ranking:
        """Rank all documents that share a term with a query; the last ranking is kept.

        :param query_id: The query.
        :returns: The ranking, best first.
        """
        if self._last is None or self._last[0] != query_id:
            self._last = query_id, self.postings.rank(self._queries[query_id], len(self.postings.document_ids))
        return self._last[1]

    def _has_token(self, document: int) -> bool:
        return bool(self.postings.postings.lengths[self.postings.chunks_of(document)].any())


def _decide(cures: Cures, cut: float) -> Reason:
    """The cure that lifts the document furthest above the cut; without one, how much of the query it has."""
    if not cures.coverable:
        return Reason.NO_SHARED_TERM
    enough = {reason: score for reason, score in cures.scores.items() if score > cut}
    if enough:
        return max(enough, key=lambda reason: (enough[reason], str(reason)))
    return Reason.CROWDED_OUT if cures.coverable >= _MOST else Reason.FEW_TERMS
