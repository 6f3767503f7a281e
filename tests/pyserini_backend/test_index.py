"""The Lucene index as an index: what it returns at the edges, which chunks are allowed, and its folder."""

import gc
import json
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, get_backend
from pyserini_backend import jvm
from pyserini_backend.index import LuceneIndex
from pyserini_backend.reader import open_directory
from pyserini_backend.writer import LuceneWriter, _batches

SETTINGS = BM25Settings()
TEXTS = ["a heated wing", "a cold engine", "", "the", "wing tips of a heated wing"]


def index_of(texts: list[str]) -> LuceneIndex:
    return LuceneIndex.build(ChunkTable.of_texts(texts), SETTINGS)


def test_backend_is_found_by_its_name() -> None:
    assert get_backend("lucene") is LuceneIndex


@pytest.mark.parametrize("texts", [[], [""], ["the", "!?", ""]])
def test_corpus_without_tokens_gives_empty_rankings(texts: list[str]) -> None:
    with index_of(texts) as index:
        assert len(index) == len(texts)
        assert [len(ranking) for ranking in index.search(["wing", "", "the"], 10)] == [0, 0, 0]
        assert index.candidates("wing", 10).exhausted


def test_chunks_without_tokens_count_and_keep_their_place() -> None:
    with index_of(TEXTS) as index:
        assert len(index) == 5
        [ranking] = index.search_documents(["wing"], 10)
        assert sorted(ranking.ordinals.tolist()) == [0, 4]


@pytest.mark.parametrize("query", ["", " ", "the of and", "?!", "unknown", "x"])
def test_queries_that_match_nothing_give_an_empty_ranking(query: str) -> None:
    with index_of(TEXTS) as index:
        assert len(index.search([query], 10)[0]) == 0


def test_no_queries_give_no_rankings() -> None:
    with index_of(TEXTS) as index:
        assert index.search([], 10) == []
        assert index.candidates_many([], 10) == []


def test_top_k_may_exceed_the_corpus_and_be_zero() -> None:
    with index_of(TEXTS) as index:
        assert len(index.search(["wing"], 10**9)[0]) == 2
        assert len(index.search(["wing"], 1)[0]) == 1
        assert len(index.search(["wing"], 0)[0]) == 0


def test_query_of_five_thousand_distinct_terms() -> None:
    texts = [f"term{n}" for n in range(5000)]
    with index_of([*texts, "other"]) as index:
        hits = index.candidates(" ".join(texts), 10_000)
        assert sorted(hits.ordinals.tolist()) == list(range(5000))


def test_document_of_many_megabytes() -> None:
    with index_of(["word " * 2_000_000 + "needle", "hay"]) as index:
        assert index.search(["needle"], 10)[0].ordinals.tolist() == [0]


def test_awkward_document_ids_do_no_harm() -> None:
    ids = ["", "a\nb", "a\0b", "\ud800", "x" * 40_000, "é#0", "\U0001f600"]
    with LuceneIndex.build(ChunkTable.of_texts(["wing"] * len(ids), ids), SETTINGS) as index:
        assert len(index.search(["wing"], 100)[0]) == len(ids)


words = st.lists(st.sampled_from(["wing", "heat", "cold", "tip", "the"]), max_size=6).map(" ".join)


@settings(max_examples=25)
@given(data=st.data(), texts=st.lists(words, min_size=1, max_size=30), query=words, depth=st.integers(1, 12))
def test_only_allowed_chunks_are_returned_and_the_best_of_them(
    data: st.DataObject, texts: list[str], query: str, depth: int
) -> None:
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    with index_of(texts) as index:
        everything = index.candidates(query, len(texts))
        expected = {int(n): s for n, s in zip(everything.ordinals, everything.scores, strict=True) if allowed[n]}
        for hits in (index.candidates(query, depth, allowed), index.candidates_many([query, "tip"], depth, allowed)[0]):
            assert len(hits.ordinals) >= min(depth, len(expected))
            assert all(expected[n] == s for n, s in zip(hits.ordinals.tolist(), hits.scores, strict=True))
            left_out = expected.keys() - set(hits.ordinals.tolist())
            assert (
                not left_out if hits.exhausted else max((expected[n] for n in left_out), default=0) <= min(hits.scores)
            )


def test_a_few_allowed_chunks_at_the_end_of_a_long_ranking_are_found() -> None:
    texts = ["wing " * 5] * 4000 + ["wing and much else that lowers the score of it"] * 3
    allowed = np.zeros(len(texts), bool)
    allowed[-3:] = True
    with index_of(texts) as index:
        assert sorted(index.search(["wing"], 2, allowed)[0].ordinals.tolist()) == [4000, 4001]


