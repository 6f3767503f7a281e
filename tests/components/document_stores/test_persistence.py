"""A store in a folder: what was committed is there again, whole, whatever happened to the process or the file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.types import DuplicatePolicy

from autoindex_haystack.errors import AutoIndexError
from autoindex_haystack.retrieval import get_backend
from autoindex_haystack.retrieval.updatable import open_updatable
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore, StoreError
from haystack_integrations.document_stores.autoindex.log_lines import decode_line, encode_line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "nested" / "store"


@pytest.fixture
def never_build(monkeypatch):
    """Make building an index an error from the moment this is called."""

    def forbid(store) -> None:
        def build(*_: object) -> None:
            pytest.fail("the index was built again")

        engine = get_backend(store.backend)
        monkeypatch.setattr(engine, "build", build)
        if hasattr(engine, "updatable"):
            index = open_updatable(store.backend, None, store.settings)
            monkeypatch.setattr(type(index), "open_writer", build)

    return forbid


def contents(store) -> dict[str, str | None]:
    return {document.id: document.content for document in store.filter_documents()}


def test_documents_come_back_as_they_were(folder) -> None:
    documents = [
        Document(
            id="text", content="naïve\u2028日本\n", meta={"a": {"b": [1, 2.5, None, True]}, "type": "x.y", "id": 7}
        ),
        Document(id="none", content=None),
        Document(id="half", content="half a pair \ud83d", meta={"\udc00": "\ud83d"}),
        Document(id="numbers", content="x", meta={"n": np.int64(3), "f": np.float64(0.1)}, score=np.float32(0.5)),
        Document(
            id="vector", content="x", embedding=[0.1, 1e-300], sparse_embedding=SparseEmbedding([1, 5], [0.5, 2.0])
        ),
        Document(id="blob", blob=ByteStream(bytes(range(256)), {"k": 1}, "image/png")),
    ]
    Bm25sDocumentStore(str(folder)).write_documents(documents)
    assert Bm25sDocumentStore(str(folder)).filter_documents() == documents


def test_every_kind_of_change_is_there_after_reopening(store_class, folder) -> None:
    def reopened():
        return store_class(str(folder))

    store = reopened()
    store.write_documents([Document(id=id_, content=f"wing {id_}", meta={"n": i}) for i, id_ in enumerate("abcde")])
    store.write_documents([Document(id="a", content="new")], policy=DuplicatePolicy.OVERWRITE)
    store.delete_documents(["b", "unknown"])
    store.delete_by_filter({"field": "meta.n", "operator": "==", "value": 2})
    store.update_by_filter({"field": "meta.n", "operator": "==", "value": 3}, {"n": 33})
    assert contents(reopened()) == {"a": "new", "d": "wing d", "e": "wing e"}
    assert [document.meta["n"] for document in reopened().search("wing")] == [33, 4]
    store.delete_all_documents()
    assert reopened().count_documents() == 0
    store.write_documents([Document(id="f", content="wing f")])
    assert contents(reopened()) == {"f": "wing f"}


def test_an_open_store_sees_what_another_one_commits(store_class, folder) -> None:
    reader, writer = store_class(str(folder)), store_class(str(folder))
    assert reader.search("wing") == []
    writer.write_documents([Document(id="a", content="wing a")])
    assert [document.id for document in reader.search("wing")] == ["a"]
    reader.write_documents([Document(id="b", content="wing b")])
    assert [document.id for document in writer.search("wing")] == ["a", "b"]
    writer.delete_all_documents()
    assert reader.count_documents() == 0
    writer.write_documents([Document(id="c", content="wing c")])
    assert contents(reader) == {"c": "wing c"}
    shutil.rmtree(folder)
    assert reader.count_documents() == 0


def test_a_saved_index_is_loaded_and_searches_the_same(store_class, folder, never_build) -> None:
    store = store_class(str(folder))
    store.write_documents([Document(id=f"{i}", content=f"wing {i} " + "flow " * (i % 3)) for i in range(30)])
    expected = store.search("wing flow"), store.search_documents("wing flow")
    never_build(store)
    other = store_class(str(folder))
    assert (other.search("wing flow"), other.search_documents("wing flow")) == expected


def test_only_the_index_of_the_present_state_stays(folder) -> None:
    store = Bm25sDocumentStore(str(folder))
    unfinished, foreign = folder / f".index-{'0' * 32}.x1y2", folder / "index-bm25s"
    for path in (unfinished, foreign):
        path.mkdir(parents=True)
    names = set()
    for i in range(3):
        store.write_documents([Document(id=f"{i}", content=f"wing {i}")])
        assert len(store.search("wing")) == i + 1
        [index] = set(folder.glob("*index-*")) - {foreign}
        names.add(index.name)
    assert len(names) == 3
    assert foreign.is_dir()


def test_a_damaged_index_is_built_again(store_class, folder) -> None:
    store_class(str(folder)).write_documents([Document(id="a", content="wing")])
    for damage in ("remove", "empty", "other"):
        assert [document.id for document in store_class(str(folder)).search("wing")] == ["a"]
        [index] = (path for path in folder.iterdir() if path.is_dir())
        if damage == "remove":
            shutil.rmtree(index)
        elif damage == "empty":
            next(iter([*index.glob("index.json"), *index.glob("segments_*")])).write_text("")
        else:
            next(iter([*index.glob("documents.npy"), *index.glob("*.cfs"), *index.glob("*.doc")])).unlink()
    assert [document.id for document in store_class(str(folder)).search("wing")] == ["a"]


@pytest.mark.parametrize("settings", [{"k1": 1.2}, {"b": 0.5}])
def test_other_settings_than_stored_are_refused(store_class, folder, settings) -> None:
    store_class(str(folder)).write_documents([Document(content="wing")])
    for error in (StoreError, DocumentStoreError, AutoIndexError):
        with pytest.raises(error, match=r"k1=1\.5, b=0\.75, analyzer=bm25s; it cannot be opened as .* with k1=.*, b="):
            store_class(str(folder), **settings)
    assert store_class(str(folder)).count_documents() == 1


def test_the_folder_of_another_engine_is_refused(folder) -> None:
    Bm25sDocumentStore(str(folder)).write_documents([Document(content="wing")])
    with pytest.raises(StoreError, match="bm25s"):
        LuceneDocumentStore(str(folder))


def test_a_store_that_was_opened_before_others_settings_were_written_refuses_them(folder) -> None:
    early = Bm25sDocumentStore(str(folder), k1=0.5)
    Bm25sDocumentStore(str(folder)).write_documents([Document(content="wing")])
    for use in (
        early.count_documents,
        lambda: early.search("wing"),
        lambda: early.write_documents([Document(content="x")]),
    ):
        with pytest.raises(StoreError, match=r"k1=1\.5"):
            use()


def test_a_file_that_is_no_log_is_refused_and_left_alone(folder) -> None:
    folder.mkdir(parents=True)
    (folder / "documents.log").write_text("my notes\n")
    with pytest.raises(StoreError, match="choose another folder"):
        Bm25sDocumentStore(str(folder))
    assert (folder / "documents.log").read_text() == "my notes\n"


def test_cut_off_anywhere_the_log_gives_a_whole_number_of_commits(folder) -> None:
    store = Bm25sDocumentStore(str(folder))
    log, states = folder / "documents.log", [(0, {})]

    def note() -> None:
        states.append((log.stat().st_size, contents(store)))

    store.write_documents([Document(id=id_, content=f"text {id_}") for id_ in "ab"])
    note()
    store.write_documents(
        [Document(id="a", content="new"), Document(id="é", content="日")], policy=DuplicatePolicy.OVERWRITE
    )
    note()
    store.delete_documents(["b"])
    note()
    whole = log.read_bytes()
    ends = {offset + 1 for offset, byte in enumerate(whole) if byte == 10}
    for end in sorted({*range(0, len(whole), 3), *ends, *(end - 1 for end in ends), *(end - 2 for end in ends)}):
        log.write_bytes(whole[:end])
        cut = Bm25sDocumentStore(str(folder))
        expected = next(state for size, state in reversed(states) if size <= end)
        assert contents(cut) == expected, f"cut at {end}"
        reader = Bm25sDocumentStore(str(folder))
        assert contents(reader) == expected
        cut.write_documents([Document(id="later", content="x")])
        expected = {**expected, "later": "x"}
        assert contents(cut) == contents(Bm25sDocumentStore(str(folder))) == contents(reader) == expected, (
            f"cut at {end}"
        )


def test_a_change_within_what_was_committed_is_noticed(folder) -> None:
    store = Bm25sDocumentStore(str(folder))
    for id_ in "abc":
        store.write_documents([Document(id=id_, content=f"text {id_}")])
    log = folder / "documents.log"
    whole = log.read_bytes()
    header = whole.index(b"\n") + 1
    last_line = whole.rindex(b"\n", 0, -1) + 1
    for position in (*range(0, last_line, 5), header + 1):
        log.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(StoreError, match=r"damaged|another folder"):
            Bm25sDocumentStore(str(folder)).count_documents()
    lines = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:1] + lines[2:]))
    with pytest.raises(StoreError, match="damaged"):
        Bm25sDocumentStore(str(folder)).count_documents()


def test_a_document_that_is_no_json_is_named_and_nothing_is_written(folder) -> None:
    store = Bm25sDocumentStore(str(folder))
    store.write_documents([Document(id="a", content="wing")])
    for value in ({1, 2}, object(), {(1, 2): 3}):
        with pytest.raises(ValueError, match="document bad cannot be stored"):
            store.write_documents([Document(id="b", content="x"), Document(id="bad", content="x", meta={"v": value})])
        assert contents(store) == contents(Bm25sDocumentStore(str(folder))) == {"a": "wing"}
    store.write_documents([Document(id="c", content="x")])
    assert contents(store) == contents(Bm25sDocumentStore(str(folder))) == {"a": "wing", "c": "x"}


def test_a_log_of_old_versions_is_written_anew(folder) -> None:
    store, reader = Bm25sDocumentStore(str(folder)), Bm25sDocumentStore(str(folder))
    documents = [Document(id=f"{i}", content="x" * 100) for i in range(100)]
    unfinished = folder / ".documents.log.left-by-a-kill"
    unfinished.parent.mkdir(parents=True)
    unfinished.touch()
    sizes = []
    for _ in range(30):
        store.write_documents(documents, policy=DuplicatePolicy.OVERWRITE)
        sizes.append((folder / "documents.log").stat().st_size)
        assert reader.count_documents() == 100
    assert max(sizes) < 16 * sizes[0]
    assert not unfinished.exists()
    assert len(contents(Bm25sDocumentStore(str(folder)))) == 100


def test_a_full_disk_loses_nothing(folder, monkeypatch) -> None:
    store = Bm25sDocumentStore(str(folder))
    store.write_documents([Document(id="a", content="wing")])
    real = os.fsync
    calls = []

    def fail(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="No space left"):
        store.write_documents([Document(id="b", content="x")])
    with pytest.raises(StoreError, match="No space left"):
        store.delete_all_documents()
    monkeypatch.setattr(os, "fsync", real)
    assert calls
    assert contents(store) == contents(Bm25sDocumentStore(str(folder))) == {"a": "wing"}
    store.write_documents([Document(id="c", content="x")])
    assert contents(store) == contents(Bm25sDocumentStore(str(folder))) == {"a": "wing", "c": "x"}


def make_read_only(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


READ_ONLY = """
import sys
from haystack import Document
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore, StoreError
store = {"bm25s": Bm25sDocumentStore, "lucene": LuceneDocumentStore}[sys.argv[1]](sys.argv[2])
print([document.id for document in store.search_documents("wing")], store.count_documents())
try:
    store.write_documents([Document(id="b", content="wing")])
