"""The parity certificate: why Lucene and bm25s rank as they do on the same chunks, with every difference explained.

Between exact BM25 (bm25s) and Lucene stand a few known departures, each of which :mod:`lucene_model` can make alone.
Ranking the queries with one departure more at a time gives a chain from bm25s to Lucene; where a document's place
changes along the chain is why the engines differ. What the whole model leaves over must be a pair of documents whose
scores round to different fourth decimals although they are equal to a few parts in a million; anything else is
``unexplained``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import numpy as np
from pydantic import BaseModel, ConfigDict

from autoindex_haystack.retrieval.analyzers import tokenize, tokenize_corpus
from autoindex_haystack.retrieval.bm25s_backend import Bm25sIndex
from autoindex_haystack.retrieval.index import ChunkTable, Index
from autoindex_haystack.retrieval.lucene_model import Departures, Postings, engine_of
from autoindex_haystack.retrieval.ranking import Ranking

DEPTH = 100
"""How many of the first documents are compared."""

TOLERANCE = 1e-5
"""How far two float32 scores of the same formula may be apart, relative to the larger one."""

_LONG = 64
"""Tokens from this length on may be cut or replaced by a stand-in; shorter ones never are."""

CHAIN = (
    ("float sum", Departures(skip_empty=False, byte_lengths=False)),
    ("documents without tokens", Departures(skip_empty=True, byte_lengths=False)),
    ("length byte", Departures(skip_empty=True, byte_lengths=True)),
)
"""What changes from bm25s to the model of Lucene, one departure more at a time; the first is the model of bm25s, which
sums in float64 where bm25s sums in float32."""

CAUSES = (*(name for name, _ in CHAIN), "rounding", "analyzer", "token length", "unexplained")
"""All reasons that a certificate can give for a difference in rank."""


class QueryParity(BaseModel):
    """The comparison of one query.

    :param overlap_10: Share of the first 10 documents that bm25s and Lucene both return.
    :param overlap_100: The same of the first 100.
    :param largest_difference: The largest difference of a shared document's scores, relative to the larger one.
    :param modelled: ``identical`` when the model gives Lucene's first 100 documents in Lucene's order, ``rounding``
        when it differs only by pairs at a rounding boundary, else ``unexplained``.
    :param causes: For every document whose rank differs between bm25s and Lucene, by cause, how many.
    :param differences: The documents with their ranks (0 is beyond the compared depth) and the cause.
    """

    model_config = ConfigDict(extra="forbid")

    overlap_10: float
    overlap_100: float
    largest_difference: float
    modelled: str
    causes: dict[str, int]
    differences: list["RankDifference"] = []


class RankDifference(BaseModel):
    """A document that stands elsewhere.

    :param document_id: The document.
    :param bm25s: Its rank in bm25s, from 1; 0 when it is not among the first.
    :param lucene: Its rank in Lucene.
    :param cause: Why.
    """

    model_config = ConfigDict(extra="forbid")

    document_id: str
    bm25s: int
    lucene: int
    cause: str


@dataclass(frozen=True)
class Parity:
    """The comparison of all queries.

    :param queries: Query id to comparison.
    :param largest_modelled: The largest relative difference between a score of the model and Lucene's.
    """

    queries: dict[str, QueryParity] = field(default_factory=dict)
    largest_modelled: float = 0.0

    def count(self, modelled: str) -> int:
        """Returns how many queries have this verdict."""
        return sum(query.modelled == modelled for query in self.queries.values())

    @property
    def causes(self) -> dict[str, int]:
        """How many documents stand elsewhere, by cause, over all queries."""
        total: Counter[str] = Counter()
        for query in self.queries.values():
            total.update(query.causes)
        return {cause: total[cause] for cause in CAUSES}

    @property
    def overlap_10(self) -> float:
        """Mean share of the first 10 documents that both engines return; 1 without queries."""
        return fmean(query.overlap_10 for query in self.queries.values()) if self.queries else 1.0

    @property
    def overlap_100(self) -> float:
        """Mean share of the first 100 documents that both engines return; 1 without queries."""
        return fmean(query.overlap_100 for query in self.queries.values()) if self.queries else 1.0

    @property
    def largest_difference(self) -> float:
        """The largest relative difference between a score of bm25s and Lucene's."""
        return max((query.largest_difference for query in self.queries.values()), default=0.0)

    @property
    def unexplained(self) -> int:
        """How many queries or documents are not explained."""
        return self.count("unexplained") + self.causes["unexplained"]


def certify(exact: Bm25sIndex, lucene: Index, chunks: ChunkTable, queries: Mapping[str, str]) -> Parity:
    """Compare bm25s with Lucene and explain every difference.

    :param exact: The bm25s index of the chunks.
    :param lucene: The Lucene index of the same chunks, with the same settings.
    :param chunks: The chunks.
    :param queries: Query id to text.
    :returns: The comparison, query by query.
    :raises ValueError: If the indexes do not hold these chunks or differ in settings.

    ```python
    from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, get_backend
    from autoindex_haystack.retrieval.parity import certify

    chunks = ChunkTable.of_texts(["a heated wing", "a cold engine"])
    with get_backend("lucene").build(chunks, BM25Settings()) as lucene:
        parity = certify(Bm25sIndex.build(chunks, BM25Settings()), lucene, chunks, {"q1": "wing"})
    assert parity.unexplained == 0
    ```
    """
    for index in (exact, lucene):
        same_ids = list(index.document_ids) == list(chunks.document_ids)
        if not same_ids or not np.array_equal(index.documents, chunks.documents):
            msg = f"the {index.backend} index holds other chunks; build both indexes from the same chunks"
            raise ValueError(msg)
    if exact.settings != lucene.settings:
        msg = f"the indexes have other settings: {exact.settings} and {lucene.settings}; build both with the same"
        raise ValueError(msg)
    links = [exact, *_chain(chunks, exact), lucene]
    texts = list(queries.values())
    rankings = [index.search_documents(texts, 2 * DEPTH) for index in links]
    ids = chunks.document_ids
    compared = {
        query: _compare([ranked[i] for ranked in rankings], ids, _Analysis(lucene, chunks))
        for i, query in enumerate(queries)
    }
    largest = max(map(_largest, rankings[-2], rankings[-1]), default=0.0)
    return Parity(compared, largest)


