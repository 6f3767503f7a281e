"""The exact evaluator: rankings of a fixed set of queries without an index, at the speed of reading.

Of all chunks only the lengths and the postings of the queries' terms are needed. They are found in one pass over the
bytes, by compiled code, while the program still runs; scores, order and metrics are those of the bm25s engine.
Nothing here knows of programs. Importing it loads numba.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

from autoindex_haystack.evaluation.diagnosis import QueryPostings
from autoindex_haystack.evaluation.exact.compiled import is_kept
from autoindex_haystack.evaluation.exact.hashing import hash_documents
from autoindex_haystack.evaluation.exact.judgments import Judgments
from autoindex_haystack.evaluation.exact.memory import Memory
from autoindex_haystack.evaluation.exact.piece_scanner import PieceScanner
from autoindex_haystack.evaluation.exact.pieces import count_pieces
from autoindex_haystack.evaluation.exact.reading import Reading
from autoindex_haystack.evaluation.exact.scan import Scan, Scanner, WordScanner, cores
from autoindex_haystack.evaluation.exact.scoring import Ranked, Scorer, WeightedPostings, best_chunks
from autoindex_haystack.evaluation.exact.terms import QueryTerms
from autoindex_haystack.evaluation.exact.words import scan_words
from autoindex_haystack.evaluation.metrics import DEPTH, SMOOTH_DEPTH, PerQuery
from autoindex_haystack.retrieval import BM25Settings, Ranking
from autoindex_haystack.retrieval.lucene_model import Departures, Postings

__all__ = ["ExactEvaluator", "Reading", "Scan", "hash_documents", "is_compiled", "scanner_for"]

_JUDGED = 64
"""Outputs of programs of which rankings and figures are remembered."""

_KEPT_BYTES = 256 << 20
"""Bytes of what was read of whole outputs that are kept, to say more of them later; the last always is."""


_WORDS = "bm25s"
"""The analyzer that is compiled; for the others Python is asked once for each piece of text."""


def is_compiled(analyzer: str) -> bool:
    """Whether the code was compiled before on this machine; otherwise its first use takes some seconds.

    :param analyzer: The analyzer that is to be used.
    """
    return is_kept(best_chunks) and is_kept(scan_words if analyzer == _WORDS else count_pieces)


def scanner_for(terms: Sequence[str], analyzer: str) -> Scanner:
    """Make what reads texts.

    :param terms: The terms that are wanted; their numbers count from 0.
    :param analyzer: The analyzer's name.
    """
    return WordScanner(terms) if analyzer == _WORDS else PieceScanner(terms, analyzer)


class ExactEvaluator:
    """Scores chunks of one corpus for a fixed set of queries. Close it after use.

    :param queries: Query id to text.
    :param qrels: Query id to document id to grade, for these queries.
    :param settings: BM25 parameters and analyzer.
    :param document_ids: The ids of all documents.
    :param document_order: int64, shape (documents,): rank of each document's id by code point.
    :param departures: Where Lucene departs from exact BM25, to score as Lucene does and as the bm25s engine with
        Lucene's norms; exact BM25 when not given.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        qrels: Mapping[str, Mapping[str, int]],
        settings: BM25Settings,
        document_ids: Sequence[str],
        document_order: NDArray[np.int64],
        departures: Departures | None = None,
    ) -> None:
        terms = QueryTerms.of(list(queries.values()), settings.analyzer)
        judged = {document for query in queries for document in qrels[query]}
        ordinals = {document: i for i, document in enumerate(document_ids) if document in judged}
        self._terms, self._settings, self._ids = terms.terms, settings, document_ids
        self._departures = departures
        self._documents = len(document_ids)
        self._memory = Memory(scanner_for(terms.terms, settings.analyzer), self._documents)
        self._judgments = Judgments(list(queries), qrels, ordinals, len(document_ids))
        self._scorer = Scorer(terms, document_order, self._judgments)
        self._judged: dict[bytes, tuple[list[Ranking], PerQuery]] = {}
        self._scans: dict[bytes, Scan] = {}
        self._lock = Lock()
        self._threads = cores()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="exact")

    def reading(self) -> Reading:
        """Returns what takes the chunks of a corpus, piece by piece, and reads them."""
        return Reading(self._memory.scan, self._documents, self._pool, self._threads)

    def judge(self, scan: Scan, digests: NDArray[np.uint64]) -> tuple[list[Ranking], PerQuery]:
        """Rank documents by their best chunk and score the rankings; for the same chunks that is done once.

        :param scan: What was read of the chunks.
        :param digests: uint64, shape (documents,): a hash of each document's chunks.
        :returns: For each query the best documents, as many as are shown, and the figures.
        """
        key = xxh3_128_digest(digests.data)
        self._keep(key, scan)
        with self._lock:
            known = self._judged.get(key)
        if known is None:
            ranked = self.rank(scan)
            known = ranked.rankings, self._judgments.score(ranked.ranks)
            with self._lock:
                self._judged[key] = known
                while len(self._judged) > _JUDGED:
                    del self._judged[next(iter(self._judged))]
        rankings, scores = known
        return rankings, {query: dict(values) for query, values in scores.items()}

    def known(self, digests: NDArray[np.uint64]) -> QueryPostings | None:
        """Returns the postings of chunks that were judged lately; None when they were forgotten.

        :param digests: uint64, shape (documents,): a hash of each document's chunks.
        """
        with self._lock:
            scan = self._scans.get(xxh3_128_digest(digests.data))
        return self.postings(scan) if scan else None

    def _keep(self, key: bytes, scan: Scan) -> None:
        with self._lock:
            self._scans.pop(key, None)
            self._scans[key] = scan
            size = sum(kept.memory for kept in self._scans.values())
            while size > _KEPT_BYTES and len(self._scans) > 1:
                size -= self._scans.pop(next(iter(self._scans))).memory

    def postings(self, scan: Scan) -> QueryPostings:
        """Sort what was read by terms.

        :param scan: What was read of the chunks.
        :returns: The postings of the queries' terms.
        """
        order = np.argsort(scan.terms, kind="stable")
        starts = np.zeros(len(self._terms) + 1, np.int64)
        np.cumsum(np.bincount(scan.terms, minlength=len(self._terms)), out=starts[1:])
        postings = Postings(
            vocabulary={term: i for i, term in enumerate(self._terms)},
            starts=starts,
            chunks=np.repeat(np.arange(len(scan), dtype=np.int32), scan.counts)[order],
            frequencies=scan.times[order].astype(np.float32),
            lengths=scan.lengths.astype(np.int64),
        )
        exact = Departures(skip_empty=False, byte_lengths=False)
        return QueryPostings(postings, scan.owners, self._ids, self._settings, self._departures or exact)

    def _weighted(self, scan: Scan) -> WeightedPostings:
        if self._departures is None or not len(scan.terms):
            return WeightedPostings.of(scan, len(self._terms), self._settings)
        postings = self.postings(scan).postings
        weights = postings.scores(self._settings, self._departures)
        return WeightedPostings(postings.starts, postings.chunks, weights, single=False)

    def rank(self, scan: Scan) -> Ranked:
        """Rank documents by their best chunk.

        :param scan: What was read of the chunks.
        :returns: For each query the best documents, as many as are shown, and the ranks of the relevant ones.
        """
        return self._scorer.rank(scan, self._weighted(scan), DEPTH, SMOOTH_DEPTH, self._pool, self._threads)

    def close(self) -> None:
        """End the threads and forget what was read."""
        self._pool.shutdown()
        self._memory.close()
        self._scans.clear()
