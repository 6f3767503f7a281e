"""The store that Lucene searches changes its index in place: only what was written, and in the end as if built anew."""

import logging
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from autoindex_haystack.retrieval import updatable
from haystack_integrations.document_stores.autoindex import LuceneDocumentStore, StoreError, live_index

WORDS = "wing heat ice engine cold starts lift drag flow shock wave jet nozzle plate".split()
QUERIES = ("ice on the wing", "shock wave drag", "heat")


def documents(ids: range, seed: int) -> list[Document]:
    draw = random.Random(seed)
    return [
        Document(
            id=f"{n}",
            content=" ".join(draw.choices(WORDS, k=draw.randint(1, 60))) if n % 7 else None,
            meta={"source_id": f"s{n // 3}", "split_id": n % 3, "even": n % 2 == 0},
        )
        for n in ids
    ]


def found(store: LuceneDocumentStore) -> list[list[tuple[str, float | None]]]:
    even = {"field": "meta.even", "operator": "==", "value": True}
    answers = [search(query, top_k=50) for query in QUERIES for search in (store.search, store.search_documents)]
    answers += [store.search(query, top_k=20, filters=even) for query in QUERIES]
    return [[(document.id, document.score) for document in answer] for answer in answers]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many chunks each commit wrote and deleted."""
    commits: list[tuple[int, int]] = []
    write = live_index.LiveIndex._write

    def count(self, writer, *arguments, **options):
        counts = [0, 0]
        for place, name in enumerate(("write", "delete")):
            method = getattr(writer, name)
            setattr(writer, name, lambda what, p=place, m=method: (counts.__setitem__(p, len(what)), m(what))[1])
        write(self, writer, *arguments, **options)
        commits.append((counts[0], counts[1]))

    monkeypatch.setattr(live_index.LiveIndex, "_write", count)
    return commits


@pytest.mark.parametrize("durable", [True, False])
def test_after_any_changes_all_is_found_as_in_a_store_written_at_once(durable: bool, tmp_path: Path) -> None:
    draw = random.Random(5)
    store = LuceneDocumentStore(str(tmp_path / "store") if durable else None)
    other = LuceneDocumentStore(str(tmp_path / "store")) if durable else store
    for step in range(12):
        first = draw.randrange(150)
        writer = draw.choice([store, other])
        if draw.random() < 0.6:
            writer.write_documents(documents(range(first, first + 30), step), policy=DuplicatePolicy.OVERWRITE)
        elif draw.random() < 0.8:
            writer.delete_documents([f"{n}" for n in range(first, first + 20)])
        else:
            writer.update_by_filter({"field": "meta.even", "operator": "==", "value": True}, {"split_id": step})
        if step == 8:
            writer.delete_all_documents()
            writer.write_documents(documents(range(40), step))
        if draw.random() < 0.7:
            fresh = LuceneDocumentStore()
            fresh.write_documents(store.filter_documents())
            assert found(draw.choice([store, other])) == found(fresh)
            assert store.deleted_chunks == 0
    assert found(other) == found(store)


def test_only_what_was_written_is_indexed(tmp_path: Path, written: list[tuple[int, int]]) -> None:
    store, reader = (LuceneDocumentStore(str(tmp_path / "store")) for _ in range(2))
    store.write_documents([Document(id=f"{n}", content=f"wing {n}") for n in range(1000)])
    assert written == []
    store.search("wing")
    store.write_documents([Document(id=f"new {n}", content="engine") for n in range(5)])
    assert len(store.search("engine")) == 5
    store.delete_documents(["1", "2"])
    store.write_documents([Document(id="3", content="engine")], policy=DuplicatePolicy.OVERWRITE)
    assert len(store.search("engine")) == 6
    store.update_by_filter({"field": "id", "operator": "==", "value": "5"}, {"seen": True})
    store.search("wing")
    # The other one has read nothing so far and finds it all done; then it does its part for both.
    assert len(reader.search("engine")) == 6
    assert written == [(1000, 0), (5, 0), (1, 2), (0, 0)]
    reader.write_documents([Document(id="last", content="engine")])
    assert len(reader.search("engine")) == len(store.search("engine")) == 7
    # A process that begins later finds no more to do than was written meanwhile.
    store.write_documents([Document(id="very last", content="engine")])
    assert len(LuceneDocumentStore(str(tmp_path / "store")).search("engine")) == 8
    assert written[4:] == [(1, 0), (1, 0)]


def test_it_says_when_it_expunges_and_does_so_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live_index, "SMALL_INDEX", 0)
    caplog.set_level(logging.INFO)
    store, fresh = LuceneDocumentStore(str(tmp_path / "store")), LuceneDocumentStore()
    store.write_documents(documents(range(1000), 1))
    store.search("wing")
    assert (store.deleted_chunks, caplog.text) == (0, "")
    store.delete_documents(["1"])
    assert store.deleted_chunks == 1
    assert "1 chunks that are gone still count in the scores" in caplog.text
    fresh.write_documents(store.filter_documents())
    assert found(store) != found(fresh)
    store.expunge()
    assert store.deleted_chunks == LuceneDocumentStore(str(tmp_path / "store")).deleted_chunks == 0
    assert "1 chunks that are gone were expunged" in caplog.text
    assert found(store) == found(fresh)
    store.delete_documents([f"{n}" for n in range(2, 30)])
    assert store.deleted_chunks == 0


async def test_expunging_can_be_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_index, "SMALL_INDEX", 0)
    store = LuceneDocumentStore()
    store.write_documents(documents(range(1000), 1))
    store.search("wing")
    store.delete_documents(["1"])
    assert store.deleted_chunks == 1
    await store.expunge_async()
    assert store.deleted_chunks == 0


def test_while_another_process_indexes_for_long_searches_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LuceneDocumentStore(str(tmp_path / "store"))
    store.write_documents([Document(id="a", content="wing")])
    store.search("wing")
    monkeypatch.setattr(live_index, "_WAIT", 0.1)
    with FileLock(tmp_path / "store" / "index.lock"):
        store.write_documents([Document(id="b", content="wing")])
        assert [document.id for document in store.search("wing")] == ["a", "b"]
        with pytest.raises(StoreError, match="cannot be written now"):
            store._indexes.expunge(store._stored, live_index.Searchable(-1, "", *[None] * 2, 1))
    store.write_documents([Document(id="c", content="wing")])
    assert [document.id for document in store.search("wing")] == ["a", "b", "c"]
    index = updatable.open_updatable("lucene", tmp_path / "store" / "lucene", store.settings)
    assert list(index.snapshot().chunk_ids) == ["a", "b", "c"]


WRITER = """
import sys
from haystack import Document
from haystack_integrations.document_stores.autoindex import LuceneDocumentStore
store = LuceneDocumentStore(sys.argv[1])
for call in range(int(sys.argv[2]), 1_000_000):
    store.write_documents([Document(id=f"{call} {n}", content=f"wing {n}") for n in range(50)])
    print(len(store.search("wing", top_k=1_000_000)), flush=True)
"""


def test_kill_9_while_indexing_leaves_what_the_next_process_goes_on_from(tmp_path: Path, check_index) -> None:
    for round_ in range(2):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "store"), str(1000 * round_)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        assert process.stdout
        for _ in range(4 + round_):
            assert int(process.stdout.readline()) % 50 == 0
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        process.stdout.close()
        store = LuceneDocumentStore(str(tmp_path / "store"))
        assert len(store.search("wing", top_k=1_000_000)) == store.count_documents() >= 200
        check_index(tmp_path / "store" / "lucene")
        store.close()