def test_saved_index_loads_with_its_settings_ids_and_answers(tmp_path: Path) -> None:
    chosen = BM25Settings(k1=0.9, b=0.4)
    table = ChunkTable(TEXTS, np.array([0, 0, 1, 3, 3]), ["b", "a", "empty", "c"])
    with LuceneIndex.build(table, chosen) as built:
        before = built.search_documents(["heated wing"], 10)
        built.save(tmp_path / "index")
    with LuceneIndex.load(tmp_path / "index") as loaded:
        assert loaded.settings == chosen
        assert loaded.document_ids == ["b", "a", "empty", "c"]
        assert loaded.documents.tolist() == [0, 0, 1, 3, 3]
        [after] = loaded.search_documents(["heated wing"], 10)
        assert after.ordinals.tolist() == before[0].ordinals.tolist()
        assert after.scores.tolist() == before[0].scores.tolist()


def test_building_into_a_folder_leaves_an_index_to_load(tmp_path: Path) -> None:
    LuceneIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, tmp_path / "index").close()
    with LuceneIndex.load(tmp_path / "index") as index:
        assert len(index.search(["wing"], 10)[0]) == 2
        index.save(tmp_path / "copy")
    with LuceneIndex.load(tmp_path / "copy") as copy:
        assert len(copy.search(["wing"], 10)[0]) == 2


def test_relative_folders_are_those_of_the_process_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm.enter()
    monkeypatch.chdir(tmp_path)
    LuceneIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, Path("index")).close()
    with LuceneIndex.load(tmp_path / "index") as index:
        assert len(index.search(["wing"], 10)[0]) == 2


def test_saving_or_building_over_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").touch()
    with index_of(TEXTS) as index, pytest.raises(BackendError, match="exists"):
        index.save(tmp_path / "taken")
    with pytest.raises(BackendError, match="exists"):
        LuceneIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, tmp_path / "taken")
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "notes.txt"]


def test_failed_build_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(LuceneWriter, "adding", fail)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(RuntimeError, match="no more"):
        LuceneIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, tmp_path / "index")
    with pytest.raises(RuntimeError, match="no more"):
        index_of(TEXTS)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_that_lucene_cannot_write_is_an_error_with_its_reason(tmp_path: Path) -> None:
    def write_into_a_folder_that_went_away() -> None:
        with LuceneWriter(tmp_path / "lucene", SETTINGS, buffer_mb=0.01) as writer:
            shutil.rmtree(tmp_path / "lucene")
            writer.adding([str(n) for n in range(500)], ["word " * 50] * 500, 0)()

    with pytest.raises(BackendError, match=r"cannot be written: .*NoSuchFile"):
        write_into_a_folder_that_went_away()


def test_a_second_writer_gets_a_clear_error(tmp_path: Path) -> None:
    with LuceneWriter(tmp_path, SETTINGS), pytest.raises(BackendError, match="another writer has it open"):
        LuceneWriter(tmp_path, SETTINGS)


def test_folder_without_an_index_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="holds no index"):
        LuceneIndex.load(tmp_path)


def test_index_of_the_other_engine_is_an_error(tmp_path: Path) -> None:
    Bm25sIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, tmp_path / "index")
    with pytest.raises(BackendError, match="is an index of bm25s, not of lucene"):
        LuceneIndex.load(tmp_path / "index")


def saved(folder: Path) -> Path:
    LuceneIndex.build(ChunkTable.of_texts(TEXTS), SETTINGS, folder).close()
    return folder


def test_missing_lucene_files_are_an_error(tmp_path: Path) -> None:
    shutil.rmtree(saved(tmp_path / "index") / "lucene")
    with pytest.raises(BackendError, match="build it anew"):
        LuceneIndex.load(tmp_path / "index")


def test_broken_lucene_files_are_an_error(tmp_path: Path) -> None:
    for file in (saved(tmp_path / "index") / "lucene").glob("segments_*"):
        file.write_bytes(b"nonsense")
    with pytest.raises(BackendError, match="build it anew"):
        LuceneIndex.load(tmp_path / "index")


def test_lucene_files_of_another_corpus_are_an_error(tmp_path: Path) -> None:
    saved(tmp_path / "index")
    shutil.rmtree(tmp_path / "index" / "lucene")
    LuceneIndex.build(ChunkTable.of_texts(TEXTS[:2]), SETTINGS, tmp_path / "other").close()
    shutil.copytree(tmp_path / "other" / "lucene", tmp_path / "index" / "lucene")
    with pytest.raises(BackendError, match="damaged: 5 chunks"):
        LuceneIndex.load(tmp_path / "index")


