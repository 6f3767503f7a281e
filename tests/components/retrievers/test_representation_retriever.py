"""The retriever: original documents with their best chunk, filters and policies, and its place in Haystack."""

import asyncio

import pytest
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.types import TextRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import FilterPolicy
from haystack.errors import FilterError

from haystack_integrations.common.autoindex import make_chunks
from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

SOURCES = [
    Document(
        id="aircraft", content="Wings lift. Engines push.", meta={"lang": "en", "year": 1, "source_id": "shelf 3"}
    ),
    Document(id="birds", content="Birds have a wing on each side of the body.", meta={"lang": "en", "year": 2}),
    Document(id="vogel", content="Wing heißt Flügel.", meta={"lang": "de", "year": 1}),
]
GERMAN = {"field": "meta.lang", "operator": "==", "value": "de"}
FIRST_YEAR = {"field": "meta.year", "operator": "==", "value": 1}


@pytest.fixture
def store(store_class):
    """A chunk a sentence, in the index's own words."""
    store = store_class()
    texts = {"aircraft": ["wing lift wing", "engine push"], "birds": ["bird wing side body"], "vogel": ["wing Flügel"]}
    for source in SOURCES:
        store.write_documents(make_chunks(source, texts[source.id], [None] * len(texts[source.id]), "hash"))
    return store


def ids(result: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in result["documents"]]


def test_original_documents_come_back_with_their_best_chunk(store) -> None:
    found = RepresentationRetriever(store).run(query="push engine")["documents"]
    [document] = found
    score = document.score
    assert score is not None
    assert score > 0
    assert document.meta.pop("best_chunk") == {
        "id": "aircraft#1",
        "content": "engine push",
        "split_id": 1,
        "score": score,
    }
    assert (document.id, document.content, document.meta) == ("aircraft", SOURCES[0].content, SOURCES[0].meta)


def test_scores_are_raw_and_fall(store) -> None:
    found = RepresentationRetriever(store).run(query="wing")["documents"]
    scores = [document.score for document in found]
    assert sorted(scores, reverse=True) == scores
    assert {document.id for document in found} == {"aircraft", "birds", "vogel"}
    chunks = {chunk.id: chunk.score for chunk in store.search("wing")}
    assert {document.meta["best_chunk"]["id"]: document.score for document in found} == chunks


def test_return_chunks_gives_what_is_indexed(store) -> None:
    for found in (
        RepresentationRetriever(store, return_chunks=True).run("wing lift push"),
        RepresentationRetriever(store).run("wing lift push", return_chunks=True),
    ):
        assert set(ids(found)) == {"aircraft#0", "aircraft#1", "birds#0", "vogel#0"}
        assert found["documents"][0].content == "wing lift wing"
        assert found["documents"][0].meta["program_sha256"] == "hash"
    assert len(RepresentationRetriever(store, return_chunks=True).run("wing", return_chunks=False)["documents"]) == 3


def test_documents_written_without_the_preprocessor_stand_for_themselves(store_class) -> None:
    store = store_class()
    store.write_documents([Document(id="a", content="wing one", meta={"x": 1}), Document(id="b", content="wing two")])
    found = RepresentationRetriever(store).run("one")["documents"]
    assert [(document.id, document.content, document.meta["x"]) for document in found] == [("a", "wing one", 1)]
    assert found[0].meta["best_chunk"]["id"] == "a"


def test_filters_given_at_run_time_replace_or_merge(store) -> None:
    replacing = RepresentationRetriever(store, filters=FIRST_YEAR)
    assert set(ids(replacing.run("wing"))) == {"aircraft", "vogel"}
    english = {**GERMAN, "value": "en"}
    assert set(ids(replacing.run("wing", filters=english))) == {"aircraft", "birds"}
    merging = RepresentationRetriever(store, filters=FIRST_YEAR, filter_policy=FilterPolicy.MERGE)
    assert ids(merging.run("wing", filters=english)) == ["aircraft"]
    assert ids(merging.run("wing", filters=english, return_chunks=True)) == ["aircraft#0"]


