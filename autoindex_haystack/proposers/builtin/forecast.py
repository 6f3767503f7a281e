"""What a recipe would gain, before a program is evaluated: a small exact re-ranking of missed documents and rivals.

The recipe's program is applied to the documents of a :mod:`pool <autoindex_haystack.proposers.builtin.pool>` and these
are scored by BM25 with the index's statistics, as far as the sample shows how they change. Only the library's own
functions run here, in this process; what anyone else wrote never does.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.proposers.base import CollectionView
from autoindex_haystack.proposers.builtin.counting import TermCounter
from autoindex_haystack.proposers.builtin.learning import Learning, expressions, preparing
from autoindex_haystack.proposers.builtin.pool import Pool, PooledQuery, draw_pool
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.trusted import load_trusted

logger = logging.getLogger(__name__)

Prepare = Callable[[Document], tuple[str, str]]
"""From a document to its title and text."""

_TOP = 10
"""Ranks that nDCG@10 looks at."""

_ENOUGH = 5
"""Chunks of the sample that must have a term before their change is taken for that of all."""

_MOST_PREPARED = 4
"""Ways to prepare texts of which the results are kept."""

_USUAL = 40
"""Recipes that are forecast for one incumbent."""

_STEEPNESS = 4
"""How soon a sampled rank around 100 counts as in or out; an estimated rank is not certain enough for a step."""


@dataclass(frozen=True)
class Forecast:
    """What a recipe would do, relative to the recipe it is compared with.

    :param recall: Change of mean Recall@100.
    :param ndcg: Change of mean nDCG@10.
    :param reached: How many missed relevant documents would come in.
    :param lost: How many found ones would drop out.
    :param missed: How many are missed now.
    :param growth: Tokens relative to those of the recipe it is compared with.
    :param idle: Whether no document that was looked at changes.
    """

    recall: float
    ndcg: float
    reached: float
    lost: float
    missed: float
    growth: float
    idle: bool

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"forecast: {self.reached:.0f} of {self.missed:.0f} missed documents come in, {self.lost:.0f} drop out, "
            f"Recall@100 {self.recall:+.3f}, nDCG@10 {self.ndcg:+.3f}"
        )


@dataclass(frozen=True)
class _Pieces:
    """The documents of the pool as a recipe represents them.

    :param starts: int64, shape (documents + 1,): where each document's chunks begin.
    :param lengths: float64, shape (chunks,): tokens.
    :param bounds: int64, shape (terms + 1,): where the postings of each term begin.
    :param rows: int64, shape (postings,): the chunks that have it.
    :param times: float64, shape (postings,): how often.
    :param digest: Tells two representations apart.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.float64]
    bounds: NDArray[np.int64]
    rows: NDArray[np.int64]
    times: NDArray[np.float64]
    digest: int

    @property
    def terms(self) -> NDArray[np.int64]:
        """int64, shape (postings,): the term of each posting."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


@dataclass(frozen=True)
class _Relevant:
    """The relevant documents of all queries, one entry each, in the order of the queries.

    :param query: int64: the query's place.
    :param weight: float64: how many documents it stands for.
    :param grade: float64: its grade.
    :param missed: bool: whether the incumbent misses it.
    """

    query: NDArray[np.int64]
    weight: NDArray[np.float64]
    grade: NDArray[np.float64]
    missed: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: Pool) -> "_Relevant":
        rows = [(i, w, g, n in query.missed) for i, query in enumerate(pool.queries) for n, w, g in query.relevant]
        query, weight, grade, missed = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(np.array(query, np.int64), np.array(weight), np.array(grade, np.float64), np.array(missed, bool))

    def ideal_dcg(self, queries: int) -> NDArray[np.float64]:
        """Returns float64, shape (queries,): the discounted gain of each query's best possible ranking."""
        best = np.zeros(queries)
        for i in range(queries):
            mine = self.query == i
            ideal = np.repeat(self.grade[mine], np.rint(self.weight[mine]).astype(np.int64))
            ideal = np.sort(ideal)[::-1][:_TOP]
            best[i] = (ideal / np.log2(np.arange(2, len(ideal) + 2))).sum()
        return best


