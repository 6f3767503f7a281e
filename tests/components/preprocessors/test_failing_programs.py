"""The preprocessor where something fails: who is named, what goes on, what is refused."""

import logging

import pytest
from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError

from autoindex_haystack.errors import FrozenError, ProgramError
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from tests.components.preprocessors.programs import FAILS_AT, TELLS_ALL


@pytest.mark.parametrize("documents", [None, "text", Document(content="x"), [Document(content="x"), "text"], ({},)])
def test_anything_but_a_list_of_documents_is_a_type_error(make, documents) -> None:
    with pytest.raises(TypeError, match="expects a list of Documents"):
        make().run(documents)


def test_an_error_names_the_document_and_the_next_run_works(make) -> None:
    preprocessor = make(FAILS_AT)
    documents = [Document(id=f"doc-{i}", content="bad" if i == 3 else "fine") for i in range(5)]
    with pytest.raises(ProgramError, match="at document doc-3") as caught:
        preprocessor.run(documents)
    assert caught.value.document_id == "doc-3"
    assert "no such thing" in str(caught.value)
    assert len(preprocessor.run(documents[:3])["documents"]) == 3


def test_a_loop_is_stopped_and_the_document_named(make) -> None:
    preprocessor = make(FAILS_AT, timeout=0.5)
    with pytest.raises(ProgramError, match=r"longer than 0\.5 seconds at document b"):
        preprocessor.run([Document(id="a", content="fine"), Document(id="b", content="loop")])


@pytest.mark.parametrize("workers", [1, 2])
def test_documents_at_which_the_program_fails_can_be_skipped(make, caplog, workers) -> None:
    bad = {0, 4, 5, 9}
    documents = [Document(id=f"{i}", content="bad" if i in bad else f"fine {i}") for i in range(10)]
    with caplog.at_level(logging.WARNING):
        chunks = make(FAILS_AT, on_error="skip", workers=workers).run(documents)["documents"]
    assert [chunk.content for chunk in chunks] == [f"fine {i}" for i in range(10) if i not in bad]
    assert "4 documents made the program fail and are not indexed: 0, 4, 5, 9" in caplog.text


@pytest.mark.parametrize(("on_error", "kept"), [("skip", ["fine"]), ("full_document", ["T\nbad", "fine"])])
def test_documents_at_which_the_program_fails_are_reported(make, caplog, on_error, kept) -> None:
    documents = [Document(id="a", content="bad", meta={"title": "T"}), Document(id="b", content="fine")]
    with caplog.at_level(logging.WARNING):
        result = make(FAILS_AT, on_error=on_error).run(documents)
    assert [chunk.content for chunk in result["documents"]] == kept
    assert result["failed"] == ["a"]
    fate = "are not indexed" if on_error == "skip" else "are indexed as they are"
    assert f"1 documents made the program fail and {fate}: a" in caplog.text


def test_a_document_that_kills_its_worker_is_put_aside_and_the_others_go_on(make) -> None:
    documents = [Document(id=f"{i}", content="loop" if i == 2 else f"fine {i}") for i in range(5)]
    result = make(FAILS_AT, on_error="skip", timeout=0.5).run(documents)
    assert result["failed"] == ["2"]
    assert len(result["documents"]) == 4


def test_a_program_that_cannot_start_is_not_skipped(make) -> None:
    preprocessor = make("raise ValueError\n" + FAILS_AT, on_error="skip")
    with pytest.raises(ProgramError, match="ValueError"):
        preprocessor.run([Document(content="fine")])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document(id="b", content="half \ud83d"), "document b holds half a surrogate pair"),
        (Document(id="b", content="x", meta={"when": {1, 2}}), "document b has metadata that is no JSON"),
    ],
)
def test_a_document_that_no_program_can_be_given_is_named(make, document, message) -> None:
    preprocessor = make(settings={"metadata_fields": ("when",)})
    with pytest.raises(ValueError, match=message):
        preprocessor.run([Document(id="a", content="fine"), document])


@pytest.mark.parametrize(
    ("file", "old", "new"), [("program.py", '"sentence": i', '"sentence": 0'), ("manifest.json", "1.5", "1.6")]
)
def test_a_changed_component_is_refused(freeze, file, old, new) -> None:
    frozen = freeze()
    text = (frozen.path / file).read_text()
    assert old in text
    (frozen.path / file).write_text(text.replace(old, new))
    preprocessor = RepresentationPreprocessor(str(frozen.path))
    for use in (preprocessor.warm_up, lambda: preprocessor.run([Document(content="x")])):
        with pytest.raises(FrozenError, match=f"{file} was changed"):
            use()


def test_another_component_than_the_pinned_one_is_refused(freeze) -> None:
    frozen, other = freeze(), freeze(TELLS_ALL, name="other")
    with pytest.raises(FrozenError, match="is pinned"):
        RepresentationPreprocessor(str(frozen.path), sha256=other.manifest.sha256).warm_up()


@pytest.mark.parametrize(
    "parameters", [{"workers": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"on_error": "ignore"}]
)
def test_impossible_parameters_are_refused(parameters) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        RepresentationPreprocessor("frozen", **parameters)


def test_a_pipeline_error_says_which_document(make) -> None:
    pipeline = Pipeline()
    pipeline.add_component("preprocessor", make(FAILS_AT))
    with pytest.raises(PipelineRuntimeError, match="at document x"):
        pipeline.run({"preprocessor": {"documents": [Document(id="x", content="bad")]}})
