"""An index that is changed in place: what is committed is seen, whole, and scores end as those of a fresh index."""

import gc
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from autoindex_haystack.retrieval.updatable import KeyedChunks, Snapshot, UpdatableIndex, WriterBusy, open_updatable
from pyserini_backend.index import LuceneIndex

Check = Callable[[Path], None]

SETTINGS = BM25Settings()
WORDS = [f"word{n}" for n in range(30)] + ["the", "running", "horses", "naïve", "日本"]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[UpdatableIndex]:
    with open_updatable("lucene", tmp_path / "index", SETTINGS) as opened:
        yield opened


def chunks_of(texts: dict[str, str]) -> KeyedChunks:
    """Chunks by id; of `d#1` the document is `d` and the position 1."""
    parts = [key.partition("#") for key in texts]
    positions = np.array([int(part[2] or 0) for part in parts], np.int64)
    return KeyedChunks(list(texts), [part[0] for part in parts], positions, list(texts.values()))


def write(index: UpdatableIndex, texts: dict[str, str]) -> None:
    with index.writer() as writer:
        writer.write(chunks_of(texts))


def found(snapshot: Snapshot, query: str) -> dict[str, float]:
    """The raw score of each chunk that matches."""
    hits = snapshot.index.candidates(query, len(snapshot.index))
    return {snapshot.chunk_ids[n]: score for n, score in zip(hits.ordinals.tolist(), hits.scores.tolist(), strict=True)}


def test_what_is_written_is_found_once_it_is_committed(index: UpdatableIndex) -> None:
    with index.writer() as writer:
        writer.write(chunks_of({"a": "heated wing", "b": "cold engine"}))
        assert writer.uncommitted
        assert found(index.snapshot(), "wing") == {}
        writer.commit(state="first")
        assert not writer.uncommitted
        assert list(found(index.snapshot(), "wing")) == ["a"]
        assert index.snapshot().state == "first"


def test_a_chunk_is_replaced_and_deleted_by_its_id(index: UpdatableIndex) -> None:
    write(index, {"a": "heated wing", "b": "cold engine", "c": "wing tip"})
    with index.writer() as writer:
        writer.write(chunks_of({"a": "cold fuel"}))
        writer.delete(["c", "never there"])
    snapshot = index.snapshot()
    assert list(snapshot.chunk_ids) == ["a", "b"]
    assert found(snapshot, "wing heated tip") == {}
    assert set(found(snapshot, "cold")) == {"a", "b"}


def test_the_last_change_of_a_chunk_counts(index: UpdatableIndex) -> None:
    with index.writer() as writer:
        writer.write(chunks_of({"a": "one", "b": "one"}))
        writer.delete(["a"])
        writer.write(chunks_of({"a": "two"}))
        writer.write(chunks_of({"a": "three"}))
        writer.write(chunks_of({"b": "two"}))
        writer.delete(["b"])
    assert list(index.snapshot().chunk_ids) == ["a"]
    assert list(found(index.snapshot(), "one two three")) == ["a"]


def test_clearing_leaves_nothing(index: UpdatableIndex) -> None:
    write(index, {"a": "heated wing"})
    with index.writer() as writer:
        writer.clear()
        writer.write(chunks_of({"b": "wing"}))
    assert list(found(index.snapshot(), "wing")) == ["b"]


def test_chunks_are_numbered_by_document_position_and_id(index: UpdatableIndex) -> None:
    write(index, {"b#1": "wing", "é": "wing", "b#0": "wing", "a#10": "wing", "a#9": "wing"})
    write(index, {"a#0": "wing", "b#1": "wing wing"})
    snapshot = index.snapshot()
    assert list(snapshot.chunk_ids) == ["a#0", "a#9", "a#10", "b#0", "b#1", "é"]
    assert snapshot.index.document_ids == ["a", "b", "é"]
    assert snapshot.index.documents.tolist() == [0, 0, 0, 1, 1, 2]
    [ranking] = snapshot.index.search_documents(["wing"], 10)
    assert [snapshot.chunk_ids[n] for n in ranking.chunks] == ["b#1", "a#0", "é"]


