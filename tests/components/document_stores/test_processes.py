"""A store in a folder that several processes use: one writer at a time, readers beside it, and a kill at any moment."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock
from haystack import Document

from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, StoreError
from haystack_integrations.document_stores.autoindex.document_log import DocumentLog

WRITER = """
import sys
from haystack import Document
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore
store, name, calls, size = Bm25sDocumentStore(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for call in range(calls):
    store.write_documents([Document(id=f"{name}-{call}-{i}", content=f"wing {i}") for i in range(size)])
    print(call, flush=True)
"""


def start_writer(folder: Path, name: str, calls: int, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(calls), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder.parent)


def test_kill_9_while_writing_loses_nothing_committed(tmp_path: Path) -> None:
    folder, size, least = tmp_path / "store", 200, {}
    for round_ in range(4):
        writer = start_writer(folder, f"r{round_}", 1_000_000, size)
        assert writer.stdout
        confirmed = [writer.stdout.readline() for _ in range(3 + round_)]
        time.sleep(0.003 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        confirmed += writer.stdout.readlines()
        writer.wait(timeout=30)
        least[f"r{round_}"] = len([line for line in confirmed if line.endswith("\n")])
        store = Bm25sDocumentStore(str(folder))
        found: dict[str, dict[str, int]] = {}
        for document in store.filter_documents():
            name, call, _ = document.id.split("-")
            calls = found.setdefault(name, {})
            calls[call] = calls.get(call, 0) + 1
        for name, confirmed_calls in least.items():
            assert len(found[name]) >= confirmed_calls
            assert set(found[name].values()) == {size}
        assert len(store.search("wing", top_k=1_000_000)) == store.count_documents()


def test_writers_in_several_processes_take_turns(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    writers = [start_writer(folder, name, 15, 3) for name in ("a", "b")]
    own = Bm25sDocumentStore(str(folder))
    for call in range(15):
        own.write_documents([Document(id=f"own-{call}-{i}", content="wing") for i in range(3)])
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    expected = {f"{name}-{call}-{i}" for name in ("a", "b", "own") for call in range(15) for i in range(3)}
    assert {document.id for document in own.filter_documents()} == expected
    assert {document.id for document in Bm25sDocumentStore(str(folder)).filter_documents()} == expected
    assert len(own.search("wing", top_k=1_000)) == len(expected)


def test_a_writer_that_gets_no_turn_says_so(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "store"
    store = Bm25sDocumentStore(str(folder))
    store.write_documents([Document(id="a", content="wing")])
    monkeypatch.setattr(sys.modules[DocumentLog.__module__], "_LOCK_SECONDS", 0.1)
    with FileLock(folder / "write.lock"):
        with pytest.raises(StoreError, match=r"another process has been writing to .* for 0\.1 seconds"):
            store.write_documents([Document(id="b", content="wing")])
        assert [document.id for document in store.search("wing")] == ["a"]
    store.write_documents([Document(id="b", content="wing")])


def test_a_reader_sees_whole_calls_only_while_another_process_writes(tmp_path: Path) -> None:
    folder, size, calls = tmp_path / "store", 300, 20
    reader = Bm25sDocumentStore(str(folder))
    counts = {reader.count_documents()}
    writer = start_writer(folder, "w", calls, size)
    deadline = time.monotonic() + 60
    while writer.poll() is None and time.monotonic() < deadline:
        counts.add(reader.count_documents())
    assert writer.wait(timeout=1) == 0
    counts.add(reader.count_documents())
    assert {count % size for count in counts} == {0}
    assert min(counts) == 0
    assert max(counts) == size * calls
    assert len(counts) > 2


def test_threads_that_share_a_store_see_whole_calls_only(tmp_path: Path) -> None:
    store, size, calls = Bm25sDocumentStore(str(tmp_path / "store")), 300, 20

    def write() -> None:
        for call in range(calls):
            store.write_documents([Document(id=f"{call}-{i}", content="wing") for i in range(size)])

    counts = set()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            counts.add(store.count_documents())
        writing.result()
    assert {count % size for count in counts} == {0}
    assert len(counts) > 2
    assert store.count_documents() == Bm25sDocumentStore(str(tmp_path / "store")).count_documents() == size * calls


def test_a_second_process_loads_the_index_that_the_first_one_saved(store_class, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = store_class(str(folder))
    store.write_documents([Document(id="a", content="a heated wing"), Document(id="b", content="a cold engine")])
    store.search("wing")
    script = f"""
import sys
from autoindex_haystack.retrieval import get_backend
from haystack_integrations.document_stores.autoindex import {store_class.__name__} as Store
get_backend(Store.backend).build = None
print([(document.id, document.score) for document in Store(sys.argv[1]).search_documents("heated wing")])
"""
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    assert done.stdout.strip() == str([(document.id, document.score) for document in store.search("heated wing")])
