"""Two ways from a program's chunks to rankings and figures: an engine's index, or reading without an index."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation.diagnosis import QueryPostings, count_terms
from autoindex_haystack.evaluation.metrics import SMOOTH_DEPTH, SMOOTH_RECALL, PerQuery, score_queries, smooth_recall
from autoindex_haystack.evaluation.reachable import chunks_with_token
from autoindex_haystack.retrieval import BM25Settings, Ranking, Retriever, get_retriever
from autoindex_haystack.sandbox import Block, document_digests, join_blocks

if TYPE_CHECKING:
    from autoindex_haystack.evaluation.exact import ExactEvaluator

Tell = Callable[[str], object]
"""Called with the name of the step that begins."""


_READABLE = "bm25s"
"""The engine whose rankings are made without an index."""

_WORTH_READING = 4_000_000
"""Bytes of text, over all evaluations expected, from which on reading without an index pays for loading its code."""

_WORTH_COMPILING = 50_000_000
"""The same when the code must be compiled first, which takes as long as to index these."""


def is_worth_reading(backend: str, analyzer: str, size: int) -> bool:
    """Whether reading without an index can be done and pays.

    :param backend: Name of the engine.
    :param analyzer: Name of the analyzer.
    :param size: Bytes of text, over all evaluations expected.
    """
    if backend != _READABLE or size < _WORTH_READING:
        return False
    if size >= _WORTH_COMPILING:
        return True
    from autoindex_haystack.evaluation.exact import is_compiled

    return is_compiled(analyzer)


def text_size(documents: Iterable[Document]) -> int:
    """Returns the bytes of all titles and texts, as UTF-8.

    :param documents: The documents.
    """
    texts = (text for document in documents for text in (document.text, str(document.metadata.get("title") or "")))
    return sum(len(text) if text.isascii() else len(text.encode("utf-8")) for text in texts)


class ChunkReading(Protocol):
    """Takes a program's chunks block by block and then knows all that an evaluation says of them."""

    digests: NDArray[np.uint64]
    """uint64, shape (documents,): a hash of each document's chunks."""

    def take(self, block: Block) -> None:
        """Take a block of documents that is done."""

    def postings(self) -> QueryPostings:
        """Returns the queries' terms in what was taken so far; more may be taken afterwards."""

    def finish(self, tell: Tell) -> NDArray[np.bool_]:
        """Make all that was taken ready to be ranked; returns for each document whether it has a token."""

    def rank(self) -> tuple[list[Ranking], PerQuery]:
        """Returns the ranking of documents for each query, and the figures."""

    @property
    def size(self) -> tuple[int, int]:
        """Number of chunks and their bytes; after :meth:`finish`."""


class IndexReading:
    """Builds the index of an engine.

    :param backend: Name of the engine.
    :param settings: BM25 parameters and analyzer.
    :param document_ids: The ids of all documents.
    :param queries: Query id to text.
    :param qrels: Query id to document id to grade.
    """

    def __init__(
        self,
        backend: str,
        settings: BM25Settings,
        document_ids: Sequence[str],
        queries: Mapping[str, str],
        qrels: Mapping[str, Mapping[str, int]],
    ) -> None:
        self.digests = np.zeros(len(document_ids), np.uint64)
        self._backend = backend
        self._settings = settings
        self._ids = document_ids
        self._queries = queries
        self._qrels = qrels
        self._blocks: list[Block] = []

    def take(self, block: Block) -> None:
        self._blocks.append(block)
        self.digests[np.array(block.ordinals)] = document_digests(block)

    def postings(self) -> QueryPostings:
        chunks, _ = join_blocks(self._blocks, self._ids)
        return count_terms(chunks, self._queries.values(), self._settings)

    def finish(self, tell: Tell) -> NDArray[np.bool_]:
        self._chunks, _ = join_blocks(self._blocks, self._ids)
        tell("indexing")
        found = chunks_with_token(self._chunks, self._settings.analyzer)
        self._index = get_retriever(self._backend).build(self._chunks, self._settings)
        return found

    def rank(self) -> tuple[list[Ranking], PerQuery]:
        with self._index as index:
            return rank_and_score(index, self._queries, self._qrels)

    @property
    def size(self) -> tuple[int, int]:
        return len(self._chunks), self._chunks.nbytes


class ExactReading:
    """Reads the bytes while the program runs; see :mod:`autoindex_haystack.evaluation.exact`.

    :param exact: The evaluator of these queries.
    """

    def __init__(self, exact: "ExactEvaluator") -> None:
        self._exact = exact
        self._reading = exact.reading()
        self.digests = self._reading.digests

    def take(self, block: Block) -> None:
        self._reading.add(np.array(block.ordinals, np.int64), block.counts, block.texts)

    def postings(self) -> QueryPostings:
        return self._exact.postings(self._reading.finished())

    def finish(self, tell: Tell) -> NDArray[np.bool_]:
        tell("reading chunks")
        self._scan = self._reading.finished()
        found = np.zeros(len(self.digests), np.bool_)
        found[self._scan.owners[self._scan.lengths > 0]] = True
        return found

    def rank(self) -> tuple[list[Ranking], PerQuery]:
        return self._exact.judge(self._scan, self.digests)

    @property
    def size(self) -> tuple[int, int]:
        return len(self._scan), self._scan.nbytes


def hash_block(block: Block) -> NDArray[np.uint64]:
    """Returns uint64, shape (documents,): for each document what an :class:`ExactReading` has in its digests.

    :param block: A block that is done.
    """
    from autoindex_haystack.evaluation.exact import hash_documents

    return hash_documents(block.counts, block.texts)[:, 0]


def rank_and_score(
    index: Retriever, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> tuple[list[Ranking], PerQuery]:
    """Rank documents with an index and score the rankings.

    :param index: The index, or whatever ranks documents.
    :param queries: Query id to text.
    :param qrels: Query id to document id to grade.
    :returns: The ranking of documents for each query, and the figures.
    """
    rankings = index.search_documents(list(queries.values()), SMOOTH_DEPTH)
    ids = index.document_ids
    ranked = {
        query: [ids[document] for document in ranking.ordinals.tolist()]
        for query, ranking in zip(queries, rankings, strict=True)
    }
    scores = score_queries(ranked, qrels)
    for query, documents in ranked.items():
        relevant = {document for document, grade in qrels[query].items() if grade > 0}
        ranks = [rank for rank, document in enumerate(documents, start=1) if document in relevant]
        scores[query][SMOOTH_RECALL] = smooth_recall(np.array(ranks, np.int64), len(relevant))
    return rankings, scores
