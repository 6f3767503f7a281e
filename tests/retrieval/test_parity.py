"""Two indexes of the same chunks are compared query by query."""

import pytest

from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
from autoindex_haystack.retrieval.parity import Parity, compare_indexes

TEXTS = ["a heated wing", "a cold engine", "the wing of a glider, long and thin", "nothing of interest"]
QUERIES = {"q1": "wing", "q2": "cold engines and an engine", "q3": "the"}


def _index(texts=TEXTS, **settings) -> Bm25sIndex:
    return Bm25sIndex.build(ChunkTable.of_texts(texts), BM25Settings(**settings))


def test_an_index_agrees_with_itself():
    parity = compare_indexes(_index(), _index(), QUERIES)
    assert list(parity.queries) == list(QUERIES)
    assert parity.mean_overlap(10) == parity.min_overlap(100) == 1.0
    query, difference = parity.largest_absolute
    assert query in QUERIES
    assert difference.absolute == difference.relative == 0.0


def test_a_query_that_neither_answers_is_agreement():
    parity = compare_indexes(_index(), _index(), {"q": "the"})
    assert parity.queries["q"].overlap == {10: 1.0, 100: 1.0}
    assert parity.queries["q"].shared == 0
    assert parity.largest_absolute is None
    assert parity.largest_relative is None


def test_differences_are_those_of_shared_documents():
    first, second = _index(), _index(b=0.0)
    parity = compare_indexes(first, second, QUERIES)
    query, difference = parity.largest_absolute
    [one], [other] = (index.search_documents([QUERIES[query]], 10) for index in (first, second))
    scores = [dict(zip(found.ordinals.tolist(), found.scores.tolist(), strict=True)) for found in (one, other)]
    gaps = {document: abs(scores[0][document] - scores[1][document]) for document in scores[0]}
    assert difference.absolute == max(gaps.values()) > 0
    assert difference.document_id == str(max(gaps, key=gaps.get))
    assert difference.relative == difference.absolute / max(difference.first, difference.second)


def test_overlap_counts_the_documents_that_both_put_first():
    texts = ["wing wing wing and many words all along the river behind it", "wing", "wing tip", "wing root here"]
    parity = compare_indexes(_index(texts), _index(texts, b=0.0), {"q": "wing"}, depths=(1, 2, 4))
    assert parity.queries["q"].overlap == {1: 0.0, 2: 0.5, 4: 1.0}
    assert parity.queries["q"].shared == 4


def test_indexes_of_other_chunks_are_refused():
    with pytest.raises(ValueError, match="same chunks"):
        compare_indexes(_index(), _index(TEXTS[:2]), QUERIES)


def test_no_queries_agree():
    assert Parity().mean_overlap(10) == Parity().min_overlap(10) == 1.0
