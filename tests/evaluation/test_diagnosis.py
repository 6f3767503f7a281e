"""Why a document is missed is computed from BM25 itself: every reason has its case, every figure its index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation.diagnosis import Diagnosis, Reason, count_terms
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.lucene_model import Departures

WORDS = st.sampled_from("wing wings heated heating ice cold engine the größe naive".split())
TEXTS = st.lists(WORDS, max_size=15).map(" ".join)


def diagnosis_of(chunks, documents, query, settings=None):
    """A diagnosis where each document has the given chunks."""
    texts = [text for row in chunks for text in row]
    owners = np.repeat(np.arange(len(chunks)), [len(row) for row in chunks])
    table = ChunkTable(texts, owners, [document.doc_id for document in documents])
    postings = count_terms(table, [query], settings or BM25Settings())
    return Diagnosis(postings, documents, {"q": query}, {"q": {documents[0].doc_id: 1, "gone": 1}})


def missed(text, query, *, chunks=None, rivals="wing ice", count=100, title=""):
    """The miss of a document that competes with a hundred rivals."""
    documents = [Document("d", text, {"title": title} if title else {})]
    documents += [Document(f"r{i}", rivals) for i in range(count)]
    rows = [
        chunks if chunks is not None else [f"{title}\n{text}" if title else text],
        *([rivals] for _ in range(count)),
    ]
    return diagnosis_of(rows, documents, query).diagnose("q", "d")


@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(TEXTS, max_size=3), min_size=1, max_size=8),
    query=TEXTS,
    k1=st.sampled_from([0.0, 0.9, 1.5]),
    b=st.sampled_from([0.0, 0.4, 1.0]),
    norms=st.sampled_from(["exact", "lucene"]),
)
def test_ranking_and_scores_are_those_of_the_index(rows, query, k1, b, norms):
    rows = [*rows, ["wing ice engine"]]
    chosen = BM25Settings(k1=k1, b=b)
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    table = ChunkTable([text for row in rows for text in row], owners, [f"d{i}" for i in range(len(rows))])
    [expected] = Bm25sIndex.build(table, chosen, norms=norms).search_documents([query], 100)
    departures = Departures() if norms == "lucene" else None
    postings = count_terms(table, [query, "another query"], chosen, departures)
    found = postings.rank(query, 100)
    assert found.ordinals.tolist() == expected.ordinals.tolist()
    assert found.scores == pytest.approx(expected.scores, rel=1e-5)
    if norms == "exact":
        documents = [Document(f"d{i}", " ".join(row)) for i, row in enumerate(rows)]
        diagnosis = Diagnosis(postings, documents, {"q": query}, {})
        for rank, (number, score) in enumerate(zip(expected.ordinals.tolist(), expected.scores, strict=True), start=1):
            miss = diagnosis.diagnose("q", f"d{number}")
            assert (miss.reason, miss.figures["rank"]) == (Reason.FOUND, rank)
            assert miss.figures["score"] == pytest.approx(score, rel=1e-5)


def test_a_document_that_is_found_is_no_miss():
    miss = missed("wing ice", "wing ice", rivals="a cold engine")
    assert (miss.reason, miss.figures["rank"]) == (Reason.FOUND, 1)


def test_a_judged_document_outside_the_corpus():
    found = diagnosis_of([["wing"]], [Document("d", "wing")], "wing").misses()
    assert [(miss.doc_id, miss.reason) for miss in found] == [("gone", Reason.NOT_IN_CORPUS)]


def test_a_query_of_stop_words():
    assert missed("the wing", "the of").reason == Reason.EMPTY_QUERY


@pytest.mark.parametrize("chunks", [[], [""], ["the", "of"]])
def test_a_document_without_index_text(chunks):
    assert missed("wing", "wing", chunks=chunks).reason == Reason.UNREACHABLE


def test_no_term_in_any_form():
    miss = missed("cold engine", "wing ice")
    assert miss.reason == Reason.NO_SHARED_TERM
    assert "2 terms" in miss.explanation


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("heating", "heated"),
        ("café", "cafe"),
        ("ｃａｆｅ", "cafe"),
        ("data-base", "database"),
        ("parseHtml", "parse"),
        ("read_lines", "lines"),
    ],
)
def test_other_forms_of_the_terms(said, asked):
    miss = missed(f"{said} of something", f"{asked} wing", rivals="wing wing tip")
    assert miss.reason == Reason.VARIANT_FORM
    assert repr(said.lower()) in miss.explanation
    assert repr(asked) in miss.explanation


def test_terms_that_the_program_leaves_out():
    miss = missed("Depends: ice\nAbout: wing", "wing ice", chunks=["wing"], rivals="wing tip tail ice")
    assert miss.reason == Reason.DROPPED
    assert "'ice' (1 times)" in miss.explanation


def test_terms_in_different_chunks():
    text = "the wing grows and the ice melts"
    miss = missed(text, "wing ice", chunks=["wing grows", "ice melts"], rivals="wing ice " + "word " * 30)
    assert miss.reason == Reason.SPLIT


def test_a_part_that_the_rest_drowns():
    text = "\n\n".join(["nothing here " * 30, "ice on a wing", "nothing there " * 60])
    miss = missed(text, "ice wing", rivals="ice wing " + "word " * 10)
    assert miss.reason == Reason.DROWNED
    assert miss.figures["part"] == {"begins": "ice on a wing", "tokens": 2}


def test_a_long_document():
    text = " ".join(f"wing ice filler{i} filler{i}" for i in range(150))
    miss = missed(text, "wing ice", rivals="wing wing ice ice ice wing wing ice ice wing tip")
    assert miss.reason == Reason.LENGTH
    assert miss.figures["if"]["length"] > miss.figures["cut"] > miss.figures["score"]


def test_few_of_the_terms():
    miss = missed("wing", "wing engine cold starter", rivals="wing engine engine")
    assert miss.reason == Reason.FEW_TERMS
    assert "'cold', 'starter'" in miss.explanation


def test_others_have_more_of_it():
    miss = missed("wing ice", "wing ice", rivals="wing ice ice wing")
    assert miss.reason == Reason.CROWDED_OUT
    assert "rank 101" in miss.explanation


@settings(max_examples=60)
@given(text=TEXTS, query=TEXTS, rivals=TEXTS, title=TEXTS, rest=st.lists(TEXTS, max_size=2))
def test_a_cure_is_named_only_when_it_would_bring_the_document_in(text, query, rivals, title, rest):
    miss = missed(text, query, chunks=[text, *rest], rivals=rivals, title=title)
    assert "\n" not in miss.explanation
    assert miss.as_dict()["reason"] == miss.reason
    if miss.reason in miss.figures.get("if", {}):
        assert miss.figures["if"][miss.reason] > miss.figures["cut"]
    if miss.reason == Reason.FOUND:
        assert miss.figures["rank"] <= 100
    elif tokenize(query) and tokenize(" ".join([text, *rest])):
        assert miss.figures["rank"] is None or miss.figures["rank"] > 100
