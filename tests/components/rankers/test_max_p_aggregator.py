"""The aggregator: one document a source, the core's MaxP on any ranking, clear rules for what is missing."""

from copy import deepcopy

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.retrieval import Hits
from autoindex_haystack.retrieval.ranking import code_point_order, max_p
from haystack_integrations.common.autoindex import make_chunks
from haystack_integrations.components.rankers.autoindex import MaxPAggregator
from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever

SOURCES = ["b", "a", "é", "10", "9"]


def chunk(id_: str, source: object, score: float | None) -> Document:
    return Document(id=id_, content=id_, meta={} if source is None else {"source_id": source}, score=score)


def ranked(documents: list[Document]) -> list[tuple[str, float | None]]:
    return [(document.id, document.score) for document in documents]


@given(
    hits=st.lists(
        st.tuples(
            st.sampled_from(SOURCES), st.sampled_from([1.0, 1.00001, 1.00006, 2.5]) | st.floats(0.125, 50, width=32)
        ),
        max_size=30,
    ),
    top_k=st.integers(1, 6),
)
def test_it_equals_the_cores_max_p(hits, top_k) -> None:
    # The core wants the chunks of a document to stand together; the component does not.
    hits = sorted(hits, key=lambda hit: SOURCES.index(hit[0]))
    documents = [chunk(f"{i}", source, float(np.float32(score))) for i, (source, score) in enumerate(hits)]
    owners = np.array([SOURCES.index(source) for source, _ in hits], np.int64)
    scores = np.array([score for _, score in hits], np.float32)
    expected = max_p(Hits(np.arange(len(hits)), scores, True), owners, code_point_order(SOURCES), top_k)
    found = MaxPAggregator(top_k=top_k).run(documents=documents)["documents"]
    assert [document.meta["source_id"] for document in found] == [SOURCES[i] for i in expected.ordinals]
    assert [document.score for document in found] == expected.scores.tolist()
    assert [document.id for document in found] == [f"{i}" for i in expected.chunks]


def test_it_equals_the_retrievers_own_ranking(store_class) -> None:
    store = store_class()
    random = np.random.default_rng(1)
    for i in range(20):
        texts = [" ".join(random.choice(["wing", "heat", "ice", "flow"], 3)) for _ in range(3)]
        store.write_documents(make_chunks(Document(id=f"d{i}", content="x"), texts, [None] * 3, "hash"))
    for query in ("wing ice", "flow"):
        chunks = RepresentationRetriever(store, return_chunks=True, top_k=1_000).run(query)["documents"]
        documents = RepresentationRetriever(store, top_k=1_000).run(query)["documents"]
        found = MaxPAggregator().run(documents=chunks)["documents"]
        assert [(one.meta["source_id"], one.id, one.score) for one in found] == [
            (document.id, document.meta["best_chunk"]["id"], document.score) for document in documents
        ]


def test_scores_in_double_precision_stay_as_they_are() -> None:
    [found] = MaxPAggregator().run(documents=[chunk("x", "a", 0.1), chunk("y", "a", 0.05)])["documents"]
    assert found.score == 0.1


def test_ties_after_rounding_are_ordered_by_source() -> None:
    documents = [chunk("1", "b", 1.00004), chunk("2", "a", 1.0), chunk("3", "c", 1.0002)]
    assert ranked(MaxPAggregator().run(documents=documents)["documents"]) == [("3", 1.0002), ("2", 1.0), ("1", 1.00004)]


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("max", [("a2", 5.0), ("b1", 4.0)]),
        ("first", [("b1", 4.0), ("a1", 1.0)]),
        ("sum", [("b1", 12.0), ("a2", 10.0)]),
        ("mean", [("a2", 4.5), ("b1", 4.0)]),
    ],
)
def test_a_document_can_be_scored_in_four_ways(aggregation, expected) -> None:
    scores = {"a1": 1.0, "b1": 4.0, "a2": 5.0, "b2": 4.0, "b3": 4.0, "a3": 4.0}
    documents = [chunk(id_, id_[0], score) for id_, score in scores.items()]
    aggregator = MaxPAggregator(aggregation=aggregation, mean_of=2)
    assert ranked(aggregator.run(documents=documents)["documents"]) == expected


def test_the_mean_of_few_chunks_is_that_of_those_there_are() -> None:
    documents = [chunk("a1", "a", 3.0), chunk("b1", "b", 4.0), chunk("b2", "b", 1.0)]
    found = MaxPAggregator(aggregation="mean", mean_of=10).run(documents=documents)["documents"]
    assert ranked(found) == [("a1", 3.0), ("b1", 2.5)]