class Forecaster:
    """Forecasts recipes against the incumbent's recipe.

    :param view: The collection.
    :param diagnosis: The incumbent's diagnosis.
    :param incumbent: The incumbent's recipe.
    :param state: What the incumbent learned from the whole corpus.
    :param seed: Seed of the pool.
    :param learning: Learns from a sample of the corpus, and may have done so for another incumbent.
    """

    def __init__(
        self,
        view: CollectionView,
        diagnosis: Diagnosis,
        incumbent: Recipe,
        state: Mapping[str, Any],
        seed: int,
        learning: Learning | None = None,
    ) -> None:
        self._view = view
        self._learning = learning or Learning(view.documents)
        self._index = diagnosis.postings
        self._pool = draw_pool(view, diagnosis, seed)
        # What is learned hardly depends on the other steps, so it is kept by the expression that learns it.
        self._learned = {learn: state[name] for name, learn in expressions(incumbent).items() if name in state}
        self._known: dict[Recipe, Forecast | None] = {}
        self._prepared: dict[tuple[Step, ...], dict[str, tuple[str, str]]] = {}
        self._documents = [view.documents[number] for number in self._pool.documents]
        self._place = {number: i for i, number in enumerate(self._pool.documents)}
        self._sampled = np.array([self._place[number] for number in self._pool.sample], np.int64)
        self._relevant = _Relevant.of(self._pool)
        self._numbers = {term: number for number, term in enumerate(sorted(self._pool.terms))}
        self._frequency = self._index_frequencies()
        size = sum(len(document.text) for document in self._documents)
        self._counter = TermCounter(list(self._numbers), view.analyzer, _USUAL * size)
        self._ideal = self._relevant.ideal_dcg(len(self._pool.queries))
        self._scored = [self._places(query) for query in self._pool.queries]
        self._before = self._represent(incumbent)
        self._counts_before = self._inside(self._before)
        self._ranks = self._rank(self._before)

    def forecast(self, recipe: Recipe) -> Forecast | None:
        """Forecast a recipe; asked again, it is not computed again.

        :param recipe: The recipe.
        :returns: What it would do; None when it is not the library's own, or fails on a document, which an evaluation
            will tell.
        """
        if recipe not in self._known:
            try:
                self._known[recipe] = self._compare(self._represent(recipe))
            except Exception as error:  # Whatever a transform raises on whatever document.
                logger.info("no forecast of %s: %s: %s", recipe.literal(), type(error).__name__, error)
                self._known[recipe] = None
        return self._known[recipe]

    def _compare(self, pieces: _Pieces) -> Forecast:
        now, then, relevant = self._ranks, self._rank(pieces), self._relevant
        return Forecast(
            recall=self._recall(then) - self._recall(now),
            ndcg=self._ndcg(then) - self._ndcg(now),
            reached=float((relevant.weight * (relevant.missed & (then <= DEPTH))).sum()),
            lost=float((relevant.weight * (~relevant.missed & (now <= DEPTH) & (then > DEPTH))).sum()),
            missed=float((relevant.weight * relevant.missed).sum()),
            growth=self._tokens(pieces) / max(1.0, self._tokens(self._before)),
            idle=pieces.digest == self._before.digest,
        )

    def _recall(self, ranks: NDArray[np.float64]) -> float:
        inside = (ranks <= DEPTH).astype(np.float64)
        if not self._pool.whole:
            inside = np.where(np.isfinite(ranks), 1 / (1 + (np.minimum(ranks, 1e6) / DEPTH) ** _STEEPNESS), 0.0)
        found = self._by_query(self._relevant.weight * inside)
        return float((found / [query.judged for query in self._pool.queries]).mean()) if len(found) else 0.0

    def _ndcg(self, ranks: NDArray[np.float64]) -> float:
        relevant = self._relevant
        gains = np.where(ranks <= _TOP, relevant.weight * relevant.grade / np.log2(np.minimum(ranks, _TOP) + 1), 0.0)
        found = self._by_query(gains)
        return float((found / self._ideal).mean()) if len(found) else 0.0

    def _by_query(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self._relevant.query, values, len(self._pool.queries)).astype(np.float64)

    def _represent(self, recipe: Recipe) -> _Pieces:
        """Run a recipe's program on the documents of the pool and count."""
        program = load_trusted(recipe)
        program.state = self._learn(recipe)
        vars(program)["prepare"] = self._prepares_once(recipe, vars(type(program))["prepare"].__get__(program))
        starts, digest = [0], 0
        texts: list[str] = []
        for number, document in zip(self._pool.documents, self._documents, strict=True):
            chunks = program.preprocess([Document(str(number), document.text, dict(document.metadata))])
            made = [chunk.text for chunk in chunks]
            texts += made
            starts.append(len(texts))
            digest ^= hash((number, *made))
        found = self._counter.count(texts)
        bounds = np.zeros(len(self._numbers) + 1, np.int64)
        np.cumsum(np.bincount(found.terms, minlength=len(self._numbers)), out=bounds[1:])
        order = np.argsort(found.terms, kind="stable")
        rows = np.repeat(np.arange(len(texts)), found.counts)[order]
        lengths, times = found.lengths.astype(np.float64), found.times[order].astype(np.float64)
        return _Pieces(np.array(starts, np.int64), lengths, bounds, rows, times, digest)

    def _prepares_once(self, recipe: Recipe, prepare: Prepare) -> Prepare:
        """Returns what prepares a document as a recipe's program does, but no document that was prepared so before."""
        # What these steps have learned is the same for every recipe.
        steps = preparing(recipe)
        known = self._prepared.pop(steps, {})
        self._prepared[steps] = known
        if len(self._prepared) > _MOST_PREPARED:
            del self._prepared[next(iter(self._prepared))]

        def once(document: Document) -> tuple[str, str]:
            if document.doc_id not in known:
                known[document.doc_id] = prepare(document)
            return known[document.doc_id]

        return once

    def _learn(self, recipe: Recipe) -> dict[str, Any]:
        """Returns what a recipe's program would learn: from the incumbent where that learned the same, else anew."""
        learns = expressions(recipe)
        for name, expression in learns.items():
            if expression not in self._learned:
                self._learned[expression] = self._learning.learn(recipe, name)
        return {name: self._learned[expression] for name, expression in learns.items()}

    def _rank(self, pieces: _Pieces) -> NDArray[np.float64]:
        """Returns the estimated rank of each relevant document; infinite for one that shares no term."""
        chunks = max(1.0, self._index.chunks * self._rows(pieces) / max(1.0, self._rows(self._before)))
        tokens = self._index.average * self._index.chunks * self._tokens(pieces) / max(1.0, self._tokens(self._before))
        k1, b = self._index.settings.k1, self._index.settings.b
        norms = k1 * (1 - b + b * pieces.lengths / max(1.0, tokens / chunks))
        frequency = self._frequencies(pieces, chunks)
        weights = np.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))
        parts = weights[pieces.terms] * pieces.times / (pieces.times + norms[pieces.rows])
        filled = np.flatnonzero(np.diff(pieces.starts))
        best_of_all = np.zeros(len(pieces.starts) - 1)
        ranks = np.full(len(self._relevant.query), np.inf)
        done = 0
        for query, (places, stand_for) in zip(self._pool.queries, self._scored, strict=True):
            scores = np.zeros(len(norms))
            for term in query.terms:
                number = self._numbers[term]
                postings = slice(pieces.bounds[number], pieces.bounds[number + 1])
                scores[pieces.rows[postings]] += parts[postings]
            if len(filled):  # Each document's best score: MaxP.
                best_of_all[filled] = np.maximum.reduceat(scores, pieces.starts[filled])
            best = best_of_all[places]
            for own in best[: len(query.relevant)]:
                if own > 0:
                    ranks[done] = 1 + stand_for[best > own].sum() + 0.5 * (stand_for[best == own].sum() - 1)
                done += 1
        return ranks

    def _places(self, query: PooledQuery) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the documents that are scored for a query stand in the pool, relevant ones first; their weights."""
        numbers = [number for number, *_ in query.relevant] + [number for number, _ in query.rivals]
        weights = [weight for _, weight, _ in query.relevant] + [weight for _, weight in query.rivals]
        return np.array([self._place[number] for number in numbers], np.int64), np.array(weights)

    def _rows(self, pieces: _Pieces) -> float:
        """Chunks of the sample."""
        return float(np.diff(pieces.starts)[self._sampled].sum())

    def _tokens(self, pieces: _Pieces) -> float:
        """Tokens of the sample."""
        totals = np.r_[0.0, np.cumsum(pieces.lengths)][pieces.starts]
        return float(np.diff(totals)[self._sampled].sum())

    def _inside(self, pieces: _Pieces) -> NDArray[np.float64]:
        """float64, shape (terms,): in how many chunks of the sample each term stands."""
        sampled = np.zeros(len(pieces.starts) - 1, bool)
        sampled[self._sampled] = True
        inside = np.repeat(sampled, np.diff(pieces.starts))[pieces.rows]
        return np.bincount(pieces.terms[inside], minlength=len(self._numbers)).astype(np.float64)

    def _index_frequencies(self) -> NDArray[np.float64]:
        """float64, shape (terms,): in how many chunks of the index each term stands."""
        starts, vocabulary = self._index.postings.starts, self._index.postings.vocabulary
        known = [vocabulary.get(term) for term in self._numbers]
        return np.array([0 if i is None else starts[i + 1] - starts[i] for i in known], np.float64)

    def _frequencies(self, pieces: _Pieces, chunks: float) -> NDArray[np.float64]:
        """float64, shape (terms,): in how many chunks each stands: as the index says, changed as the sample changes."""
        then, now = self._inside(pieces), self._counts_before
        if self._pool.whole:
            found = then
        else:
            each = self._index.chunks / max(1.0, self._rows(self._before))
            by_share = self._frequency * then / np.maximum(now, 1.0)
            found = np.where(now >= _ENOUGH, by_share, self._frequency + each * (then - now))
        return np.minimum(np.maximum(found, 1.0), chunks)
