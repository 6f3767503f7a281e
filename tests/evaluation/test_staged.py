"""A stage says of a program what can be said from part of a corpus: an estimate, and a bound that holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.collection import Collection, Document
from autoindex_haystack.evaluation import Evaluator, means
from autoindex_haystack.evaluation.diagnosis import count_terms
from autoindex_haystack.evaluation.readings import rank_and_score
from autoindex_haystack.evaluation.staged import (
    Estimate,
    Stage,
    choose_stage,
    estimate,
    most_scores,
    recall_error,
)
from autoindex_haystack.program import builtin_program
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable

IDS = [f"d{i:03}" for i in range(160)]
WORDS = "wing engine tail rudder ice flap".split()


def table(corpus: list[list[str]], documents: np.ndarray | None = None) -> ChunkTable:
    """A table of the chunks of each document, of some of the documents only when they are named."""
    chosen = range(len(corpus)) if documents is None else documents.tolist()
    texts = [text for i in chosen for text in corpus[i]]
    owners = np.array([i for i in chosen for _ in corpus[i]], np.int64)
    return ChunkTable(texts, owners, IDS[: len(corpus)])


def true_scores(corpus, queries, qrels):
    with Bm25sIndex.build(table(corpus), BM25Settings()) as index:
        return rank_and_score(index, queries, qrels)[1]


@st.composite
def problems(draw):
    """A corpus of up to three chunks a document, queries, judgments and a part that has all judged documents."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    words = WORDS[: draw(st.integers(1, 6))]
    longest = draw(st.integers(1, 8))
    corpus = [
        [
            " ".join(rng.choice([*words, "other", "more"], rng.integers(0, longest + 1)))
            for _ in range(rng.integers(0, 4))
        ]
        for _ in IDS
    ]
    queries = {f"q{n}": " ".join(rng.choice(words, rng.integers(1, 4))) for n in range(3)}
    qrels = {}
    for query in queries:
        grades = [2, *rng.integers(0, 2, 7).tolist()]
        qrels[query] = dict(zip(rng.choice([*IDS, "gone"], 8, replace=False).tolist(), grades, strict=True))
    judged = {IDS.index(d) for grades in qrels.values() for d in grades if d in IDS}
    others = [i for i in range(len(IDS)) if i not in judged]
    part = sorted(judged | set(rng.permutation(others)[: draw(st.integers(0, len(others)))].tolist()))
    return corpus, queries, qrels, np.array(part, np.int64)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_bound_holds_whatever_the_rest_of_the_corpus_is(problem):
    corpus, queries, qrels, part = problem
    postings = count_terms(table(corpus, part), queries.values(), BM25Settings())
    most = most_scores(postings, queries, qrels)
    truth = true_scores(corpus, queries, qrels)
    assert all(truth[q][metric] <= value + 1e-12 for q in queries for metric, value in most[q].items())


@settings(max_examples=40, deadline=None)
@given(problems())
def test_a_stage_of_everything_estimates_the_figures_themselves(problem):
    corpus, queries, qrels, _ = problem
    everything = Stage(np.arange(len(IDS)), np.ones(len(IDS)))
    postings = count_terms(table(corpus), queries.values(), BM25Settings())
    found = estimate(postings, everything, queries, qrels)
    truth = true_scores(corpus, queries, qrels)
    for query, scores in found.scores.items():
        assert scores == pytest.approx({metric: truth[query][metric] for metric in scores})
    assert recall_error(found, found) == 0.0


def bound(corpus, query="wing", relevant="d150"):
    postings = count_terms(table(corpus), [query], BM25Settings())
    most = most_scores(postings, {"q": query}, {"q": {relevant: 1}})["q"]
    assert most["recall@100"] == most["ndcg@10"]
    return most["recall@100"]


def test_a_document_behind_a_hundred_that_are_at_least_as_good_is_never_found():
    better, worse = ["wing ice"], ["wing ice and snow"]
    assert bound([better] * 100 + [[]] * 50 + [worse]) == 0
    assert bound([better] * 99 + [[]] * 51 + [worse]) == 1
    assert bound([["wing ice"]] * 100 + [[]] * 50 + [["wing"]]) == 1, "a longer one may come behind"
    assert bound([["wing"]] * 100 + [[]] * 50 + [["wing engine"]], "wing engine") == 1, "it has another term"
    assert bound([better] * 100 + [[]] * 50 + [["wing ice"]]) == 0, "of equal ones the smaller ids come first"
    assert bound([[]] * 10 + [better] * 100 + [worse] * 41, relevant="d000") == 0, "it has no chunk"
    assert bound([["wing ice"], *[["wing ice"]] * 150], relevant="d000") == 1