def test_ids_come_back_in_parts_where_there_are_many(index: UpdatableIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyserini_backend.reader._STRINGS_A_CALL", 7)
    for part in range(3):
        write(index, {f"d{n}": "wing" for n in range(part * 10, part * 10 + 12)})
    assert set(index.snapshot().chunk_ids) == {f"d{n}" for n in range(32)}


def test_rollback_drops_what_was_not_committed_and_writing_goes_on(index: UpdatableIndex) -> None:
    with index.writer() as writer:
        writer.write(chunks_of({"a": "one"}))
        writer.commit(state="kept")
        writer.write(chunks_of({"a": "two", "b": "two"}))
        writer.clear()
        writer.rollback()
        assert not writer.uncommitted
        assert index.snapshot().state == "kept"
        writer.write(chunks_of({"c": "three"}))
    assert set(found(index.snapshot(), "one two three")) == {"a", "c"}


def test_an_exception_drops_what_was_not_committed(index: UpdatableIndex) -> None:
    write(index, {"a": "one"})

    def fail() -> None:
        with index.writer() as writer:
            writer.write(chunks_of({"a": "two"}))
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fail()
    assert list(found(index.snapshot(), "one")) == ["a"]


def test_writing_with_a_closed_writer_is_an_error(index: UpdatableIndex) -> None:
    writer = index.writer()
    writer.close()
    writer.close()
    with pytest.raises(BackendError, match="the writer is closed"):
        writer.write(chunks_of({"a": "one"}))
    with pytest.raises(BackendError, match="the writer is closed"):
        writer.commit()


def test_a_second_writer_gets_an_error_that_names_the_folder(index: UpdatableIndex, tmp_path: Path) -> None:
    with index.writer(), pytest.raises(WriterBusy, match=rf"{tmp_path}/index cannot be written: another writer"):
        index.writer()
    write(index, {"a": "one"})


def test_a_second_writer_may_wait_for_the_first(index: UpdatableIndex) -> None:
    first = index.writer()
    threading.Timer(0.2, first.close).start()
    index.writer(wait=30).close()


def test_a_path_that_cannot_be_a_folder_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BackendError, match=r"file/index cannot be read: .*Not a directory"):
        open_updatable("lucene", tmp_path / "file" / "index", SETTINGS)


def test_a_writer_that_is_forgotten_does_not_keep_others_out(index: UpdatableIndex) -> None:
    index.writer().write(chunks_of({"a": "one"}))
    gc.collect()
    write(index, {"b": "one"})
    assert list(index.snapshot().chunk_ids) == ["b"]


def test_a_snapshot_stays_as_it_is_and_is_new_only_after_a_commit(index: UpdatableIndex) -> None:
    write(index, {"a": "one", "b": "one two"})
    before = index.snapshot()
    scores = found(before, "one")
    assert index.snapshot() is before
    with index.writer() as writer:
        writer.delete(["a"])
        writer.write(chunks_of({f"c{n}": "one" for n in range(500)}))
        assert index.snapshot() is before
        writer.commit(expunge=True)
    assert index.snapshot() is not before
    assert list(before.chunk_ids) == ["a", "b"]
    assert found(before, "one") == scores
    assert len(found(index.snapshot(), "one")) == 501


def test_a_snapshot_that_was_closed_is_opened_again(index: UpdatableIndex) -> None:
    write(index, {"a": "one"})
    index.snapshot().index.close()
    assert list(found(index.snapshot(), "one")) == ["a"]
    index.close()
    assert list(found(index.snapshot(), "one")) == ["a"]


def fresh_scores(texts: dict[str, str], settings: BM25Settings, queries: list[str]) -> list[dict[str, float]]:
    """Raw scores by an index that is built once of these texts."""
    ids = list(texts)
    with LuceneIndex.build(ChunkTable.of_texts(list(texts.values()), ids), settings) as fresh:
        results = [fresh.candidates(query, len(ids)) for query in queries]
    return [
        {ids[n]: score for n, score in zip(hits.ordinals.tolist(), hits.scores.tolist(), strict=True)}
        for hits in results
    ]


