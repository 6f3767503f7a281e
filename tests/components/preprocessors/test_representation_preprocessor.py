"""The preprocessor: what programs see, what chunks say, what is reported."""

import json
import logging
from copy import deepcopy
from pathlib import Path

import pytest
from haystack import Document

from autoindex_haystack.errors import FrozenError, ProgramError
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from tests.components.preprocessors.programs import FAILS_AT, TELLS_ALL


def test_chunks_carry_text_place_and_document(make) -> None:
    preprocessor = make()
    source = Document(id="doc", content="Wings lift. Engines push.", meta={"title": "Aircraft", "page": 3})
    first, second = preprocessor.run([source])["documents"]
    program = preprocessor.run([source])["documents"][0].meta["program_sha256"]
    common = {"title": "Aircraft", "page": 3, "source_id": "doc", "program_sha256": program}
    assert (first.id, first.content) == ("doc#0", "Aircraft Wings lift")
    assert (second.id, second.content) == ("doc#1", "Aircraft Engines push")
    assert second.meta == {**common, "split_id": 1, "sentence": 1}
    kept = {"source_content": source.content, "source_meta": source.meta, "split_count": 2}
    assert first.meta == {**common, **kept, "split_id": 0, "sentence": 0}
    assert len(program) == 64


def test_a_program_sees_title_and_named_fields_only(make) -> None:
    preprocessor = make(TELLS_ALL, settings={"metadata_fields": ("year", "tags")}, title_key="name")
    metas = [
        {"name": "T", "year": 1969, "tags": ["a"], "path": "/secret", "title": "not this"},
        {"name": "", "year": None},
        {"name": 7},
        {},
    ]
    documents = [Document(id=f"{i}", content="x", meta=meta) for i, meta in enumerate(metas)]
    seen = [json.loads(chunk.content or "")[1] for chunk in preprocessor.run(documents)["documents"]]
    assert seen == [{"year": 1969, "tags": ["a"], "title": "T"}, {"year": None}, {}, {}]


def test_no_content_counts_as_empty_and_is_reported(make, caplog) -> None:
    preprocessor = make(TELLS_ALL)
    with caplog.at_level(logging.WARNING):
        [chunk] = preprocessor.run([Document(id="none", content=None, meta={"title": "T"})])["documents"]
    assert json.loads(chunk.content or "") == ["", {"title": "T"}]
    assert chunk.meta["source_content"] is None
    assert "1 documents have no content and count as empty: none" in caplog.text


def test_documents_without_index_text_are_reported(make, caplog) -> None:
    documents = [Document(id=f"e{i}", content=" . ") for i in range(7)] + [Document(id="full", content="Wing.")]
    with caplog.at_level(logging.WARNING):
        chunks = make().run(documents)["documents"]
    assert [chunk.id for chunk in chunks] == [f"{document.id}#0" for document in documents]
    assert [chunk.content for chunk in chunks] == [None] * 7 + ["Wing"]
    assert "7 documents got no index text from the program and cannot be found: e0, e1, e2, e3, e4 …" in caplog.text


def test_nothing_is_reported_when_all_is_well(make, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert make().run([])["documents"] == []
        make().run([Document(content="Wing.")])
    assert caplog.text == ""


def test_inputs_are_not_changed_and_not_shared(make) -> None:
    document = Document(id="doc", content="A. B.", meta={"tags": ["x"], "source_id": "mine", "split_id": [1]})
    before = deepcopy(document)
    for chunk in make().run([document])["documents"]:
        assert chunk.meta["source_id"] == "doc"
        chunk.meta["tags"].append("changed")
    assert document == before


def test_the_same_document_gives_the_same_chunks(make) -> None:
    documents = [Document(id=f"{i}", content="A. B. C.") for i in range(5)]
    first, second = make(), make(workers=2)
    assert first.run(documents) == first.run(documents) == second.run(documents)


def test_of_documents_with_one_id_the_last_one_counts(make, caplog) -> None:
    documents = [
        Document(id="a", content="Old. Old."),
        Document(id="b", content="B."),
        Document(id="a", content="New."),
    ]
    with caplog.at_level(logging.WARNING):
        chunks = make().run(documents)["documents"]
    assert sorted((chunk.id, chunk.content) for chunk in chunks) == [("a#0", "New"), ("b#0", "B")]
    assert "1 documents were left out because others after them have the same id" in caplog.text


async def test_run_async_gives_the_same_and_the_same_errors(make) -> None:
    preprocessor = make(FAILS_AT)
    documents = [Document(id="a", content="wing")]
    assert await preprocessor.run_async(documents) == preprocessor.run(documents)
    with pytest.raises(TypeError):
        await preprocessor.run_async("text")
    with pytest.raises(ProgramError):
        await preprocessor.run_async([Document(content="bad")])


def test_nothing_is_read_before_warm_up(tmp_path: Path) -> None:
    preprocessor = RepresentationPreprocessor(str(tmp_path / "not there"))
    with pytest.raises(FrozenError):
        preprocessor.warm_up()


def test_round_trip_of_parameters() -> None:
    parameters = {
        "sha256": "f" * 64,
        "workers": 2,
        "title_key": "name",
        "timeout": 5.0,
        "on_error": "skip",
        "isolation": "process-only",
        "program_memory": 1 << 29,
    }
    data = RepresentationPreprocessor("frozen", **parameters).to_dict()
    assert data == {
        "type": "haystack_integrations.components.preprocessors.autoindex.representation_preprocessor"
        ".RepresentationPreprocessor",
        "init_parameters": {"path": "frozen", **parameters},
    }
    assert RepresentationPreprocessor.from_dict(data).to_dict() == data
    assert RepresentationPreprocessor("frozen").to_dict()["init_parameters"] == {
        "path": "frozen",
        "sha256": None,
        "workers": 1,
        "title_key": "title",
        "timeout": 60.0,
        "on_error": "raise",
        "isolation": "full",
        "program_memory": 2 << 30,
    }


def test_a_document_may_grow_as_much_alone_as_in_a_corpus(make) -> None:
    source = TELLS_ALL.replace("json.dumps([doc.text, doc.metadata])", "doc.text * 30")
    [chunk] = make(source).run([Document(content="x" * 10_000)])["documents"]
    assert len(chunk.content or "") == 300_000