def test_one_document_with_many_chunks_stands_in_the_way_once_and_each_chunk_needs_its_better():
    assert bound([["wing"] * 100] + [[]] * 149 + [["wing and snow"]]) == 1
    good = ["wing engine"]
    assert bound([good] * 100 + [[]] * 50 + [["wing engine ice", "engine ice wing tail"]], "wing engine") == 0
    assert bound([good] * 100 + [[]] * 50 + [["wing engine ice", "engine engine"]], "wing engine") == 1


def test_a_stage_has_the_judged_documents_then_the_best_ranked_then_a_sample_that_stands_for_the_rest():
    ids = [str(i) for i in range(1_000)]
    rankings = {"a": [("500", 2.0), ("501", 1.0), ("3", 0.5)], "b": [("502", 9.0)]}
    stage = choose_stage(ids, ["3", "4", "gone"], rankings, size=8, seed=1)
    assert len(stage) == 8
    assert {3, 4, 500, 501, 502} <= set(stage.ordinals.tolist())
    assert stage.ordinals.tolist() == sorted(stage.ordinals)
    certain = np.isin(stage.ordinals, [3, 4, 500, 501, 502])
    assert (stage.weights[certain] == 1).all()
    assert stage.weights.sum() == pytest.approx(1_000)
    again = choose_stage(ids, ["3", "4", "gone"], rankings, size=8, seed=1)
    assert again.ordinals.tolist() == stage.ordinals.tolist()
    assert choose_stage(ids, ["3", "4"], rankings, size=8, seed=2).ordinals.tolist() != stage.ordinals.tolist()
    assert choose_stage(ids, ["3", "4"], {"a": rankings["a"]}, size=3).ordinals.tolist()[:2] == [3, 4]
    crowded = choose_stage(ids, ids[:900], rankings, size=80)
    assert len(crowded) == 940, "what is judged is in, and half of the size is for others all the same"
    assert crowded.weights.max() == 2.5
    assert choose_stage(ids[:5], [], {}, size=8).weights.tolist() == [1.0] * 5


def test_an_estimate_is_near_the_truth_on_a_sample():
    """The middle of many samples: no systematic error that would keep good programs back."""
    rng = np.random.default_rng(0)
    corpus = [[" ".join(rng.choice(WORDS, rng.integers(1, 12)))] for _ in IDS]
    queries = {f"q{n}": " ".join(rng.choice(WORDS, 2)) for n in range(20)}
    qrels = {query: dict.fromkeys(rng.choice(IDS, 3).tolist(), 1) for query in queries}
    judged = {document for grades in qrels.values() for document in grades}
    truth = means(true_scores(corpus, queries, qrels))["recall@100"]
    estimates = []
    for seed in range(40):
        stage = choose_stage(IDS, judged, {}, size=100, seed=seed)
        postings = count_terms(table(corpus, stage.ordinals), queries.values(), BM25Settings())
        found = estimate(postings, stage, queries, qrels)
        estimates.append(np.mean([scores["recall@100"] for scores in found.scores.values()]))
    assert np.mean(estimates) == pytest.approx(truth, abs=0.02)
    assert np.std(estimates) > 0


def test_the_error_of_a_gain_counts_only_what_changed():
    old = Estimate({"a": np.array([0.5, 1.0]), "b": np.array([0.0])}, {})
    new = Estimate({"a": np.array([0.5, 0.5]), "b": np.array([0.0])}, {})
    assert recall_error(new, old) == pytest.approx(np.sqrt(0.25 / 4) / 2)


def test_the_postings_of_a_part_are_those_of_its_chunks_however_they_are_read():
    documents = [Document(name, f"{text} wing", {"title": "Ice"}) for name, text in zip("abcde", WORDS, strict=False)]
    queries = {"q": "wing engine", "r": "ice ice unknown"}
    collection = Collection("parts", documents, queries, {"q": {"a": 1}, "r": {"b": 1}})
    found = []
    for exact in (False, True):
        with Evaluator(collection, exact=exact) as evaluator:
            begun = evaluator.begin(builtin_program("full_document"), queries, np.array([4, 1]))
            counted = begun.reading.postings()
            assert counted.documents.tolist() == [1, 4]
            rows = {term: counted.row(term) for term in ("wing", "engine", "ice", "unknown", "nothing")}
            inner = counted.postings
            found.append(
                (
                    {t: (inner.chunks[row].tolist(), inner.frequencies[row].tolist()) for t, row in rows.items()},
                    inner.lengths.tolist(),
                )
            )
            assert evaluator.evaluate(builtin_program("full_document"), queries, begun=begun).chunks == 5
    assert found[0] == found[-1]
    assert found[0][0]["engine"] == ([0], [1.0])
    assert found[0][0]["ice"] == ([0, 1], [1.0, 2.0])
    assert found[0][1] == [3, 3]
