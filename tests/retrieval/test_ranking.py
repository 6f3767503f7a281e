"""Order, rounding, ties, MaxP and pool deepening, against a slow and obvious model."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.retrieval import ranking
from autoindex_haystack.retrieval.ranking import Hits, code_point_order, max_p, rank_chunks, rank_documents, rounded


class Scored:
    """An index whose chunks have these scores for every query, and that gives no more than it is asked for."""

    def __init__(self, scores: Sequence[float], documents: Sequence[int], ids: Sequence[str]) -> None:
        self.scores = np.array(scores, np.float32)
        self.documents = np.array(documents, np.int64)
        self.ids = list(ids)
        self.document_order = code_point_order(self.ids)
        self.depths: list[int] = []

    def candidates_many(self, queries, depth, allowed=None):
        self.depths.append(depth)
        return [self.candidates(depth, allowed) for _ in queries]

    def candidates(self, depth, allowed):
        found = [i for i, score in enumerate(self.scores) if score > 0 and (allowed is None or allowed[i])]
        # In the worst order, and with no tie at the cut more than was promised.
        best = sorted(found, key=lambda i: (-self.scores[i], -i))[:depth]
        ordinals = np.array(sorted(best, reverse=True), np.int64)
        return Hits(ordinals, self.scores[ordinals], len(best) == len(found))

    def model_chunks(self, top_k, allowed):
        """The order as DESIGN has it: (−round(score, 4), document id by code point, chunk ordinal)."""
        found = [i for i, s in enumerate(self.scores.tolist()) if s > 0 and (allowed is None or allowed[i])]
        key = lambda i: (-round(float(self.scores[i]), 4), self.ids[self.documents[i]], i)  # noqa: E731
        return [(i, float(self.scores[i])) for i in sorted(found, key=key)[: max(0, top_k)]]

    def model_documents(self, top_k, allowed):
        best: dict[int, list[tuple[int, float]]] = {}
        for i, score in self.model_chunks(len(self.scores), allowed):
            best.setdefault(int(self.documents[i]), []).append((i, score))
        rows = [(d, max(s for _, s in hits), hits[0][0]) for d, hits in best.items()]
        return sorted(rows, key=lambda row: (-round(row[1], 4), self.ids[row[0]]))[: max(0, top_k)]


IDS = ["b", "a", "10", "9", "0001", "1", "Z", "é", "e\u0301", "😀", "\uffff", "a b"]
# Steps of half and a tenth of the rounding, so that there are many ties, of raw and of rounded scores.
SCORES = st.builds(lambda n, step: n * step, st.integers(0, 12), st.sampled_from([0.00005, 0.00001, 0.25, 1.0]))


@st.composite
def indexes(draw):
    counts = draw(st.lists(st.integers(0, 4), min_size=0, max_size=len(IDS)))
    documents = [d for d, count in enumerate(counts) for _ in range(count)]
    scores = draw(st.lists(SCORES, min_size=len(documents), max_size=len(documents)))
    return Scored(scores, documents, draw(st.permutations(IDS))[: len(counts)])


def masks(index: Scored):
    bits = st.lists(st.booleans(), min_size=len(index.scores), max_size=len(index.scores))
    return st.none() | bits.map(lambda values: np.array(values, np.bool_))


@pytest.fixture
def shallow(monkeypatch):
    """Pools so small that they have to be deepened."""
    monkeypatch.setattr(ranking, "MAXP_DEPTH", 1)
    monkeypatch.setattr(ranking, "_MARGIN", 0)


@given(data=st.data(), top_k=st.integers(-1, 60), queries=st.integers(0, 3))
def check_model(data, top_k, queries):
    index = data.draw(indexes())
    allowed = data.draw(masks(index))
    texts = ["query"] * queries
    chunks, documents = rank_chunks(index, texts, top_k, allowed), rank_documents(index, texts, top_k, allowed)
    assert len(chunks) == len(documents) == queries
    for found in chunks:
        pairs = list(zip(found.ordinals.tolist(), found.scores.tolist(), strict=True))
        assert pairs == index.model_chunks(top_k, allowed)
        assert found.chunks.tolist() == found.ordinals.tolist()
    for found in documents:
        rows = list(zip(found.ordinals.tolist(), found.scores.tolist(), found.chunks.tolist(), strict=True))
        assert rows == index.model_documents(top_k, allowed)


def test_rankings_are_those_of_the_model():
    check_model()


def test_rankings_are_those_of_the_model_when_the_pool_has_to_be_deepened(shallow):
    check_model()


def test_a_chunk_outside_the_pool_that_ties_only_after_rounding_is_found(monkeypatch):
    monkeypatch.setattr(ranking, "_MARGIN", 1)
    monkeypatch.setattr(ranking, "MAXP_DEPTH", 1)
    index = Scored([1.00004, 1.00003, 1.00002], range(3), ["y", "z", "a"])
    assert rank_chunks(index, ["q"], 1)[0].ordinals.tolist() == [2]
    assert rank_documents(index, ["q"], 1)[0].ordinals.tolist() == [2]


def test_a_tie_at_the_cut_is_fetched_to_its_end(shallow):
    """200 chunks tie; the engine would give any of them, the ids say which."""
    ids = [f"{n:03}" for n in reversed(range(200))]
    index = Scored([1.0] * 200, range(200), ids)
    [found] = rank_documents(index, ["q"], 3)
    assert [ids[d] for d in found.ordinals] == ["000", "001", "002"]
    assert index.depths == [3, 12, 48, 192, 768]


def test_a_document_that_fills_the_pool_alone_does_not_hide_the_others(shallow):
    index = Scored([5.0] * 500 + [1.0, 2.0], [0] * 500 + [1, 2], ["many", "one", "two"])
    [found] = rank_documents(index, ["q"], 3)
    assert found.ordinals.tolist() == [0, 2, 1]
    assert found.chunks.tolist() == [0, 501, 500]


def test_only_queries_that_are_not_certain_are_asked_again(monkeypatch):
    monkeypatch.setattr(ranking, "_MARGIN", 0)
    asked = []

    class Two(Scored):
        def candidates_many(self, queries, depth, allowed=None):
            asked.append((list(queries), depth))
            whole = self.candidates(len(self.scores), allowed)
            return [whole if query == "easy" else self.candidates(depth, allowed) for query in queries]

    rank_chunks(Two([1.0] * 20, range(20), [f"{n:02}" for n in range(20)]), ["easy", "hard"], 2)
    assert asked == [(["easy", "hard"], 2), (["hard"], 8), (["hard"], 32)]


def test_maxp_looks_at_10_000_chunks_at_least_and_chunks_at_no_more_than_needed():
    index = Scored([1.0, 2.0], [0, 1], ["a", "b"])
    rank_documents(index, ["q"], 5)
    rank_documents(index, ["q"], 20_000)
    rank_chunks(index, ["q"], 5)
    assert index.depths == [10_000, 20_100, 105]


def test_scores_are_ordered_rounded_and_returned_unrounded():
    index = Scored([1.00001, 1.00004, 1.00006], [0, 1, 2], ["b", "a", "c"])
    [found] = rank_chunks(index, ["q"], 3)
    assert found.ordinals.tolist() == [2, 1, 0]
    assert found.scores.tolist() == index.scores[[2, 1, 0]].tolist()


@given(st.lists(st.floats(0, 1_000, width=32), max_size=30))
def test_rounding_is_that_of_python_to_four_decimals(scores):
    expected = [round(float(np.float32(score)), 4) for score in scores]
    assert (rounded(np.array(scores, np.float32)) / 10_000).tolist() == expected


@given(st.lists(st.text(max_size=3), unique=True))
def test_ids_are_ordered_by_code_point(ids):
    order = code_point_order(ids)
    assert [ids[i] for i in np.argsort(order)] == sorted(ids)
    assert "\uffff" < "😀", "UTF-16, and so Java, has them the other way round"


def test_the_chunk_that_stands_for_a_document_is_the_first_of_its_rounded_best():
    hits = Hits(np.array([2, 0, 1]), np.array([1.00002, 0.5, 1.0], np.float32), True)
    found = max_p(hits, np.array([0, 0, 0]), np.array([0]), 10)
    assert found.chunks.tolist() == [1]
    assert found.scores.tolist() == [np.float32(1.00002)]


@pytest.mark.parametrize("top_k", [1, 10, 299, 300, 599, 600, 700])
def test_the_best_of_many_documents_come_in_order(top_k) -> None:
    scores = np.random.default_rng(0).integers(1, 200, 600) / 100
    index = Scored(scores.tolist(), range(600), [str(i) for i in range(600)])
    [found] = rank_documents(index, ["any"], top_k)
    rows = list(zip(found.ordinals.tolist(), found.scores.tolist(), found.chunks.tolist(), strict=True))
    assert rows == index.model_documents(top_k, None)