@pytest.mark.parametrize("analyzer", ["bm25s", "lucene-english", "lucene-standard"])
def test_after_any_changes_scores_equal_those_of_a_fresh_index_once_expunged(
    tmp_path: Path, analyzer: str, check_index: Check
) -> None:
    draw = random.Random(analyzer)
    settings = BM25Settings(k1=1.2, b=0.6, analyzer=analyzer)
    queries = [" ".join(draw.choices(WORDS, k=4)) for _ in range(15)]
    texts: dict[str, str] = {}
    with open_updatable("lucene", tmp_path / "index", settings) as index:
        for step in range(6):
            with index.writer() as writer:
                for _ in range(3):
                    keys = [f"d{draw.randrange(120)}#{draw.randrange(3)}" for _ in range(60)]
                    new = {key: " ".join(draw.choices(WORDS, k=draw.randrange(1, 90))) for key in keys}
                    writer.write(chunks_of(new))
                    texts |= new
                    gone = draw.sample(sorted(texts), k=20)
                    writer.delete(gone)
                    texts = {key: text for key, text in texts.items() if key not in gone}
                    writer.commit(state="between")
                writer.commit(expunge=True, state=str(step))
            snapshot = index.snapshot()
            assert snapshot.deleted == 0
            assert snapshot.state == str(step)
            assert set(snapshot.chunk_ids) == set(texts)
            # Bit for bit.
            assert [found(snapshot, query) for query in queries] == fresh_scores(texts, settings, queries)
    check_index(tmp_path / "index")


def test_deleted_chunks_count_in_the_scores_until_they_are_expunged(index: UpdatableIndex) -> None:
    texts = {f"d{n}": f"common {'wing ' * (n % 5)}" for n in range(100)}
    write(index, texts)
    kept = {key: text for key, text in texts.items() if key != "d4"}
    expected = fresh_scores(kept, SETTINGS, ["wing common"])
    with index.writer() as writer:
        writer.delete(["d4"])
        writer.commit()
        assert index.snapshot().deleted == 1
        scores = found(index.snapshot(), "wing common")
        assert scores.keys() == kept.keys()
        assert [scores] != expected
        writer.commit(expunge=True)
    assert index.snapshot().deleted == 0
    assert [found(index.snapshot(), "wing common")] == expected


def test_synchronizing_writes_only_what_differs(index: UpdatableIndex, tmp_path: Path) -> None:
    texts = {f"d{n}": f"text{n} common" for n in range(300)}
    first = index.synchronize(chunks_of(texts), state="one")
    files = {path.name for path in (tmp_path / "index").iterdir()}
    assert index.synchronize(chunks_of(texts), state="one") is first
    assert {path.name for path in (tmp_path / "index").iterdir()} == files
    changed = texts | {"d7": "text7 changed", "new": "common"}
    del changed["d8"]
    second = index.synchronize(chunks_of(changed), state="two")
    assert (second.state, second.deleted) == ("two", 0)
    assert found(second, "changed").keys() == {"d7"}
    assert [found(second, "common text9")] == fresh_scores(changed, SETTINGS, ["common text9"])
    moved = KeyedChunks(["new"], ["another document"], np.array([3]), ["common"])
    third = index.synchronize(moved)
    assert (third.index.document_ids, third.positions.tolist()) == (["another document"], [3])


@pytest.mark.parametrize("identifier", ["", "a\nb", "a\0b", "\ud800", "json:x", 'json:"x"', "é#0", "x" * 31_000, "😀"])
def test_any_id_comes_back_and_is_found_again(index: UpdatableIndex, identifier: str) -> None:
    write(index, {"other": "wing"})
    for text in ("heated wing", "wing"):
        with index.writer() as writer:
            writer.write(KeyedChunks([identifier], [identifier + "!"], np.array([0]), [text]))
    snapshot = index.snapshot()
    assert set(snapshot.chunk_ids) == {"other", identifier}
    assert set(snapshot.index.document_ids) == {"other", identifier + "!"}
    with index.writer() as writer:
        writer.delete([identifier])
    assert list(index.snapshot().chunk_ids) == ["other"]


def test_ids_that_lucene_cannot_take_are_an_error_and_deleting_them_is_none(index: UpdatableIndex) -> None:
    with index.writer() as writer:
        with pytest.raises(BackendError, match=r"the id xxxx.* more than Lucene can take"):
            writer.write(chunks_of({"x" * 40_000: "wing"}))
        writer.delete(["x" * 40_000])


def test_chunks_without_tokens_and_very_long_ones_are_kept(index: UpdatableIndex) -> None:
    write(index, {"a": "", "b": "the", "c": "word " * 1_000_000 + "needle"})
    snapshot = index.snapshot()
    assert list(snapshot.chunk_ids) == ["a", "b", "c"]
    assert list(found(snapshot, "needle")) == ["c"]


