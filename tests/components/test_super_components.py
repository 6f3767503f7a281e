"""The two whole pipelines as components: they do what their parts do, can be saved, and stand in other pipelines."""

import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from haystack_integrations.components.retrievers.autoindex import MaxPRetriever, RepresentationRetriever
from haystack_integrations.components.writers.autoindex import RepresentationIndexer
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

DOCUMENTS = [
    Document(id="wing", content="A heated wing sheds ice. It needs power. It is long.", meta={"title": "Ice", "n": 1}),
    Document(id="engine", content="A cold engine coughs. Ice stops the engine.", meta={"n": 2}),
]


@pytest.fixture
def indexed(freeze):
    """A store of Haystack's own with the chunks, and the folder of the component."""
    store = InMemoryDocumentStore()
    indexer = RepresentationIndexer(str(freeze().path), store, workers=1)
    assert indexer.run(documents=DOCUMENTS) == {"documents_written": 5, "failed": []}
    indexer.close()
    return store


def retriever(store, **options):
    return MaxPRetriever(InMemoryBM25Retriever(store, top_k=100), store, **options)


def test_original_documents_come_back_once_each(indexed):
    found = retriever(indexed).run(query="a heated wing sheds")["documents"]
    assert sorted(document.id for document in found) == ["engine", "wing"]
    assert found[0].content == DOCUMENTS[0].content
    assert found[0].meta.pop("best_chunk")["content"] == "Ice A heated wing sheds ice"
    assert found[0].meta == DOCUMENTS[0].meta


def test_top_k_counts_documents_and_filters_count_before(indexed):
    wing = {"field": "meta.n", "operator": "==", "value": 1}
    assert len(retriever(indexed, top_k=1).run(query="wing ice")["documents"]) == 1
    assert len(retriever(indexed).run(query="wing ice", top_k=1)["documents"]) == 1
    [found] = retriever(indexed).run(query="engine ice", filters=wing)["documents"]
    assert found.id == "wing"


async def test_both_run_asynchronously(freeze):
    store = InMemoryDocumentStore()
    indexer = RepresentationIndexer(str(freeze().path), store)
    assert (await indexer.run_async(documents=DOCUMENTS))["documents_written"] == 5
    assert (await indexer.run_async(documents=[Document(id="wing", content="Gone.")]))["documents_written"] == 1
    assert store.count_documents() == 3
    await indexer.close_async()
    found = await retriever(store).run_async(query="coughs")
    assert [document.id for document in found["documents"]] == ["engine"]


def test_a_failing_document_is_named(freeze):
    failing = (
        "from autoindex_haystack.program import BasePreprocessor, Chunk\n\n\n"
        "class Preprocessor(BasePreprocessor):\n"
        "    def preprocess(self, docs):\n"
        "        return [Chunk('c', d.doc_id, d.text) for d in docs if 1 / len(d.text)]\n"
    )
    indexer = RepresentationIndexer(str(freeze(failing).path), InMemoryDocumentStore(), on_error="skip")
    result = indexer.run(documents=[Document(id="none", content=""), Document(id="some", content="Some.")])
    assert result == {"documents_written": 1, "failed": ["none"]}
    indexer.close()


def test_both_survive_dumping_and_loading(freeze, tmp_path):
    frozen = freeze()
    store = Bm25sDocumentStore(str(tmp_path / "store"))
    indexing, query = Pipeline(), Pipeline()
    options = {"sha256": frozen.manifest.sha256, "policy": DuplicatePolicy.SKIP, "on_error": "skip", "timeout": 5.0}
    indexing.add_component("indexer", RepresentationIndexer(str(frozen.path), store, **options))
    query.add_component("retriever", MaxPRetriever(RepresentationRetriever(store, return_chunks=True), store, top_k=3))
    for pipeline in (indexing, query):
        again = Pipeline.loads(pipeline.dumps())
        assert again.to_dict() == pipeline.to_dict()
    Pipeline.loads(indexing.dumps()).run({"indexer": {"documents": DOCUMENTS}})
    found = Pipeline.loads(query.dumps()).run({"retriever": {"query": "ice"}})["retriever"]["documents"]
    assert {document.id for document in found} == {"wing", "engine"}