except StoreError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("with_index", [True, False])
def test_a_read_only_folder_is_searched_and_not_written(store_class, folder, with_index, tmp_path: Path) -> None:
    store = store_class(str(folder))
    store.write_documents([Document(id="a", content="wing")])
    if with_index:
        store.search("wing")
    before = sorted(path.name for path in folder.iterdir())
    make_read_only(folder)
    try:
        command = [sys.executable, "-c", READ_ONLY, store.backend, str(folder)]
        if os.geteuid() == 0:
            # The super-user writes everywhere, unless that capability is taken away.
            setpriv = shutil.which("setpriv") or pytest.skip("as root, setpriv is needed")
            command = [setpriv, "--bounding-set=-dac_override,-dac_read_search", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
        assert sorted(path.name for path in folder.iterdir()) == before
    finally:
        folder.chmod(0o755)
    found, refused = done.stdout.splitlines()
    assert found == "['a'] 1"
    assert refused == f"refused: the document store in {folder} cannot be written: Permission denied"


def test_the_log_says_what_it_is(folder) -> None:
    Bm25sDocumentStore(str(folder), k1=0.9).write_documents([Document(id="a", content="wing")])
    first = (folder / "documents.log").read_text().splitlines()[0].partition(" ")[2]
    settings = {"k1": 0.9, "b": 0.75, "analyzer": "bm25s"}
    assert json.loads(first) == {"format_version": 1, "backend": "bm25s", "settings": settings}


def test_a_format_from_the_future_is_refused(folder) -> None:
    Bm25sDocumentStore(str(folder)).write_documents([Document(content="wing")])
    log = folder / "documents.log"
    header, rest = log.read_bytes().split(b"\n", 1)
    log.write_bytes(encode_line({**(decode_line(header + b"\n") or {}), "format_version": 2}) + rest)
    with pytest.raises(StoreError, match="format 2, this version reads 1"):
        Bm25sDocumentStore(str(folder))
