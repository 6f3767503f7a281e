"""The plain function over an iterator of rows gives what the Haystack component gives, in any process."""

import json
import pickle

import pytest
from haystack import Document

from autoindex_haystack.distributed import map_partitions
from autoindex_haystack.errors import CollectionError, ProgramError
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from tests.distributed.conftest import record


def test_rows_are_the_chunks_of_the_haystack_component(frozen):
    records = [record(n) for n in range(60)]
    rows = list(pickle.loads(pickle.dumps(map_partitions(frozen)))(iter(records)))
    preprocessor = RepresentationPreprocessor(str(frozen.path))
    meta = [
        {k: v for k, v in {"year": r.get("metadata", {}).get("year"), "title": r["title"] or None}.items() if v}
        for r in records
    ]
    documents = [Document(id=r["_id"], content=r["text"], meta=m) for r, m in zip(records, meta, strict=True)]
    expected = preprocessor.run(documents=documents)["documents"]
    preprocessor.close()
    assert [(row["chunk_id"], row["text"], json.loads(row["meta"])) for row in rows] == [
        (chunk.id, chunk.content, chunk.meta) for chunk in expected
    ]
    assert [row["doc_id"] for row in rows] == [chunk.meta["source_id"] for chunk in expected]


def test_a_failing_document_raises_or_becomes_a_row_with_its_error(frozen):
    rows = [record(1), record(2, "poison"), record(3), {"_id": "x"}, {"_id": "y", "text": "\ud800"}]
    with pytest.raises(ProgramError, match="cannot swallow this"):
        list(map_partitions(frozen)(rows))
    with pytest.raises(CollectionError, match='row 1 of the partition: the field "text" is missing'):
        list(map_partitions(frozen)(rows[3:]))
    found = list(map_partitions(frozen, on_error="row")(rows))
    assert [row["doc_id"] for row in found if row["error"]] == [rows[1]["_id"], "x", "y"]
    assert {row["doc_id"] for row in found if not row["error"]} == {rows[0]["_id"], rows[2]["_id"]}
    assert all(row["text"] is None for row in found if row["error"])


@pytest.mark.parametrize("metadata", ['{"year": 1950}', [("year", 1950)], {"year": 1950, "tags": None}])
def test_metadata_may_come_as_engines_with_typed_columns_have_it(frozen, metadata):
    [row] = map_partitions(frozen)([{"_id": "a", "text": "wing", "title": None, "metadata": metadata}])
    assert json.loads(row["meta"])["year"] == 1950


def test_an_id_that_repeats_does_not_confuse_which_document_failed(frozen):
    rows = [{"_id": "a", "text": "wing"}, {"_id": "a", "text": "poison"}, {"_id": "a", "text": "nose"}]
    assert [row["error"] is None for row in map_partitions(frozen, on_error="row")(rows)] == [True, False, True]


def test_workers_stay_warm_within_with_and_end_with_the_call_otherwise(frozen):
    mapper = map_partitions(frozen)
    list(mapper([record(1)]))
    assert mapper._runner is None
    with mapper:
        list(mapper([record(1)]))
        workers = mapper._runner._workers
        list(mapper([record(2)]))
        assert mapper._runner._workers == workers != []
    assert mapper._runner is None


def test_a_program_that_fails_everywhere_is_not_tried_for_ever(frozen, monkeypatch):
    monkeypatch.setattr("autoindex_haystack.distributed.mapper._MOST_FAILURES", 3)
    found = list(map_partitions(frozen, on_error="row")([record(n, "poison") for n in range(1, 40)]))
    assert len(found) == 39
    assert sum("not tried" in row["error"] for row in found) == 36
