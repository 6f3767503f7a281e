"""The pipelines for OpenSearch and Elasticsearch, with the real integrations and clients, rank as bm25s does."""

import json
from urllib.request import Request, urlopen

import pytest
import yaml
from haystack import Document, Pipeline
from haystack.document_stores.types import DuplicatePolicy

from autoindex_haystack.frozen import verify_frozen
from autoindex_haystack.frozen.pipelines import CLUSTER_PIPELINES, ELASTICSEARCH_INDEX
from haystack_integrations.components.rankers.autoindex import MaxPAggregator
from tests.components.cluster import Node

BM25 = {"k1": 0.9, "b": 0.4}
DOCUMENTS = [
    Document(id="wing", content="A heated wing sheds ice. It needs power.", meta={"title": "Anti-icing", "year": 1958}),
    Document(id="engine", content="A cold engine coughs. It smokes. It stops.", meta={"source_id": "mine"}),
    Document(id="nose", content="Schockwellen über der Nase. Shock waves and ice before a blunt nose."),
    Document(id="empty", content=""),
]
QUERIES = ["ice on a heated wing", "it smokes", "über", "the power of an engine", "Anti icing of nose", "1958 mine"]
CLUSTERS = ["opensearch", "elasticsearch"]


@pytest.fixture
def node():
    node = Node()
    yield node
    node.close()


@pytest.fixture
def frozen(freeze, node):
    """A component whose pipelines name the node, as its user writes it."""
    frozen = freeze(bm25=BM25)
    for name in CLUSTER_PIPELINES:
        path = frozen.path / name
        path.write_text(path.read_text().replace("http://localhost:9200", node.url))
    return frozen


def create_index(frozen, node, cluster):
    if cluster == "elasticsearch":
        body = (frozen.path / ELASTICSEARCH_INDEX).read_bytes()
        urlopen(Request(f"{node.url}/autoindex-{frozen.manifest.sha256[:12]}", body, method="PUT")).close()


def load(frozen, name):
    return Pipeline.loads((frozen.path / name).read_text())


def index(frozen, cluster, documents):
    pipeline = load(frozen, f"indexing.{cluster}.yaml")
    try:
        pipeline.run({"preprocessor": {"documents": documents}})
    finally:
        pipeline.close()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_documents_come_back_from_a_cluster_in_the_order_and_form_of_bm25s(frozen, node, cluster):
    create_index(frozen, node, cluster)
    index(frozen, cluster, DOCUMENTS)
    indexing = load(frozen, "indexing.yaml")
    indexing.run({"preprocessor": {"documents": DOCUMENTS}})
    indexing.close()
    query_pipeline, expected_pipeline = load(frozen, f"query.{cluster}.yaml"), load(frozen, "query.yaml")
    for query in QUERIES:
        found = query_pipeline.run({"retriever": {"query": query}})["sources"]["documents"]
        expected = expected_pipeline.run({"retriever": {"query": query}})["retriever"]["documents"]
        for document in (*found, *expected):
            del document.meta["best_chunk"]["score"]
        assert [(d.id, d.content, d.meta) for d in found] == [(d.id, d.content, d.meta) for d in expected]
    query_pipeline.close()


@pytest.mark.parametrize("cluster", CLUSTERS)
async def test_the_pipelines_run_asynchronously(frozen, node, cluster):
    create_index(frozen, node, cluster)
    indexing, query = (load(frozen, f"{kind}.{cluster}.yaml") for kind in ("indexing", "query"))
    await indexing.run_async({"preprocessor": {"documents": DOCUMENTS}})
    await indexing.run_async({"preprocessor": {"documents": [Document(id="wing", content="Nothing.")]}})
    await indexing.close_async()
    result = await query.run_async({"retriever": {"query": "smokes"}})
    assert [document.id for document in result["sources"]["documents"]] == ["engine"]
    result = await query.run_async({"retriever": {"query": "heated power"}})
    assert result["sources"]["documents"] == []
    await query.close_async()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_index_has_the_bm25_settings_and_the_analyzer_of_the_component(frozen, node, cluster):
    create_index(frozen, node, cluster)
    index(frozen, cluster, DOCUMENTS)
    [made] = node.indexes.values()
    content = made.mappings["properties"]["content"]
    assert made.settings["similarity"][content["similarity"]] == {"type": "BM25", **BM25}
    assert made.analyze("The Wing's lift_2 in Ünder, 3.14!") == ["wing", "lift_2", "ünder", "14"]