def test_searching_or_saving_a_closed_index_is_an_error(tmp_path: Path) -> None:
    index = index_of(TEXTS)
    index.close()
    index.close()
    with pytest.raises(BackendError, match="closed"):
        index.search(["wing"], 10)
    with pytest.raises(BackendError, match="closed"):
        index.save(tmp_path / "index")


def test_temporary_files_go_with_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    closed, dropped = index_of(TEXTS), index_of(TEXTS)
    assert len(list(tmp_path.iterdir())) == 2
    closed.close()
    del dropped
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_index_built_in_one_thread_serves_another() -> None:
    built: list[LuceneIndex] = []
    thread = threading.Thread(target=lambda: built.append(index_of(TEXTS)))
    thread.start()
    thread.join()
    with built[0] as index:
        assert len(index.search(["wing"], 10)[0]) == 2


@pytest.fixture(scope="module")
def anserinis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that Anserini's own indexer made."""
    folder = tmp_path_factory.mktemp("anserini")
    (folder / "json").mkdir()
    rows = [{"id": f"d{n}", "contents": text} for n, text in enumerate(TEXTS)]
    (folder / "json" / "documents.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1"
    places = ["-input", str(folder / "json"), "-index", str(folder / "index")]
    jvm.java_class("io.anserini.index.IndexCollection").main([*command.split(), *places])
    return folder / "index"


ENGLISH = BM25Settings(analyzer="lucene-english")


def test_an_index_of_anserini_is_read_as_ours_of_the_same_texts(anserinis: Path) -> None:
    with LuceneIndex.open_foreign(anserinis, ENGLISH) as theirs:
        # Anserini leaves out documents without text.
        assert theirs.document_ids == ["d0", "d1", "d3", "d4"]
        [found] = theirs.search_documents(["heated wings"], 10)
        with LuceneIndex.build(ChunkTable.of_texts(TEXTS), ENGLISH) as ours:
            [expected] = ours.search_documents(["heated wings"], 10)
        assert [theirs.document_ids[n] for n in found.ordinals] == [f"d{n}" for n in expected.ordinals]
        assert found.scores.tolist() == expected.scores.tolist()
        assert len(found) == 2


def test_an_index_of_anserini_can_be_saved_as_one_of_ours(anserinis: Path, tmp_path: Path) -> None:
    with LuceneIndex.open_foreign(anserinis, ENGLISH) as theirs:
        theirs.save(tmp_path / "ours")
        before = theirs.search_documents(["heated wings"], 10)[0]
    with LuceneIndex.load(tmp_path / "ours") as ours:
        after = ours.search_documents(["heated wings"], 10)[0]
        assert ours.settings == ENGLISH
    assert (after.ordinals.tolist(), after.scores.tolist()) == (before.ordinals.tolist(), before.scores.tolist())


def test_a_lucene_index_without_anserinis_fields_is_an_error(tmp_path: Path) -> None:
    with jvm.java("no index"):
        config = jvm.java_class("org.apache.lucene.index.IndexWriterConfig")()
        writer = jvm.java_class("org.apache.lucene.index.IndexWriter")(open_directory(tmp_path), config)
        writer.addDocument(jvm.java_class("org.apache.lucene.document.Document")())
        writer.close()
    with pytest.raises(BackendError, match="no text in the field `contents`"):
        LuceneIndex.open_foreign(tmp_path, ENGLISH)


def test_a_folder_without_lucenes_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"cannot be opened.*no segments"):
        LuceneIndex.open_foreign(tmp_path, ENGLISH)


@pytest.mark.parametrize(
    ("analyzer", "query", "expected"),
    [("bm25s", "running", [0]), ("lucene-english", "runs", [0, 1]), ("lucene-standard", "the", [2])],
)
def test_each_analyzer_is_chosen_by_its_name(tmp_path: Path, analyzer: str, query: str, expected: list[int]) -> None:
    chosen = BM25Settings(analyzer=analyzer)
    LuceneIndex.build(ChunkTable.of_texts(["Running", "run x", "the"]), chosen, tmp_path / "index").close()
    with LuceneIndex.load(tmp_path / "index") as index:
        assert index.settings.analyzer == analyzer
        assert sorted(index.search([query], 10)[0].ordinals.tolist()) == expected


def test_batches_cover_all_texts_and_stay_small() -> None:
    texts = ["x" * 3_000_000, "x" * 3_000_000, *["y"] * 4500, ""]
    batches = list(_batches(texts))
    assert [start for start, _ in batches] == [0, *[end for _, end in batches[:-1]]]
    assert batches[-1][1] == len(texts)
    assert all(end - start <= 2000 for start, end in batches)
    assert list(_batches([])) == []