def test_filters_apply_before_top_k(store) -> None:
    retriever = RepresentationRetriever(store, top_k=1)
    assert ids(retriever.run("wing lift")) == ["aircraft"]
    assert ids(retriever.run("wing lift", filters=GERMAN)) == ["vogel"]
    with pytest.raises(FilterError):
        retriever.run("wing", filters={"field": "meta.lang", "value": "de"})


def test_top_k_at_run_time_wins(store) -> None:
    retriever = RepresentationRetriever(store, top_k=2)
    assert len(retriever.run("wing")["documents"]) == 2
    assert len(retriever.run("wing", top_k=1)["documents"]) == 1
    assert len(retriever.run("wing", top_k=1_000)["documents"]) == 3
    assert retriever.run("wing", top_k=0)["documents"] == []


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_top_k_that_is_no_number_of_documents_is_refused(store, top_k) -> None:
    with pytest.raises(ValueError, match="top_k"):
        RepresentationRetriever(store, top_k=top_k)
    with pytest.raises(ValueError, match="top_k"):
        RepresentationRetriever(store).run("wing", top_k=-1)


def test_other_stores_are_refused() -> None:
    for other in (InMemoryDocumentStore(), None, "store"):
        with pytest.raises(TypeError, match="document_store must be an instance of"):
            RepresentationRetriever(other)


@pytest.mark.parametrize("query", ["", "the of", "zebra"])
def test_a_query_that_matches_nothing_gives_nothing(store, query) -> None:
    assert RepresentationRetriever(store).run(query)["documents"] == []


async def test_run_async_gives_the_same_under_concurrency(store) -> None:
    retriever = RepresentationRetriever(store, filters=FIRST_YEAR)
    results = await asyncio.gather(*(retriever.run_async("wing", top_k=1 + i % 3) for i in range(16)))
    assert results == [retriever.run("wing", top_k=1 + i % 3) for i in range(16)]
    with pytest.raises(ValueError, match="top_k"):
        await retriever.run_async("wing", top_k=-1)


def test_it_is_a_text_retriever_of_haystack(store) -> None:
    retriever: TextRetriever = RepresentationRetriever(store)
    assert ids(retriever.run("Flügel", None, 5)) == ["vogel"]


def test_round_trip_of_parameters(store_class, tmp_path) -> None:
    store = store_class(str(tmp_path / "store"), k1=0.9)
    retriever = RepresentationRetriever(
        store, filters=GERMAN, top_k=3, filter_policy=FilterPolicy.MERGE, return_chunks=True
    )
    data = retriever.to_dict()
    assert data == {
        "type": "haystack_integrations.components.retrievers.autoindex.representation_retriever"
        ".RepresentationRetriever",
        "init_parameters": {
            "document_store": store.to_dict(),
            "filters": GERMAN,
            "top_k": 3,
            "filter_policy": "merge",
            "return_chunks": True,
        },
    }
    again = RepresentationRetriever.from_dict(data)
    assert again.to_dict() == data
    assert type(again.document_store) is store_class
    assert again.filter_policy is FilterPolicy.MERGE
    assert data["init_parameters"]["filter_policy"] == "merge"
    defaults = RepresentationRetriever(Bm25sDocumentStore()).to_dict()["init_parameters"]
    assert {key: defaults[key] for key in ("filters", "top_k", "filter_policy", "return_chunks")} == {
        "filters": None,
        "top_k": 10,
        "filter_policy": "replace",
        "return_chunks": False,
    }


def test_its_documents_join_with_those_of_other_retrievers(store) -> None:
    pipeline = Pipeline()
    pipeline.add_component("first", RepresentationRetriever(store))
    pipeline.add_component("second", RepresentationRetriever(store, filters=GERMAN))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("first", "joiner")
    pipeline.connect("second", "joiner")
    found = pipeline.run({"first": {"query": "wing"}, "second": {"query": "wing"}})["joiner"]
    assert ids(found)[0] == "vogel"
    assert sorted(ids(found)) == ["aircraft", "birds", "vogel"]
