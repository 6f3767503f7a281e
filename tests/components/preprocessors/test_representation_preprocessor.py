"""The preprocessor: what programs see, what chunks say, who is named when one fails, and that no process stays."""

import asyncio
import gc
import json
import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import pytest
from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError

from autoindex_haystack.errors import FrozenError, ProgramError
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor

TELLS_ALL = """
import json
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        [doc] = docs
        return [Chunk("0", doc.doc_id, json.dumps([doc.text, doc.metadata]))]
"""
FAILS_AT = """
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        if "bad" in docs[0].text:
            raise KeyError("no such thing")
        while "loop" in docs[0].text:
            pass
        return [Chunk("0", docs[0].doc_id, docs[0].text)]
"""


@pytest.fixture
def make(freeze):
    """Make a preprocessor over a program frozen on the spot; all are closed in the end."""
    made = []

    def make_one(*source: str, settings: dict[str, object] | None = None, **parameters) -> RepresentationPreprocessor:
        frozen = freeze(*source, name=f"frozen{len(made)}", **(settings or {}))
        made.append(RepresentationPreprocessor(str(frozen.path), sha256=frozen.manifest.sha256, **parameters))
        return made[-1]

    yield make_one
    for preprocessor in made:
        preprocessor.close()


def children() -> set[int]:
    """The processes that this one has started and that are still there."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


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


@pytest.mark.parametrize("documents", [None, "text", Document(content="x"), [Document(content="x"), "text"], ({},)])
def test_anything_but_a_list_of_documents_is_a_type_error(make, documents) -> None:
    with pytest.raises(TypeError, match="expects a list of Documents"):
        make().run(documents)


async def test_run_async_gives_the_same_and_the_same_errors(make) -> None:
    preprocessor = make(FAILS_AT)
    documents = [Document(id="a", content="wing")]
    assert await preprocessor.run_async(documents) == preprocessor.run(documents)
    with pytest.raises(TypeError):
        await preprocessor.run_async("text")
    with pytest.raises(ProgramError):
        await preprocessor.run_async([Document(content="bad")])


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


def test_nothing_is_read_before_warm_up(tmp_path: Path) -> None:
    preprocessor = RepresentationPreprocessor(str(tmp_path / "not there"))
    with pytest.raises(FrozenError):
        preprocessor.warm_up()


@pytest.mark.parametrize(
    "parameters", [{"workers": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"on_error": "ignore"}]
)
def test_impossible_parameters_are_refused(parameters) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        RepresentationPreprocessor("frozen", **parameters)


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


def test_workers_stay_warm_and_end_on_close(make) -> None:
    before, preprocessor = children(), make(workers=2)
    preprocessor.warm_up()
    warm = children() - before
    assert len(warm) == 2
    preprocessor.warm_up()
    preprocessor.run([Document(content="A.")])
    preprocessor.run([Document(content="A.")])
    assert children() - before == warm
    preprocessor.close()
    preprocessor.close()
    assert children() == before
    assert preprocessor.run([Document(content="A.")])["documents"]


def test_workers_end_with_the_component(freeze) -> None:
    before = children()
    preprocessor = RepresentationPreprocessor(str(freeze().path))
    preprocessor.run([Document(content="A.")])
    assert len(children() - before) == 1
    del preprocessor
    gc.collect()
    assert children() == before


def test_workers_end_with_the_pipeline(freeze) -> None:
    before = children()
    pipeline = Pipeline()
    pipeline.add_component("preprocessor", RepresentationPreprocessor(str(freeze().path)))
    pipeline.warm_up()
    warm = children() - before
    assert (
        len(pipeline.run({"preprocessor": {"documents": [Document(content="A. B.")]}})["preprocessor"]["documents"])
        == 2
    )
    assert children() - before == warm
    assert len(warm) == 1
    pipeline.close()
    assert children() == before


def test_workers_end_with_the_process(freeze, tmp_path: Path) -> None:
    script = """
import pathlib, sys
from haystack import Document
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
preprocessor = RepresentationPreprocessor(sys.argv[1], workers=2)
preprocessor.run([Document(content="A.")])
print(pathlib.Path("/proc/self/task").joinpath(str(__import__("os").getpid()), "children").read_text())
"""
    command = [sys.executable, "-c", script, str(freeze().path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    workers = [int(pid) for pid in done.stdout.split()]
    assert len(workers) == 2
    assert done.stderr == ""
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_eight_threads_use_one_component(make) -> None:
    preprocessor = make(workers=2)

    def run(number: int) -> list[tuple[str, str | None]]:
        documents = [Document(id=f"{number}-{i}", content=f"Wing {number}. Part {i}.") for i in range(20)]
        return [(chunk.id, chunk.content) for chunk in preprocessor.run(documents)["documents"]]

    before = children()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(24)))
    for number, result in enumerate(results):
        expected = [
            (f"{number}-{i}#{n}", text) for i in range(20) for n, text in enumerate((f"Wing {number}", f"Part {i}"))
        ]
        assert result == expected
    assert len(children() - before) == 2


def test_threads_that_come_at_once_start_one_set_of_workers(make, monkeypatch) -> None:
    module = sys.modules[RepresentationPreprocessor.__module__]
    load = module.load_frozen
    monkeypatch.setattr(module, "load_frozen", lambda *args, **more: time.sleep(0.1) or load(*args, **more))
    preprocessor, before = make(), children()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(preprocessor.run, [[Document(id="a", content="A.")]] * 8))
    assert all(result == results[0] for result in results)
    assert len(children() - before) == 1


async def test_sixteen_tasks_use_two_components(make) -> None:
    both = [make(), make()]
    documents = [Document(id="a", content="A. B.")]
    results = await asyncio.gather(*(both[i % 2].run_async(documents) for i in range(16)))
    assert all(result == results[0] for result in results)


def test_a_document_may_grow_as_much_alone_as_in_a_corpus(make) -> None:
    source = TELLS_ALL.replace("json.dumps([doc.text, doc.metadata])", "doc.text * 30")
    [chunk] = make(source).run([Document(content="x" * 10_000)])["documents"]
    assert len(chunk.content or "") == 300_000


def test_many_batches_come_back_in_order(make, monkeypatch) -> None:
    module = "haystack_integrations.components.preprocessors.autoindex.program_workers"
    monkeypatch.setattr(sys.modules[module], "_BATCH_DOCUMENTS", 7)
    documents = [Document(id=f"{i}", content=f"Wing {i}.") for i in range(50)]
    assert [chunk.content for chunk in make(workers=2).run(documents)["documents"]] == [f"Wing {i}" for i in range(50)]
    monkeypatch.setattr(sys.modules[module], "_BATCH_DOCUMENTS", 4_096)
    monkeypatch.setattr(sys.modules[module], "_BATCH_CHARACTERS", 20)
    assert [chunk.content for chunk in make().run(documents)["documents"]] == [f"Wing {i}" for i in range(50)]


def test_a_pipeline_error_says_which_document(make) -> None:
    pipeline = Pipeline()
    pipeline.add_component("preprocessor", make(FAILS_AT))
    with pytest.raises(PipelineRuntimeError, match="at document x"):
        pipeline.run({"preprocessor": {"documents": [Document(id="x", content="bad")]}})
