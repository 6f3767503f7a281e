"""The bm25s engine: the scores of the bm25s package, without its pitfalls; saved, loaded, damaged."""

import json
import math
import shutil

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
from autoindex_haystack.retrieval.analyzers import tokenize

TEXTS = [
    "A heated wing sheds ice.",
    "A cold engine starts slowly; the cold wing gathers ice, ice, ice.",
    "Ailerons steer the roll.",
    "",
    "the of and",
    "größe und ähnlichkeit der flügel",
]
WORDS = ["wing", "ice", "engine", "cold", "the", "x", "größe", "日本語のテキスト", "3.14", "don't", "WING"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def build(texts=TEXTS, settings=None, ids=None) -> Bm25sIndex:
    return Bm25sIndex.build(ChunkTable.of_texts(texts, ids), settings or BM25Settings())


def hits(index: Bm25sIndex, query: str, top_k: int = 100) -> list[tuple[int, float]]:
    [found] = index.search([query], top_k)
    return list(zip(found.ordinals.tolist(), found.scores.tolist(), strict=True))


def theirs(texts, queries, k1=1.5, b=0.75):
    """What the bm25s package returns itself: for each query every document's score above 0."""
    engine = bm25s.BM25(method="lucene", k1=k1, b=b)
    engine.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(queries, return_ids=False, show_progress=False)
    found, scores = engine.retrieve(tokens, k=len(texts), show_progress=False)
    return [{int(d): s for d, s in zip(*row, strict=True) if s > 0} for row in zip(found, scores, strict=True)]


@settings(max_examples=60)
@given(
    texts=st.lists(SENTENCES, min_size=1, max_size=12),
    queries=st.lists(SENTENCES, min_size=1, max_size=4),
    k1=st.sampled_from([0.0, 0.9, 1.5]),
    b=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
)
def test_scores_are_those_of_the_bm25s_package(texts, queries, k1, b):
    texts = [*texts, "wing ice engine"]
    queries = [query for query in queries if tokenize(query)] or ["wing"]
    index = build(texts, BM25Settings(k1=k1, b=b))
    for query, expected in zip(queries, theirs(texts, queries, k1, b), strict=True):
        assert dict(hits(index, query)) == pytest.approx(expected, rel=1e-6)


def test_scores_follow_the_formula():
    """idf = ln(1 + (N − n + 0.5) / (n + 0.5)), tf / (tf + k1 (1 − b + b L / avg)); empty chunks count in N and avg."""
    lengths = [len(tokenize(text)) for text in TEXTS]
    average, tf, n = sum(lengths) / len(TEXTS), 3, 2
    idf = math.log(1 + (len(TEXTS) - n + 0.5) / (n + 0.5))
    expected = idf * tf / (tf + 1.5 * (0.25 + 0.75 * lengths[1] / average))
    assert dict(hits(build(), "ice"))[1] == pytest.approx(expected, rel=1e-6)


def test_a_repeated_query_word_counts_again():
    assert dict(hits(build(), "ice ice"))[0] == pytest.approx(2 * dict(hits(build(), "ice"))[0])


def test_top_k_may_exceed_the_corpus_and_no_hit_has_a_score_of_zero():
    found = hits(build(), "ice wing", 10**12)
    assert {ordinal for ordinal, _ in found} == {0, 1}
    assert all(score > 0 for _, score in found)
    assert len(hits(build(), "ice wing", 1)) == 1
    assert hits(build(), "ice wing", 0) == hits(build(), "ice wing", -1) == []


@pytest.mark.parametrize("query", ["", " \n", "the of and", "unknown words only", "a x ?!", "\ufffd" * 10])
def test_a_query_without_known_words_finds_nothing(query):
    assert hits(build(), query) == []
    assert len(build().search_documents([query], 10)[0]) == 0


@pytest.mark.parametrize(
    "texts", [[], [""], ["", "", ""], ["the", "of and", "a x"]], ids=["none", "one", "empty", "stop words"]
)
def test_a_corpus_without_any_token_gives_empty_rankings(texts, tmp_path):
    index = build(texts)
    assert len(index) == len(texts)
    assert hits(index, "wing the") == []
    index.save(tmp_path / "index")
    with Bm25sIndex.load(tmp_path / "index") as loaded:
        assert len(loaded) == len(texts)
        assert hits(loaded, "wing the") == []


def test_a_query_of_5_000_words_and_text_in_any_language_are_fine():
    assert hits(build(), " ".join(f"word{i}" for i in range(5_000)) + " ice")[0][0] == 1
    assert [ordinal for ordinal, _ in hits(build(), "GRÖSSE größe")] == [5]
    assert [ordinal for ordinal, _ in hits(build(["日本語のテキスト", "😀 emoji"]), "日本語のテキスト")] == [0]


def test_scores_are_finite_also_at_the_ends_of_the_settings():
    for k1, b in ((0, 0), (0, 1), (100, 1)):
        assert all(math.isfinite(score) for _, score in hits(build(settings=BM25Settings(k1=k1, b=b)), "ice wing"))


def test_ties_are_broken_by_document_id_and_then_by_chunk():
    table = ChunkTable(["same words"] * 5, np.array([0, 0, 1, 2, 2]), ["b", "10", "9"])
    with Bm25sIndex.build(table, BM25Settings()) as index:
        [chunks], [documents] = index.search(["words"], 10), index.search_documents(["words"], 10)
    assert chunks.ordinals.tolist() == [2, 3, 4, 0, 1]
    assert [table.document_ids[d] for d in documents.ordinals] == ["10", "9", "b"]
    assert documents.chunks.tolist() == [2, 3, 0]


def test_only_allowed_chunks_are_found():
    allowed = np.array([True, False, True, True, True, True])
    [found] = build().search(["ice"], 10, allowed)
    assert found.ordinals.tolist() == [0]
    assert len(build().search(["ice"], 10, np.zeros(6, np.bool_))[0]) == 0


def test_a_shallow_pool_has_all_ties_at_its_cut():
    index = build(["wing"] * 50 + ["wing wing"] * 3 + ["wing engine"] * 5)
    found = index.candidates("wing", 10)
    assert len(found.ordinals) == 53
    assert not found.exhausted
    assert index.candidates("wing", 58).exhausted


@settings(max_examples=25)
@given(texts=st.lists(SENTENCES, min_size=1, max_size=8), query=SENTENCES)
def test_an_index_is_the_same_after_it_was_saved_and_loaded(tmp_path_factory, texts, query):
    folder = tmp_path_factory.mktemp("saved") / "index"
    index = build(texts, BM25Settings(k1=0.9, b=0.4))
    index.save(folder)
    with Bm25sIndex.load(folder) as loaded:
        assert loaded.settings == index.settings
        assert loaded.document_ids == index.document_ids
        assert loaded.documents.tolist() == index.documents.tolist()
        assert hits(loaded, query) == hits(index, query)


def test_a_folder_can_be_given_when_an_index_is_built(tmp_path):
    Bm25sIndex.build(ChunkTable.of_texts(TEXTS), BM25Settings(), tmp_path / "index")
    assert hits(Bm25sIndex.load(tmp_path / "index"), "roll") == hits(build(), "roll")


def test_a_folder_that_is_taken_or_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("kept")
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "taken", tmp_path / "file" / "index"):
        with pytest.raises(BackendError, match="the index cannot be written to"):
            build().save(folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "file", "taken"]
    (tmp_path / "empty").mkdir()
    build().save(tmp_path / "empty")
    assert len(Bm25sIndex.load(tmp_path / "empty")) == len(TEXTS)