@pytest.mark.parametrize("aggregation", ["max", "first", "sum", "mean"])
def test_documents_without_a_score_come_last_in_input_order(aggregation) -> None:
    nan = float("nan")
    documents = [
        chunk("z1", "z", None),
        chunk("a1", "a", nan),
        chunk("b1", "b", None),
        chunk("b2", "b", -3.0),
        chunk("c1", "c", float("inf")),
        chunk("z2", "z", None),
    ]
    found = MaxPAggregator(aggregation=aggregation).run(documents=documents)["documents"]
    assert [document.id for document in found] == ["b2", "z1", "a1", "c1"]
    assert found[0].score == -3.0
    assert found[1].score is None


def test_an_empty_input_gives_an_empty_output() -> None:
    assert MaxPAggregator().run(documents=[]) == {"documents": []}


@pytest.mark.parametrize("source", [None, "explicit none"])
def test_a_missing_source_is_an_error_or_stands_for_itself(source) -> None:
    missing = chunk("lonely", None, 2.0)
    if source:
        missing = Document(id="lonely", content="lonely", meta={"source_id": None}, score=2.0)
    documents = [chunk("a1", "a", 1.0), missing, chunk("a2", "a", 3.0)]
    with pytest.raises(ValueError, match="'source_id' in their metadata, but lonely has not"):
        MaxPAggregator().run(documents=documents)
    found = MaxPAggregator(raise_on_missing_meta_fields=False).run(documents=documents)["documents"]
    assert ranked(found) == [("a2", 3.0), ("lonely", 2.0)]


def test_the_source_key_can_be_named_and_may_hold_numbers() -> None:
    documents = [
        Document(id=f"{i}", content="x", meta={"file": number, "source_id": "same"}, score=score)
        for i, (number, score) in enumerate([(7, 1.0), (8, 2.0), (7, 3.0)])
    ]
    assert ranked(MaxPAggregator("file").run(documents=documents)["documents"]) == [("2", 3.0), ("1", 2.0)]


def test_top_k_at_run_time_wins() -> None:
    documents = [chunk(f"{i}", f"s{i}", float(i)) for i in range(5)]
    aggregator = MaxPAggregator(top_k=2)
    assert len(aggregator.run(documents=documents)["documents"]) == 2
    assert [document.id for document in aggregator.run(documents=documents, top_k=3)["documents"]] == ["4", "3", "2"]
    assert len(MaxPAggregator().run(documents=documents)["documents"]) == 5


@pytest.mark.parametrize("parameters", [{"top_k": 0}, {"top_k": -1}, {"mean_of": 0}, {"aggregation": "median"}])
def test_impossible_parameters_are_refused(parameters) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        MaxPAggregator(**parameters)
    with pytest.raises(ValueError, match="top_k"):
        MaxPAggregator().run(documents=[], top_k=0)


@pytest.mark.parametrize("documents", [None, "text", [1], (chunk("a", "a", 1.0),)])
def test_anything_but_a_list_of_documents_is_a_type_error(documents) -> None:
    with pytest.raises(TypeError, match="expects a list of Documents"):
        MaxPAggregator().run(documents=documents)


def test_inputs_are_not_changed() -> None:
    documents = [chunk("1", "a", 1.0), chunk("2", "a", 1.00001), chunk("3", "b", None)]
    before = deepcopy(documents)
    assert MaxPAggregator().run(documents=documents)["documents"][0].score == 1.00001
    assert documents == before


async def test_run_async_gives_the_same() -> None:
    documents = [chunk(f"{i}", f"s{i % 2}", float(i)) for i in range(5)]
    assert await MaxPAggregator().run_async(documents=documents, top_k=1) == MaxPAggregator().run(documents, top_k=1)


def test_round_trip_of_parameters() -> None:
    parameters = {
        "source_key": "file",
        "top_k": 3,
        "aggregation": "mean",
        "mean_of": 2,
        "raise_on_missing_meta_fields": False,
    }
    data = MaxPAggregator(**parameters).to_dict()
    assert data == {
        "type": "haystack_integrations.components.rankers.autoindex.max_p_aggregator.MaxPAggregator",
        "init_parameters": parameters,
    }
    assert MaxPAggregator.from_dict(data).to_dict() == data
    assert MaxPAggregator().to_dict()["init_parameters"] == {
        "source_key": "source_id",
        "top_k": None,
        "aggregation": "max",
        "mean_of": 3,
        "raise_on_missing_meta_fields": True,
    }


def test_it_follows_a_retriever_of_haystack() -> None:
    store = InMemoryDocumentStore(shared=False)
    for name, texts in {"aircraft": ["wing wing", "wing engine"], "birds": ["a bird with a wing"]}.items():
        store.write_documents(make_chunks(Document(id=name, content="x"), texts, [None] * len(texts), "hash"))
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("aggregator", MaxPAggregator())
    pipeline.connect("retriever", "aggregator")
    found = pipeline.run({"retriever": {"query": "wing"}})["aggregator"]["documents"]
    assert [document.meta["source_id"] for document in found] == ["aircraft", "birds"]
