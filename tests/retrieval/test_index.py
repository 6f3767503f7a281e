"""Settings, chunk tables, and how engines are found."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from pydantic import ValidationError

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, backend_names, get_backend, index


def test_the_settings_are_those_of_the_paper():
    assert BM25Settings().model_dump() == {"k1": 1.5, "b": 0.75, "analyzer": "bm25s"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"k1": -0.1},
        {"k1": 101},
        {"k1": float("nan")},
        {"k1": float("inf")},
        {"b": -0.1},
        {"b": 1.1},
        {"b": "x"},
        {"k2": 1},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValidationError):
        BM25Settings(**wrong)


def test_an_unknown_analyzer_is_refused_with_the_known_ones():
    with pytest.raises(ValidationError, match="unknown analyzer 'klingon'; known: bm25s"):
        BM25Settings(analyzer="klingon")


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        BM25Settings().k1 = 2.0


def test_chunks_have_the_id_of_their_document_and_their_place_in_it():
    table = ChunkTable(["a", "b", "c", "d"], np.array([0, 0, 2, 2]), ["x", "y", "z#1"])
    assert table.chunk_ids() == ["x#0", "x#1", "z#1#0", "z#1#1"]
    assert len(table) == 4


def test_a_table_of_texts_has_one_chunk_a_document():
    assert ChunkTable.of_texts(["a", "b"]).chunk_ids() == ["0#0", "1#0"]
    assert ChunkTable.of_texts(["a"], ["x"]).document_ids == ["x"]
    assert ChunkTable.of_texts([]).chunk_ids() == []


@pytest.mark.parametrize(
    ("texts", "documents", "message"),
    [(["a"], [0, 0], "1 texts but 2 document ordinals"), (["a", "b"], [1, 0], "must stand together")],
)
def test_a_table_that_does_not_fit_together_is_refused(texts, documents, message):
    with pytest.raises(ValueError, match=message):
        ChunkTable(texts, np.array(documents), ["x", "y"])


def test_engines_are_found_by_name():
    assert get_backend("bm25s") is Bm25sIndex
    assert {"bm25s", "lucene"} <= set(backend_names())


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(BackendError, match=r"no retrieval engine named 'solr'; installed: .*bm25s"):
        get_backend("solr")


def test_an_engine_whose_package_is_missing_is_refused_with_what_to_do(monkeypatch):
    broken = EntryPoint("broken", "no_such_package:Index", index.ENTRY_POINT_GROUP)
    monkeypatch.setattr(index, "entry_points", lambda group: [broken])
    with pytest.raises(
        BackendError, match=r"the broken engine cannot be imported .*no_such_package.*; run `autoindex doctor`"
    ):
        get_backend("broken")
    assert backend_names() == ["broken"]