def test_an_index_is_opened_only_with_its_own_settings(index: UpdatableIndex, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"was made with k1=1\.5 .*cannot be opened with k1=1\.5 .*lucene-english"):
        open_updatable("lucene", tmp_path / "index", BM25Settings(analyzer="lucene-english"))


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BackendError, match=r"other files \(notes\.txt\)"):
        open_updatable("lucene", tmp_path, SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_index_that_was_built_once_is_not_changed_in_place(tmp_path: Path) -> None:
    LuceneIndex.build(ChunkTable.of_texts(["wing"]), SETTINGS, tmp_path / "index").close()
    with pytest.raises(BackendError, match="cannot be changed in place"):
        open_updatable("lucene", tmp_path / "index" / "lucene", SETTINGS)


def test_an_index_without_a_folder_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_updatable("lucene", None, SETTINGS) as index:
        write(index, {"a": "wing"})
        assert list(found(index.snapshot(), "wing")) == ["a"]
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_many_may_make_the_index_at_the_same_moment(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(lambda _: open_updatable("lucene", tmp_path / "index", SETTINGS), range(6)))
    write(opened[0], {"a": "wing"})
    assert all(list(found(other.snapshot(), "wing")) == ["a"] for other in opened)


def test_a_saved_snapshot_is_an_index_without_deleted_chunks(
    index: UpdatableIndex, tmp_path: Path, check_index: Check
) -> None:
    texts = {f"d{n}#{n % 3}": " ".join(WORDS[n % 7 : n % 29 + 1]) for n in range(200)}
    write(index, texts)
    with index.writer() as writer:
        writer.delete(gone := [key for n, key in enumerate(texts) if n % 5 == 0])
    index.snapshot().index.save(tmp_path / "saved")
    kept = {key: text for key, text in texts.items() if key not in gone}
    ids = list(index.snapshot().chunk_ids)
    with LuceneIndex.load(tmp_path / "saved") as saved:
        assert len(saved) == len(kept)
        hits = saved.candidates("word3 word9", len(saved))
        scores = {ids[n]: s for n, s in zip(hits.ordinals.tolist(), hits.scores.tolist(), strict=True)}
        saved.save(tmp_path / "again")
    assert [scores] == fresh_scores(kept, SETTINGS, ["word3 word9"])
    LuceneIndex.load(tmp_path / "again").close()
    check_index(tmp_path / "saved" / "lucene")


def test_the_folder_can_be_read_as_any_lucene_index(index: UpdatableIndex, tmp_path: Path) -> None:
    write(index, {"d#1": "wing", "d#0": "wing tip"})
    with LuceneIndex.open_foreign(tmp_path / "index", SETTINGS) as read:
        [ranking] = read.search_documents(["tip wing"], 10)
        assert [read.document_ids[n] for n in ranking.ordinals] == ["d"]
        assert ranking.chunks.tolist() == [0]


def test_several_threads_may_write_at_once(index: UpdatableIndex, tmp_path: Path, check_index: Check) -> None:
    with index.writer() as writer, ThreadPoolExecutor(4) as pool:

        def work(part: int) -> None:
            for n in range(20):
                writer.write(chunks_of({f"d{part}-{n}": "common", f"d{part}-{n}-gone": "common"}))
                writer.delete([f"d{part}-{n}-gone"])

        list(pool.map(work, range(8)))
    assert found(index.snapshot(), "common").keys() == {f"d{part}-{n}" for part in range(8) for n in range(20)}
    check_index(tmp_path / "index")


def test_readers_go_on_during_writes_and_see_only_what_was_committed(index: UpdatableIndex) -> None:
    """Commit number n holds n chunks that match, each with the same text."""
    done = threading.Event()

    def read() -> list[int]:
        seen = []
        while not done.is_set():
            snapshot = index.snapshot()
            [ranking] = snapshot.index.search(["common"], 1000)
            assert len(ranking) == len(snapshot.chunk_ids) == int(snapshot.state or 0)
            seen.append(len(ranking))
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            with index.writer() as writer:
                for n in range(1, 31):
                    writer.write(chunks_of({f"d{m}": "common" for m in range(n)}))
                    writer.commit(state=str(n), expunge=n % 10 == 0)
        finally:
            done.set()
        seen = [reader.result() for reader in readers]
    assert all(counts == sorted(counts) for counts in seen)
    assert len(set().union(*seen)) > 3
    assert len(found(index.snapshot(), "common")) == 30
