"""Searching a store: the engine's own ranking, filters before the cut, MaxP over documents, nothing built twice."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
from haystack_integrations.common.autoindex import make_chunks
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore
from haystack_integrations.document_stores.autoindex.index_cache import IndexCache

WORDS = "wing heat ice engine cold starts lift drag flow shock wave jet nozzle plate".split()


@pytest.fixture
def store(store_class):
    return store_class()


def corpus(size: int, seed: int = 0) -> list[Document]:
    """Documents of one to four chunks of random words."""
    random = np.random.default_rng(seed)
    chunks = []
    for i in range(size):
        texts = [" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(random.integers(1, 5))]
        source = Document(id=f"d{i}", content=". ".join(texts), meta={"part": i % 3})
        chunks += make_chunks(source, texts, [None] * len(texts), "hash")
    return chunks


def test_chunks_come_in_the_engines_order_with_its_raw_scores(store) -> None:
    chunks = corpus(40)
    store.write_documents(chunks)
    ordered = sorted(chunks, key=lambda chunk: (chunk.meta["source_id"], chunk.meta["split_id"]))
    ids = sorted({chunk.meta["source_id"] for chunk in chunks})
    owners = np.array([ids.index(chunk.meta["source_id"]) for chunk in ordered])
    table = ChunkTable([chunk.content or "" for chunk in ordered], owners, ids)
    with get_backend(store.backend).build(table, BM25Settings()) as index:
        for query in ("ice on the wing", "shock wave drag", "heat"):
            [chunk_ranking], [ranking] = index.search([query], 15), index.search_documents([query], 15)
            found = store.search(query, top_k=15)
            assert [document.id for document in found] == [ordered[row].id for row in chunk_ranking.ordinals]
            assert [document.score for document in found] == chunk_ranking.scores.tolist()
            found = store.search_documents(query, top_k=15)
            assert [document.id for document in found] == [ids[ordinal] for ordinal in ranking.ordinals]
            assert [document.score for document in found] == ranking.scores.tolist()
            best = [document.meta["best_chunk"]["id"] for document in found]
            assert best == [ordered[row].id for row in ranking.chunks]


def test_the_order_does_not_depend_on_when_documents_were_written(store_class) -> None:
    chunks, found = corpus(30), []
    for order in (chunks, chunks[::-1]):
        store = store_class()
        for begin in range(0, len(order), 7):
            store.write_documents(order[begin : begin + 7])
        found.append([(document.id, document.score) for document in store.search("ice wing flow", top_k=100)])
    assert found[0] == found[1]


def test_equal_scores_are_ordered_by_id(store) -> None:
    store.write_documents([Document(id=id_, content="the same wing") for id_ in ("b", "é", "a", "Z", "10", "9")])
    assert [document.id for document in store.search_documents("wing")] == ["10", "9", "Z", "a", "b", "é"]


def test_filters_apply_before_the_cut(store) -> None:
    documents = [Document(id=f"{i}", content="wing " * (20 - i), meta={"kind": "bird"}) for i in range(10)]
    store.write_documents(
        [*documents, Document(id="last", content="a wing among many other words", meta={"kind": "x"})]
    )
    wanted = {"field": "meta.kind", "operator": "==", "value": "x"}
    for search in (store.search, store.search_documents):
        assert search("wing", top_k=1)[0].id != "last"
        assert [document.id for document in search("wing", top_k=1, filters=wanted)] == ["last"]
        assert search("wing", top_k=1, filters={**wanted, "value": "none"}) == []


def test_a_filter_that_leaves_out_the_first_chunk_still_finds_the_document(store) -> None:
    source = Document(id="doc", content="Wings. Engines.", meta={"lang": "en"})
    store.write_documents(make_chunks(source, ["wings", "engines"], [{"n": 0}, {"n": 1}], "hash"))
    wanted = {"field": "meta.n", "operator": "==", "value": 1}
    assert store.search_documents("wings", filters=wanted) == []
    [found] = store.search_documents("engines", filters=wanted)
    assert found.meta.pop("best_chunk")["split_id"] == 1
    assert (found.id, found.content, found.meta) == ("doc", "Wings. Engines.", {"lang": "en"})


def test_filters_see_changed_meta(store) -> None:
    store.write_documents([Document(id=id_, content="wing", meta={"kind": "old"}) for id_ in "ab"])
    new = {"field": "meta.kind", "operator": "==", "value": "new"}
    assert store.search("wing", filters=new) == []
    store.update_by_filter({"field": "id", "operator": "==", "value": "b"}, {"kind": "new"})
    assert [document.id for document in store.search("wing", filters=new)] == ["b"]


def test_invalid_filters_are_an_error(store) -> None:
    store.write_documents([Document(content="wing")])
    for filters in ({"field": "meta.x", "value": 1}, {"operator": "AND"}, {"field": "x", "operator": "?", "value": 1}):
        for use in (
            lambda given: store.search("wing", filters=given),
            lambda given: store.search_documents("wing", filters=given),
            store.filter_documents,
            store.delete_by_filter,
            lambda given: store.update_by_filter(given, {}),
        ):
            with pytest.raises(FilterError):
                use(filters)


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zebra", "?!", "語"])
def test_a_query_that_matches_nothing_gives_nothing(store, query) -> None:
    store.write_documents([Document(content="a heated wing"), Document(content="")])
    assert store.search(query) == store.search_documents(query) == []


def test_an_empty_store_gives_nothing(store) -> None:
    assert store.search("wing") == store.search_documents("wing") == []
    store.write_documents([Document(content=None, meta={"wing": "wing"}), Document(content="")])
    assert store.search("wing") == store.search_documents("wing") == []


def test_documents_without_content_do_not_count(store_class) -> None:
    with_text = [Document(content="wing one"), Document(content="other words")]
    scores = []
    for others in ([], [Document(content=None, meta={"n": i}) for i in range(50)]):
        store = store_class()
        store.write_documents([*with_text, *others])
        scores.append([document.score for document in store.search("wing")])
    assert scores[0] == scores[1]


def test_top_k_may_exceed_the_corpus_and_may_be_0(store) -> None:
    store.write_documents([Document(content="wing one"), Document(content="wing two"), Document(content="other")])
    assert len(store.search("wing", top_k=10_000)) == len(store.search_documents("wing", top_k=10_000)) == 2
    assert store.search("wing", top_k=0) == store.search_documents("wing", top_k=0) == []


def test_results_are_copies(store) -> None:
    given = Document(id="doc", content="wing", meta={"tags": ["a"]})
    store.write_documents([given])
    given.meta["tags"].append("given")
    for document in (*store.search("wing"), *store.search_documents("wing"), *store.filter_documents()):
        assert document.meta["tags"] == ["a"]
        document.meta["tags"].append("changed")
    assert store.filter_documents()[0].meta == {"tags": ["a"]}


@pytest.mark.parametrize("own", [None, {"section": 1}])
def test_restored_documents_are_copies(store, own) -> None:
    store.write_documents(make_chunks(Document(id="doc", content="x", meta={"tags": ["a"]}), ["wing"], [own], "hash"))
    for _ in range(2):
        [found] = store.search_documents("wing")
        assert found.meta["tags"] == ["a"]
        found.meta["tags"].append("changed")


def test_an_index_is_built_once_and_not_at_all_for_a_change_of_meta(monkeypatch, tmp_path: Path) -> None:
    opened = []
    monkeypatch.setattr(
        IndexCache, "open", lambda cache, rows, open_=IndexCache.open: opened.append(1) or open_(cache, rows)
    )
    store = Bm25sDocumentStore(str(tmp_path / "store"))
    store.write_documents([Document(id="a", content="wing", meta={"n": 1})])
    assert opened == []
    for _ in range(3):
        store.search("wing")
        store.search_documents("wing")
    assert len(opened) == 1
    store.update_by_filter({"field": "meta.n", "operator": "==", "value": 1}, {"n": 2})
    assert [document.meta["n"] for document in store.search("wing")] == [2]
    assert len(opened) == 1
    store.write_documents([Document(id="a", content="engine")], policy=DuplicatePolicy.OVERWRITE)
    assert store.search("wing") == []
    assert len(opened) == 2


def test_eight_threads_search_while_one_writes(store_class, tmp_path: Path) -> None:
    store = store_class(str(tmp_path / "store"))
    store.write_documents([Document(id="wing", content="wing")])

    def search(_: int) -> int:
        found = store.search_documents("wing", top_k=1_000)
        assert len({document.id for document in found}) == len(found)
        return len(found)

    with ThreadPoolExecutor(8) as pool:
        counts = [pool.submit(search, i) for i in range(100)]
        for i in range(20):
            store.write_documents([Document(id=f"{i}", content=f"wing {i}")])
        counts += [pool.submit(search, i) for i in range(8)]
    assert all(1 <= count.result() <= 21 for count in counts)
    assert [count.result() for count in counts[-8:]] == [21] * 8


async def test_sixteen_tasks_search_at_once(store) -> None:
    store.write_documents(corpus(30))
    expected = store.search_documents("ice wing"), store.search("ice wing")
    found = await asyncio.gather(*(store.search_documents_async("ice wing") for _ in range(8)))
    chunks = await asyncio.gather(*(store.search_async("ice wing") for _ in range(8)))
    assert found == [expected[0]] * 8
    assert chunks == [expected[1]] * 8


def test_settings_change_the_scores(store_class) -> None:
    documents = [Document(content="wing wing wing"), Document(content="wing and many other words around it")]
    scores = []
    for settings in ({}, {"k1": 0.9}, {"b": 0.1}):
        store = store_class(**settings)
        store.write_documents(documents)
        scores.append(store.search("wing")[0].score)
    assert len(set(scores)) == 3


@pytest.mark.parametrize("settings", [{"k1": -1}, {"b": 1.5}, {"analyzer": "unknown"}])
def test_impossible_settings_are_refused(store_class, settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        store_class(**settings)


def test_round_trip_of_parameters(store_class, tmp_path: Path) -> None:
    store = store_class(str(tmp_path / "store"), k1=0.9, b=0.4)
    data = store.to_dict()
    module = {"bm25s": "bm25s_document_store", "lucene": "lucene_document_store"}[store.backend]
    assert data == {
        "type": f"haystack_integrations.document_stores.autoindex.{module}.{store_class.__name__}",
        "init_parameters": {"path": str(tmp_path / "store"), "k1": 0.9, "b": 0.4, "analyzer": "bm25s"},
    }
    assert store_class.from_dict(data).to_dict() == data
    assert not (tmp_path / "store").exists()


def test_overwriting_a_document_drops_the_chunks_it_no_longer_has(store) -> None:
    long, short = Document(id="doc", content="long"), Document(id="doc", content="short")
    other = make_chunks(Document(id="doc2", content="x"), ["a wing", "b wing"], [None, None], "hash")
    store.write_documents([*make_chunks(long, ["one", "two", "three"], [None] * 3, "hash"), *other])
    written = store.write_documents(make_chunks(short, ["wing"], [None], "hash2"), policy=DuplicatePolicy.OVERWRITE)
    assert written == 1
    assert [document.id for document in store.filter_documents()] == ["doc#0", "doc2#0", "doc2#1"]
    assert store.search("two three") == []


def test_chunks_written_in_several_calls_stay(store) -> None:
    chunks = make_chunks(Document(id="doc", content="x"), ["one", "two", "three"], [None] * 3, "hash")
    for chunk in (*chunks, *reversed(chunks)):
        store.write_documents([chunk], policy=DuplicatePolicy.OVERWRITE)
    assert sorted(document.id for document in store.filter_documents()) == ["doc#0", "doc#1", "doc#2"]


def test_of_two_versions_in_one_call_the_last_one_stays(store) -> None:
    versions = [Document(id="doc", content="x"), Document(id="doc", content="y")]
    chunks = make_chunks(versions[0], ["one", "two"], [None] * 2, "h") + make_chunks(versions[1], ["new"], [None], "h")
    assert store.write_documents(chunks, policy=DuplicatePolicy.OVERWRITE) == 3
    assert [(document.id, document.content) for document in store.filter_documents()] == [("doc#0", "new")]


def test_a_write_that_fails_writes_nothing(store) -> None:
    store.write_documents([Document(id="a", content="old")])
    for batch in (["b", "a"], ["b", "b"]):
        with pytest.raises(DuplicateDocumentError):
            store.write_documents([Document(id=id_, content="new") for id_ in batch], policy=DuplicatePolicy.FAIL)
    assert [document.id for document in store.filter_documents()] == ["a"]


def test_skip_keeps_the_first(store) -> None:
    documents = [Document(id="a", content="first"), Document(id="a", content="second"), Document(id="b", content="b")]
    assert store.write_documents(documents, policy=DuplicatePolicy.SKIP) == 2
    assert {document.content for document in store.filter_documents()} == {"first", "b"}


def test_nothing_is_changed_by_filter_without_filters(store) -> None:
    store.write_documents([Document(content="wing")])
    with pytest.raises(ValueError, match="filters"):
        store.delete_by_filter({})
    with pytest.raises(ValueError, match="filters"):
        store.update_by_filter({}, {"x": 1})
    assert store.count_documents() == 1


def test_an_update_reaches_the_original_document(store) -> None:
    source = Document(id="doc", content="Wing.", meta={"owner": "a", "source_id": "mine"})
    store.write_documents(make_chunks(source, ["wing"], [{"section": 1}], "hash"))
    store.update_by_filter({"field": "meta.source_id", "operator": "==", "value": "doc"}, {"owner": "b"})
    [found] = store.search_documents("wing")
    found.meta.pop("best_chunk")
    assert found.meta == {"owner": "b", "source_id": "mine"}


def test_a_closed_store_opens_again(store_class, tmp_path: Path) -> None:
    for store in (store_class(), store_class(str(tmp_path / "store"))):
        store.write_documents([Document(content="wing")])
        assert len(store.search("wing")) == 1
        store.close()
        store.close()
        assert store.count_documents() == len(store.search("wing")) == 1