def _chain(chunks: ChunkTable, exact: Bm25sIndex) -> list[Bm25sIndex]:
    """Build the models between bm25s and Lucene."""
    tokens, vocabulary = tokenize_corpus(chunks.texts, exact.settings.analyzer)
    if not vocabulary:
        return [exact] * len(CHAIN)
    postings = Postings.of_tokens(tokens, vocabulary)
    return [
        Bm25sIndex(
            engine_of(postings, exact.settings, departures), exact.settings, chunks.documents, chunks.document_ids
        )
        for _, departures in CHAIN
    ]


@dataclass(frozen=True)
class _Analysis:
    """Tells whether Lucene sees other tokens in a chunk than Python does; asked only where nothing else explains."""

    lucene: Index
    chunks: ChunkTable

    def cause(self, document: int) -> str:
        begin, end = np.searchsorted(self.chunks.documents, [document, document + 1]).tolist()
        for text in self.chunks.texts[begin:end]:
            ours, theirs = tokenize(text, self.lucene.settings.analyzer), self.lucene.tokens(text)
            if ours != theirs:
                # Lucene's tokenizers cut or replace tokens of more than 255 code units.
                short = [[token for token in tokens if len(token) < _LONG] for tokens in (ours, theirs)]
                return (
                    "token length" if max(map(len, ours), default=0) >= _LONG and short[0] == short[1] else "analyzer"
                )
        return "unexplained"


def _compare(links: Sequence[Ranking], ids: Sequence[str], analysis: _Analysis) -> QueryParity:
    """Compare the rankings of one query along the chain from bm25s to Lucene."""
    exact, model, lucene = links[0], links[-2], links[-1]
    modelled = _verdict(model, lucene)
    differences = _differences(links, ids, modelled, analysis)
    return QueryParity(
        overlap_10=_overlap(exact, lucene, 10),
        overlap_100=_overlap(exact, lucene, DEPTH),
        largest_difference=_largest(exact, lucene),
        modelled=modelled,
        causes=dict(Counter(difference.cause for difference in differences)),
        differences=differences,
    )


def _verdict(model: Ranking, lucene: Ranking) -> str:
    """Whether the model gives Lucene's first documents, up to pairs at a rounding boundary."""
    first, second = model.ordinals[:DEPTH].tolist(), lucene.ordinals[:DEPTH].tolist()
    if first == second:
        return "identical"
    ours = dict(zip(model.ordinals.tolist(), model.scores.tolist(), strict=True))
    theirs = dict(zip(lucene.ordinals.tolist(), lucene.scores.tolist(), strict=True))
    involved = {document for pair in zip(first, second, strict=False) if pair[0] != pair[1] for document in pair}
    involved |= set(first) ^ set(second)
    if not all(document in ours and document in theirs for document in involved):
        return "unexplained"
    same_scores = all(_close(ours[document], theirs[document]) for document in involved)
    places = {document: place for place, document in enumerate(second)}
    swapped = [
        (one, other)
        for i, one in enumerate(first)
        for other in first[i + 1 :]
        if one in involved and other in involved and places.get(one, DEPTH) > places.get(other, DEPTH)
    ]
    return "rounding" if same_scores and all(_close(ours[a], ours[b]) for a, b in swapped) else "unexplained"


def _differences(
    links: Sequence[Ranking], ids: Sequence[str], modelled: str, analysis: _Analysis
) -> list[RankDifference]:
    """Find the documents whose rank differs between bm25s and Lucene, and the link that moved each most."""
    places = [{document: i for i, document in enumerate(link.ordinals[:DEPTH].tolist(), 1)} for link in links]
    names = [*(name for name, _ in CHAIN), "rounding"]
    found = []
    for document in sorted(places[0].keys() | places[-1].keys(), key=lambda d: places[-1].get(d, DEPTH + 1)):
        ranks = [place.get(document, DEPTH + 1) for place in places]
        if ranks[0] == ranks[-1]:
            continue
        moves = [abs(after - before) for before, after in pairwise(ranks)]
        cause = names[max(range(len(moves)), key=lambda i: moves[i])]
        if cause == "rounding" and modelled != "rounding":
            cause = analysis.cause(document)
        ranks = [rank if rank <= DEPTH else 0 for rank in ranks]
        found.append(RankDifference(document_id=ids[document], bm25s=ranks[0], lucene=ranks[-1], cause=cause))
    return found


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= TOLERANCE * max(first, second)


def _largest(first: Ranking, second: Ranking) -> float:
    """The largest relative difference between two scores of a document that both rankings have."""
    _, one, other = np.intersect1d(first.ordinals[:DEPTH], second.ordinals[:DEPTH], return_indices=True)
    if not len(one):
        return 0.0
    scores, others = first.scores[one].astype(np.float64), second.scores[other].astype(np.float64)
    return float((np.abs(scores - others) / np.maximum(scores, others)).max())


def _overlap(first: Ranking, second: Ranking, depth: int) -> float:
    """The share of the first documents that both have; two empty rankings agree."""
    one, other = first.ordinals[:depth], second.ordinals[:depth]
    longer = max(len(one), len(other))
    return len(np.intersect1d(one, other)) / longer if longer else 1.0
