"""What a program's figures cannot exceed, whatever its chunks of the documents that it has not been run over are.

A relevant document is never found when no chunk of it shares a term with the query, nor when 100 others are sure to
stand before it: those that have, for each of its chunks, a chunk with every term of the query at least as often and
with no more tokens. BM25 rises with how often a term occurs and falls with the length, whatever the average length and
the document frequencies turn out to be, and does so in floating point too; documents of equal scores stand in the order
of their ids, so only those with smaller ids count.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.diagnosis import QueryPostings
from autoindex_haystack.evaluation.metrics import DEPTH, PerQuery, ideal_dcg
from autoindex_haystack.retrieval.analyzers import tokenize


def most_scores(
    postings: QueryPostings, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> PerQuery:
    """Find out how much Recall@100 and nDCG@10 each query can have at most.

    :param postings: The queries' terms in the program's chunks of a part of the corpus, in which all relevant documents
        are that the corpus has.
    :param queries: Query id to text.
    :param qrels: Their judgments.
    :returns: Query id to metric to the most that it can be.
    """
    most = {}
    for query, text in queries.items():
        relevant = {document: grade for document, grade in qrels[query].items() if grade > 0}
        matches = _Matches(postings, text)
        numbers = {document: postings.number_of[document] for document in relevant if document in postings.number_of}
        found = [relevant[document] for document, number in numbers.items() if matches.may_be_found(number)]
        most[query] = {
            "recall@100": len(found) / len(relevant),
            "ndcg@10": ideal_dcg(found) / ideal_dcg(relevant.values()),
        }
    return most


class _Matches:
    """The chunks that share a term with a query.

    :param postings: The postings of its terms.
    :param query: The query.
    """

    def __init__(self, postings: QueryPostings, query: str) -> None:
        self._order = postings.order
        terms = [postings.row(term) for term in dict.fromkeys(tokenize(query, postings.settings.analyzer))]
        inner = postings.postings
        chunks = np.unique(np.concatenate([inner.chunks[row] for row in terms])) if terms else np.empty(0, np.int32)
        # float32, shape (terms, chunks): how often each term occurs in each.
        self._frequencies = np.zeros((len(terms), len(chunks)), np.float32)
        for times, row in zip(self._frequencies, terms, strict=True):
            times[np.searchsorted(chunks, inner.chunks[row])] = inner.frequencies[row]
        self._lengths = inner.lengths[chunks]
        self._documents = postings.documents[chunks]

    def may_be_found(self, document: int) -> bool:
        """Whether a document may be among the best 100."""
        own = np.flatnonzero(self._documents == document)
        if not len(own):
            return False
        earlier = self._order[self._documents] < self._order[document]
        before: NDArray[np.int64] | None = None
        for chunk in own:
            shorter = earlier & (self._lengths <= self._lengths[chunk])
            ahead = shorter & (self._frequencies >= self._frequencies[:, [chunk]]).all(axis=0)
            documents = np.unique(self._documents[ahead])
            before = documents if before is None else np.intersect1d(before, documents, assume_unique=True)
            if len(before) < DEPTH:
                return True
        return False
