"""The pipelines that come with a frozen component load with no extra permission and do the whole work."""

import subprocess
import sys
from pathlib import Path

import pytest
from haystack import Document, Pipeline

from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.frozen.pipelines import PIPELINES

DOCUMENTS = [
    Document(id="a/1", content="A heated wing sheds ice. It needs power.", meta={"title": "Anti-icing", "tags": ["x"]}),
    Document(
        id="b", content="A cold engine coughs. It smokes.", meta={"source_id": "mine", "split_id": 9, "n": {"m": 1}}
    ),
    Document(content="Shock waves stand before a blunt nose.", meta={"type": "haystack.Document"}),
]
QUERIES = {"icing power": "a/1", "cold engine smoke smokes": "b", "blunt nose": DOCUMENTS[2].id}
BACKENDS = ["bm25s", "lucene"]


def load(frozen: FrozenComponent, name: str) -> Pipeline:
    with (frozen.path / name).open(encoding="utf-8") as file:
        return Pipeline.load(file)


def names(backend: str) -> tuple[str, str]:
    suffix = ".lucene.yaml" if backend == "lucene" else ".yaml"
    return f"indexing{suffix}", f"query{suffix}"


def index(frozen: FrozenComponent, backend: str, documents: list[Document]) -> int:
    pipeline = load(frozen, names(backend)[0])
    try:
        return pipeline.run({"preprocessor": {"documents": documents}})["writer"]["documents_written"]
    finally:
        pipeline.close()


def test_all_pipelines_are_covered() -> None:
    assert {name for backend in BACKENDS for name in names(backend)} == set(PIPELINES)


@pytest.mark.parametrize("backend", BACKENDS)
def test_documents_indexed_by_one_pipeline_come_back_from_the_other(freeze, backend) -> None:
    frozen = freeze()
    assert index(frozen, backend, DOCUMENTS) == 5
    assert (frozen.path / f"index-{backend}").is_dir()
    query_pipeline = load(frozen, names(backend)[1])
    originals = {document.id: document for document in DOCUMENTS}
    for query, expected in QUERIES.items():
        found = query_pipeline.run({"retriever": {"query": query}})["retriever"]["documents"]
        assert found[0].id == expected
        for document in found:
            best = document.meta.pop("best_chunk")
            assert best["id"].startswith(f"{document.id}#")
            assert (document.content, document.meta) == (originals[document.id].content, originals[document.id].meta)


@pytest.mark.parametrize("backend", BACKENDS)
async def test_the_pipelines_run_asynchronously(freeze, backend) -> None:
    frozen = freeze()
    indexing, query_pipeline = (load(frozen, name) for name in names(backend))
    written = await indexing.run_async({"preprocessor": {"documents": DOCUMENTS}})
    assert written["writer"]["documents_written"] == 5
    await indexing.close_async()
    result = await query_pipeline.run_async({"retriever": {"query": "blunt nose"}})
    assert [document.id for document in result["retriever"]["documents"]] == [DOCUMENTS[2].id]


@pytest.mark.parametrize("backend", BACKENDS)
def test_indexing_a_changed_document_again_replaces_its_chunks(freeze, backend) -> None:
    frozen = freeze()
    index(frozen, backend, DOCUMENTS)
    index(frozen, backend, [Document(id="a/1", content="Nothing but propellers.")])
    query_pipeline = load(frozen, names(backend)[1])

    def found(query: str) -> list[str]:
        return [
            document.id for document in query_pipeline.run({"retriever": {"query": query}})["retriever"]["documents"]
        ]

    assert found("propellers") == ["a/1"]
    assert found("heated wing power icing") == []
    assert found("engine") == ["b"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_document_that_no_longer_has_index_text_is_no_longer_found(freeze, backend) -> None:
    frozen = freeze()
    index(frozen, backend, DOCUMENTS)
    index(frozen, backend, [Document(id="b", content=" . ", meta={"now": "empty"})])
    query_pipeline = load(frozen, names(backend)[1])
    assert query_pipeline.run({"retriever": {"query": "cold engine smoke smokes"}})["retriever"]["documents"] == []
    store = query_pipeline.get_component("retriever").document_store
    [left] = store.filter_documents({"field": "meta.source_id", "operator": "==", "value": "b"})
    assert (left.id, left.content, left.meta["source_content"], left.meta["now"]) == ("b#0", None, " . ", "empty")
    index(frozen, backend, DOCUMENTS)
    found = query_pipeline.run({"retriever": {"query": "cold engine smoke smokes"}})["retriever"]["documents"]
    assert [document.id for document in found] == ["b"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_settings_of_the_component_reach_the_store(freeze, backend) -> None:
    frozen = freeze(bm25={"k1": 0.9, "b": 0.4})
    indexing, query_pipeline = (load(frozen, name) for name in names(backend))
    stores = indexing.get_component("writer").document_store, query_pipeline.get_component("retriever").document_store
    for store in stores:
        assert (store.settings.k1, store.settings.b, store.settings.analyzer) == (0.9, 0.4, "bm25s")
    assert indexing.get_component("preprocessor").sha256 == frozen.manifest.sha256


def test_a_component_that_was_changed_after_freezing_does_not_index(freeze) -> None:
    frozen = freeze()
    program = frozen.path / "program.py"
    program.write_text(program.read_text() + "\n# changed\n")
    with pytest.raises(Exception, match="was changed since it was frozen"):
        index(frozen, "bm25s", DOCUMENTS)
    assert not (frozen.path / "index-bm25s").exists()


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_survive_dumping_and_loading(freeze, name) -> None:
    pipeline = load(freeze(), name)
    assert Pipeline.loads(pipeline.dumps()).to_dict() == pipeline.to_dict()


def test_a_process_that_indexes_and_queries_ends_and_leaves_no_worker(freeze, tmp_path: Path) -> None:
    script = """
import pathlib, sys
from haystack import Document, Pipeline
texts = (pathlib.Path(sys.argv[1], name).read_text() for name in ("indexing.yaml", "query.yaml"))
indexing, query = map(Pipeline.loads, texts)
indexing.run({"preprocessor": {"documents": [Document(id="a", content="A heated wing.")]}})
[document] = query.run({"retriever": {"query": "wing"}})["retriever"]["documents"]
print(document.id, document.content)
"""
    command = [sys.executable, "-c", script, str(freeze().path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "a A heated wing."
    assert done.stderr == ""
