"""The documents on which a recipe's worth is forecast: relevant ones, and rivals from every depth of the rankings.

Each document stands for as many as its stratum holds for each one drawn, so that a rank can be estimated from a few
dozen documents a query. A small corpus is taken whole: then ranks are exact.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.proposers.base import CollectionView
from autoindex_haystack.retrieval.analyzers import tokenize

CHARACTERS = 2_000_000
"""How much text a forecast reads; a corpus of this size is taken whole."""

_MOST_QUERIES = 50
_MOST_RELEVANT = 12
_STRATA = ((0, 10, 6), (10, 40, 5), (40, 100, 7), (100, 200, 7), (200, 500, 5), (500, 2_000, 4), (2_000, None, 3))
"""Ranks from, to (exclusive), and how many documents are drawn."""

_RANDOM = 600
"""Documents drawn from the whole corpus, for frequencies and the average length."""


@dataclass(frozen=True)
class PooledQuery:
    """A query with the documents that are scored for it.

    :param terms: Its terms, with repetitions.
    :param relevant: Ordinals of relevant documents, how many each stands for, and its grade.
    :param missed: Those of them that the incumbent misses.
    :param rivals: Ordinals of other documents and how many each stands for.
    :param judged: How many documents are relevant, also those that the corpus lacks.
    """

    terms: tuple[str, ...]
    relevant: tuple[tuple[int, float, int], ...]
    missed: frozenset[int]
    rivals: tuple[tuple[int, float], ...]
    judged: int


@dataclass(frozen=True)
class Pool:
    """What forecasts are made on.

    :param queries: The queries.
    :param documents: Ordinals of all documents that are read.
    :param sample: Ordinals of documents spread over the corpus.
    :param terms: The terms of all queries.
    :param whole: Whether the pool is the whole corpus, so that nothing is estimated.
    """

    queries: tuple[PooledQuery, ...]
    documents: tuple[int, ...]
    sample: tuple[int, ...]
    terms: frozenset[str]
    whole: bool


def draw_pool(view: CollectionView, diagnosis: Diagnosis, seed: int) -> Pool:
    """Draw the documents.

    :param view: The collection.
    :param diagnosis: The incumbent's diagnosis, which has its full rankings.
    :param seed: Seed of the draw.
    :returns: The pool.
    """
    generator = random.Random(seed)
    documents = view.documents
    size = sum(len(document.text) for document in documents)
    whole = size <= CHARACTERS
    chosen = sorted(view.queries)
    if not whole and len(chosen) > _MOST_QUERIES:
        chosen = sorted(generator.sample(chosen, _MOST_QUERIES))
    if whole:
        sample = list(range(len(documents)))
    else:
        most = max(100, int(CHARACTERS / 4 / max(1.0, size / len(documents))))
        sample = sorted(generator.sample(range(len(documents)), min(len(documents), _RANDOM, most)))
    share = 1.0 if whole else _share(size / len(documents), len(chosen))
    found = []
    for query in chosen:
        terms = tuple(tokenize(view.queries[query], view.analyzer))
        if terms:
            found.append(_pool_query(view, diagnosis, query, terms, sample, whole, share, generator))
    queries = tuple(query for query in found if query.relevant)
    read = set(sample).union(*(_ordinals(query) for query in queries))
    vocabulary = frozenset(term for query in queries for term in query.terms)
    return Pool(queries, tuple(sorted(read)), tuple(sample), vocabulary, whole)


def _share(mean: float, queries: int) -> float:
    """Which share of the strata's documents can be read."""
    wanted = queries * (sum(drawn for _, _, drawn in _STRATA) + _MOST_RELEVANT / 2) * max(1.0, mean)
    return max(0.34, min(1.0, CHARACTERS / wanted))


def _pool_query(
    view: CollectionView,
    diagnosis: Diagnosis,
    query: str,
    terms: tuple[str, ...],
    sample: Sequence[int],
    whole: bool,
    share: float,
    generator: random.Random,
) -> PooledQuery:
    ranked = diagnosis.ranking(query).ordinals.tolist()
    number_of = diagnosis.postings.number_of
    grades = {number_of[d]: grade for d, grade in view.qrels[query].items() if grade > 0 and d in number_of}
    judged = sum(grade > 0 for grade in view.qrels[query].values())
    inside = set(ranked[:DEPTH])
    missed = sorted(number for number in grades if number not in inside)
    relevant = []
    for group in (missed, sorted(number for number in grades if number in inside)):
        kept = group if whole else _some(group, max(4, int(_MOST_RELEVANT * share)), generator)
        relevant += [(number, len(group) / len(kept), grades[number]) for number in kept]
    others = [number for number in ranked if number not in grades]
    if whole:
        rivals = [(number, 1.0) for number in sample if number not in grades]
        return PooledQuery(terms, tuple(relevant), frozenset(missed), tuple(rivals), judged)
    rivals = []
    for start, stop, count in _STRATA:
        stratum = others[start:stop]
        kept = _some(stratum, max(2, round(count * share)), generator)
        rivals += [(number, len(stratum) / len(kept)) for number in kept]
    sharing = set(ranked)
    rest = [number for number in sample if number not in sharing and number not in grades]
    silent = len(view.documents) - len(sharing)
    rivals += [(number, silent / len(rest)) for number in rest]
    return PooledQuery(terms, tuple(relevant), frozenset(missed), tuple(rivals), judged)


def _some(numbers: Sequence[int], count: int, generator: random.Random) -> list[int]:
    return sorted(generator.sample(numbers, count)) if len(numbers) > count else list(numbers)


def _ordinals(query: PooledQuery) -> set[int]:
    return {number for number, *_ in query.relevant} | {number for number, _ in query.rivals}
