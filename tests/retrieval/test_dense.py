"""Dense and hybrid retrieval: order and MaxP are those of all engines, and what is missing is said before any work.

The model is Haystack's own mock, or vectors that the test knows; a real one is tested in an environment of its own.
"""

import importlib
import sys
from importlib import metadata

import numpy as np
import pytest
from haystack.components.embedders import MockDocumentEmbedder, MockTextEmbedder
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from autoindex_haystack.errors import BackendError
from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, get_backend, get_retriever
from autoindex_haystack.retrieval.dense_backend import DenseRetriever
from autoindex_haystack.retrieval.embedding import HaystackEmbedder, model_folder
from autoindex_haystack.retrieval.hybrid_backend import HybridRetriever


class Known:
    """Vectors by text."""

    def __init__(self, vectors):
        self.vectors = {text: np.array(vector, np.float32) for text, vector in vectors.items()}

    def chunks(self, texts):
        return np.array([self.vectors[text] for text in texts], np.float32)

    def query(self, text):
        return self.vectors[text]


def test_documents_are_ranked_by_their_best_chunk_and_no_cosine_of_zero_or_less_is_a_hit():
    known = Known({"a": (1, 0), "b": (0.6, 0.8), "c": (0, 1), "d": (-1, 0), "q": (1, 0)})
    chunks = ChunkTable(["c", "b", "a", "d"], np.array([0, 1, 1, 2]), ["x", "y", "z"])
    [ranking] = DenseRetriever(chunks, known).search_documents(["q"], 10)
    assert (ranking.ordinals.tolist(), ranking.chunks.tolist(), ranking.scores.tolist()) == ([1], [2], [1.0])


@given(arrays.arrays(np.float32, (12, 3), elements=st.floats(-1, 1, width=16)), st.integers(1, 6))
def test_the_order_is_that_of_all_engines(vectors, top_k):
    texts = [str(i) for i in range(12)]
    chunks = ChunkTable(texts, np.arange(12) // 2, ["f", "b", "a", "e", "d", "c"])
    retriever = DenseRetriever(chunks, Known({**dict(zip(texts, vectors, strict=True)), "q": (1, 0, 0)}))
    [ranking] = retriever.search_documents(["q"], top_k)
    best = {chunks.document_ids[d]: max(vectors[2 * d, 0], vectors[2 * d + 1, 0]) for d in range(6)}
    wanted = sorted((-round(float(score), 4), name) for name, score in best.items() if score > 0)[:top_k]
    assert [chunks.document_ids[d] for d in ranking.ordinals] == [name for _, name in wanted]


def test_blank_chunks_and_blank_queries_find_nothing():
    embedder = HaystackEmbedder(MockDocumentEmbedder(dimension=8), MockTextEmbedder(dimension=8))
    chunks = ChunkTable.of_texts(["", "some text", "  "])
    assert np.linalg.norm(embedder.chunks(chunks.texts), axis=1) == pytest.approx([0, 1, 0])
    retriever = DenseRetriever(chunks, embedder)
    [same, blank] = retriever.search_documents(["some text", " "], 10)
    assert (same.ordinals.tolist(), len(blank)) == ([1], 0)
    assert same.scores == pytest.approx([1])
    [nothing] = DenseRetriever(ChunkTable.of_texts(["", ""]), embedder).search_documents(["some text"], 10)
    assert len(nothing) == 0


def test_a_hybrid_ranking_joins_both_by_reciprocal_ranks():
    texts = ["heated wing", "wing", "engine"]
    known = Known({"heated wing": (0, 1), "wing": (0.8, 0.6), "engine": (1, 0), "heated wing tips": (1, 0)})
    chunks = ChunkTable.of_texts(texts, ["x", "y", "z"])
    lexical = Bm25sIndex.build(chunks, BM25Settings())
    [ranking] = HybridRetriever(lexical, DenseRetriever(chunks, known)).search_documents(["heated wing tips"], 10)
    # bm25s ranks x, y; the embeddings rank z, y.
    expected = {"y": 1 / 62 + 1 / 62, "x": 1 / 61, "z": 1 / 61}
    assert [chunks.document_ids[d] for d in ranking.ordinals] == ["y", "x", "z"]
    assert ranking.scores == pytest.approx([10_000 * expected[name] for name in "yxz"])


def test_neighbours_far_down_a_hybrid_ranking_are_still_told_apart():
    angles = np.linspace(0, 1.5, 900)
    texts = [f"t{i}" for i in range(900)]
    vectors = dict(zip(texts, np.c_[np.cos(angles), np.sin(angles)], strict=True))
    chunks = ChunkTable.of_texts(texts, [f"{900 - i:04}" for i in range(900)])
    dense = DenseRetriever(chunks, Known({**vectors, "q": (1, 0)}))
    [alone] = dense.search_documents(["q"], 900)
    [joined] = HybridRetriever(dense, dense).search_documents(["q"], 900)
    assert joined.ordinals.tolist() == alone.ordinals.tolist()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install packages made of the files that a test names."""

    def install(name, *files):
        record = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        record.mkdir()
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (record / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).touch()
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        importlib.invalidate_caches()

    return install


def test_the_model_is_the_folder_of_the_package_that_has_one(installed, tmp_path):
    installed("one", "one/model/modules.json", "one/model/1_Pooling/config.json")
    assert model_folder("one") == tmp_path / "one" / "model"


def test_a_package_without_a_single_model_is_refused(installed):
    installed("none", "none/__init__.py")
    installed("two", "two/a/modules.json", "two/b/modules.json")
    with pytest.raises(BackendError, match="'none' holds no embedding model"):
        model_folder("none")
    with pytest.raises(BackendError, match="'two' holds 2 embedding models"):
        model_folder("two")


@pytest.mark.parametrize("engine", ["dense", "hybrid"])
def test_what_is_missing_is_said_before_the_corpus_is_read(engine, monkeypatch, tmp_path, installed):
    for package in (":nowhere", ":", ":../x"):
        with pytest.raises(BackendError, match=r"no package .* with an embedding model is installed"):
            evaluate(tmp_path / "no collection", backend=f"{engine}{package}")
    installed("a-model", "a_model/modules.json")
    known = metadata.distribution

    def without(name):
        if name == "sentence-transformers-haystack":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr("autoindex_haystack.retrieval.embedding.distribution", without)
    with pytest.raises(BackendError, match=r"'sentence-transformers-haystack', which is not installed.*\[dense\]"):
        evaluate(tmp_path / "no collection", backend=f"{engine}:a-model")


def test_no_index_is_made_of_embeddings_and_bm25_has_no_model():
    with pytest.raises(BackendError, match="dense:x can only be evaluated"):
        get_backend("dense:x")
    with pytest.raises(BackendError, match="this engine has no model, so 'x' means nothing"):
        get_retriever("bm25s:x")