def test_elasticsearch_refuses_an_index_without_the_settings(frozen, node):
    with pytest.raises(Exception, match="mapper_parsing_exception"):
        index(frozen, "elasticsearch", DOCUMENTS)
    assert node.indexes == {}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_document_that_shrinks_or_loses_its_text_leaves_no_stale_chunk(frozen, node, cluster):
    create_index(frozen, node, cluster)
    index(frozen, cluster, DOCUMENTS)
    [made] = node.indexes.values()
    index(frozen, cluster, [Document(id="engine", content="It runs."), Document(id="nose", content="")])
    assert sorted(made.documents) == ["empty#0", "engine#0", "nose#0", "wing#0", "wing#1"]
    assert made.documents["nose#0"]["content"] is None


def test_what_users_write_into_the_pipelines_of_a_cluster_survives_verify_and_a_move(frozen, node, tmp_path):
    assert verify_frozen(frozen.path)[1] == []
    moved = frozen.path.rename(tmp_path / "moved")
    problems = verify_frozen(moved)[1]
    assert [problem.split()[0] for problem in problems if "search" in problem] == [
        "indexing.opensearch.yaml",
        "indexing.elasticsearch.yaml",
    ]
    assert verify_frozen(moved, relocate=True)[1] == []
    for name in CLUSTER_PIPELINES:
        text = (moved / name).read_text()
        assert node.url in text
        assert str(frozen.path) not in text
        assert text.startswith("# Written by AutoIndex")


@pytest.mark.parametrize("name", CLUSTER_PIPELINES)
def test_pipelines_survive_dumping_and_loading(frozen, name):
    dumped = load(frozen, name).dumps()
    first, second = yaml.safe_load(dumped), yaml.safe_load(Pipeline.loads(dumped).dumps())
    for content in (first, second):
        content["connections"].sort(key=str)
    assert first == second


def test_the_body_of_the_elasticsearch_index_is_what_opensearch_gets(frozen):
    store = load(frozen, "indexing.opensearch.yaml").get_component("writer").document_store.to_dict()["init_parameters"]
    body = json.loads((frozen.path / ELASTICSEARCH_INDEX).read_text())
    assert body == {"settings": store["settings"], "mappings": store["mappings"]}


def test_the_aggregator_joins_what_qdrant_finds():
    from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    store = QdrantDocumentStore(":memory:", embedding_dim=2, similarity="dot_product")
    vectors = {"a#0": [0.0, 1.0], "a#1": [1.0, 0.0], "b#0": [0.8, 0.2], "c#0": [0.0, 0.5]}
    chunks = [
        Document(id=key, content=key, embedding=vector, meta={"source_id": key[0]}) for key, vector in vectors.items()
    ]
    store.write_documents(chunks, policy=DuplicatePolicy.OVERWRITE)
    pipeline = Pipeline()
    pipeline.add_component("retriever", QdrantEmbeddingRetriever(document_store=store, top_k=10))
    pipeline.add_component("aggregator", MaxPAggregator(top_k=2))
    pipeline.connect("retriever", "aggregator")
    found = pipeline.run({"retriever": {"query_embedding": [1.0, 0.0]}})["aggregator"]["documents"]
    assert [(document.meta["source_id"], document.content) for document in found] == [("a", "a#1"), ("b", "b#0")]
