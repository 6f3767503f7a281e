"""All that BM25 needs of an index for a fixed set of queries: where their terms occur, and the lengths of chunks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval import BM25Settings, ChunkTable, Hits, Ranking
from autoindex_haystack.retrieval.analyzers import tokenize, tokenize_corpus
from autoindex_haystack.retrieval.lucene_model import Departures, Postings
from autoindex_haystack.retrieval.ranking import code_point_order, max_p


@dataclass(frozen=True)
class QueryPostings:
    """The postings of the queries' terms in the chunks of a program.

    :param postings: Occurrences by term; only terms of the queries, but the lengths count every token.
    :param documents: int64, shape (chunks,): the document of each chunk.
    :param document_ids: The ids of all documents.
    :param settings: BM25 parameters and analyzer.
    :param departures: Where the engine departs from exact BM25.
    """

    postings: Postings
    documents: NDArray[np.int64]
    document_ids: Sequence[str]
    settings: BM25Settings
    departures: Departures = Departures(skip_empty=False, byte_lengths=False)  # noqa: RUF009 - frozen

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The ordinal of each document by its id."""
        return {identifier: i for i, identifier in enumerate(self.document_ids)}

    @cached_property
    def chunks(self) -> int:
        """How many chunks BM25 counts."""
        lengths = self.postings.lengths
        return int(np.count_nonzero(lengths)) if self.departures.skip_empty else len(lengths)

    @cached_property
    def average(self) -> float:
        """Average number of tokens of the chunks that BM25 counts."""
        return float(self.postings.lengths.sum()) / max(1, self.chunks)

    def row(self, term: str) -> slice:
        """Returns where the postings of a term stand; an empty slice for one that no chunk has.

        :param term: A term.
        """
        number = self.postings.vocabulary.get(term)
        return slice(0) if number is None else slice(*self.postings.starts[number : number + 2].tolist())

    def idf(self, term: str) -> float:
        """Returns the weight of a term: ``ln(1 + (N - df + 0.5) / (df + 0.5))``; Robertson and Zaragoza 2009, 3.3.

        :param term: A term; one that no chunk has weighs the most.
        """
        row = self.row(term)
        frequency = row.stop - (row.start or 0)
        return float(np.log(1 + (self.chunks - frequency + 0.5) / (frequency + 0.5)))

    def part(self, frequency: float, length: float) -> float:
        """Returns what a term adds to a score for each unit of its idf: ``tf / (tf + k1 (1 - b + b L / avg))``.

        :param frequency: How often the term occurs in the chunk.
        :param length: The chunk's tokens.
        """
        k1, b = self.settings.k1, self.settings.b
        norm = k1 * (1 - b + b * length / self.average) if self.average else 0.0
        return frequency / (frequency + norm) if frequency else 0.0

    def frequencies(self, term: str, chunks: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns how often a term occurs in some chunks; float32, shape of ``chunks``.

        :param term: A term.
        :param chunks: Chunk ordinals.
        """
        row = self.row(term)
        found = np.zeros(len(chunks), np.float32)
        owners = self.postings.chunks[row]
        places = np.searchsorted(owners, chunks)
        inside = places < len(owners)
        hit = inside.copy()
        hit[inside] = owners[places[inside]] == chunks[inside]
        found[hit] = self.postings.frequencies[row][places[hit]]
        return found

    def chunks_of(self, document: int) -> NDArray[np.int64]:
        """Returns the ordinals of a document's chunks.

        :param document: The document's ordinal.
        """
        first, last = np.searchsorted(self.documents, [document, document + 1])
        return np.arange(first, last)

    def rank(self, query: str, top_k: int) -> Ranking:
        """Rank documents by their best chunk.

        :param query: The query's text.
        :param top_k: How many documents at most.
        :returns: The ranking.
        """
        scores = np.zeros(len(self.documents), np.float64)
        for term in tokenize(query, self.settings.analyzer):
            row = self.row(term)
            scores[self.postings.chunks[row]] += self._scores[row]
        found = np.flatnonzero(scores > 0)
        hits = Hits(found, scores[found].astype(np.float32), exhausted=True)
        return max_p(hits, self.documents, self.order, top_k)

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        return self.postings.scores(self.settings, self.departures)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """int64, shape (documents,): the rank of each document's id by code point."""
        return code_point_order(self.document_ids)


def count_terms(
    chunks: ChunkTable, queries: Iterable[str], settings: BM25Settings, departures: Departures | None = None
) -> QueryPostings:
    """Count the queries' terms in a program's chunks.

    :param chunks: The chunks.
    :param queries: The queries' texts.
    :param settings: BM25 parameters and analyzer.
    :param departures: Where the engine departs from exact BM25; nowhere when not given.
    :returns: The postings.
    """
    terms = {term for query in queries for term in tokenize(query, settings.analyzer)}
    tokens, vocabulary = tokenize_corpus(chunks.texts, settings.analyzer)
    kept = sorted(terms & vocabulary.keys())
    numbers = np.full(len(vocabulary), -1, np.int64)
    numbers[[vocabulary[term] for term in kept]] = np.arange(len(kept))
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    flat = numbers[np.fromiter((number for row in tokens for number in row), np.int64, int(lengths.sum()))]
    owners = np.repeat(np.arange(len(tokens)), lengths)
    found, counts = np.unique(flat[flat >= 0] * max(1, len(tokens)) + owners[flat >= 0], return_counts=True)
    numbers_found, chunks_found = np.divmod(found, max(1, len(tokens)))
    postings = Postings(
        vocabulary={term: i for i, term in enumerate(kept)},
        starts=np.searchsorted(numbers_found, np.arange(len(kept) + 1)),
        chunks=chunks_found.astype(np.int32),
        frequencies=counts.astype(np.float32),
        lengths=lengths,
    )
    exact = departures or Departures(skip_empty=False, byte_lengths=False)
    return QueryPostings(postings, chunks.documents, chunks.document_ids, settings, exact)