def test_a_failed_save_leaves_nothing(tmp_path, monkeypatch):
    index = build()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(index._engine, "save", fail)
    with pytest.raises(BackendError, match="disk full"):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_an_index_is_refused(tmp_path):
    with pytest.raises(BackendError, match="holds no index; build one with `autoindex index`"):
        Bm25sIndex.load(tmp_path / "nothing")
    with pytest.raises(BackendError, match="holds no index"):
        Bm25sIndex.load(tmp_path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "index"
    build().save(folder)
    return folder


FILES = (
    "index.json documents.npy document_ids.json bm25s bm25s/params.index.json bm25s/vocab.index.json "
    "bm25s/data.csc.index.npy bm25s/indices.csc.index.npy bm25s/indptr.csc.index.npy"
).split()
DAMAGE = {
    "removed": lambda path: shutil.rmtree(path) if path.is_dir() else path.unlink(),
    "emptied": lambda path: [p.write_bytes(b"") for p in (path.iterdir() if path.is_dir() else [path])],
    "cut off": lambda path: [p.write_bytes(p.read_bytes()[:-3]) for p in (path.iterdir() if path.is_dir() else [path])],
    "garbage": lambda path: [p.write_bytes(b"\x93garbage") for p in (path.iterdir() if path.is_dir() else [path])],
    "other JSON": lambda path: [p.write_text("[1]") for p in (path.iterdir() if path.is_dir() else [path])],
}


def test_these_are_all_files_of_an_index(saved):
    assert sorted(str(path.relative_to(saved)) for path in saved.rglob("*")) == sorted(FILES)


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_index_is_refused(saved, tmp_path, name, how):
    folder = tmp_path / "index"
    shutil.copytree(saved, folder)
    DAMAGE[how](folder / name)
    with pytest.raises(BackendError, match=r"build (it|the index) anew|holds no index|is damaged"):
        Bm25sIndex.load(folder)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("index.json", lambda header: header | {"format_version": 2}, "has index format 2, this version reads 1"),
        ("index.json", lambda header: header | {"backend": "lucene"}, "is an index of lucene, not of bm25s"),
        ("index.json", lambda header: header | {"chunks": 7}, "do not fit together"),
        ("index.json", lambda header: header | {"settings": {"k1": -1}}, "cannot be read"),
        ("index.json", lambda header: header | {"settings": {"analyzer": "klingon"}}, "unknown analyzer"),
        ("document_ids.json", lambda ids: ids[:-1], "do not fit together"),
        ("document_ids.json", lambda ids: [*ids[:-1], 5], "do not fit together"),
        ("document_ids.json", lambda ids: {"ids": ids}, "do not fit together"),
    ],
)
def test_an_index_that_says_something_else_is_refused(saved, tmp_path, name, change, message):
    folder = tmp_path / "index"
    shutil.copytree(saved, folder)
    (folder / name).write_text(json.dumps(change(json.loads((folder / name).read_text()))))
    with pytest.raises(BackendError, match=message):
        Bm25sIndex.load(folder)


@pytest.mark.parametrize(
    "documents", [[0, 1, 2, 3, 4, 6], [-1, 0, 1, 2, 3, 4], [1, 0, 2, 3, 4, 5], [0.0, 1, 2, 3, 4, 5]]
)
def test_chunks_of_documents_that_are_not_there_are_refused(saved, tmp_path, documents):
    folder = tmp_path / "index"
    shutil.copytree(saved, folder)
    np.save(folder / "documents.npy", np.array(documents))
    with pytest.raises(BackendError, match="do not fit together"):
        Bm25sIndex.load(folder)


def test_chunks_of_another_index_are_refused(saved, tmp_path):
    folder = tmp_path / "index"
    build(TEXTS[:3]).save(folder)
    shutil.rmtree(folder / "bm25s")
    shutil.copytree(saved / "bm25s", folder / "bm25s")
    with pytest.raises(BackendError, match="it has 6 chunks where 3 are stated"):
        Bm25sIndex.load(folder)


def test_a_closed_index_refuses_to_search():
    index = build()
    index.close()
    index.close()
    with pytest.raises(BackendError, match="the index is closed"):
        index.search(["wing"], 10)
