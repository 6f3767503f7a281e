"""Chunks reach a cluster over HTTP, through the official clients, as the pipelines of the component expect them."""

import json

import pytest
from haystack import Document, Pipeline

from autoindex_haystack.distributed import LocalEngine, index_corpus
from autoindex_haystack.distributed.clusters import CREDENTIALS, Cluster
from autoindex_haystack.errors import BackendError
from autoindex_haystack.sandbox import Limits
from tests.components.cluster import Node
from tests.distributed.conftest import record, write_lines

KINDS = ["opensearch", "elasticsearch"]


@pytest.fixture
def node():
    node = Node()
    yield node
    node.close()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def cluster_of(kind, frozen, node, **more):
    name = f"autoindex-{frozen.manifest.sha256[:12]}"
    return Cluster(kind, node.url, name, frozen.manifest.settings.bm25, backoff=0.01, **more)


def load(corpus, frozen, out, cluster, **how):
    how = {"block_bytes": 4_000, "backend": None} | how
    return index_corpus([str(corpus)], frozen, str(out), engine=LocalEngine(1), cluster=cluster, **how)


def haystack_document(source):
    meta = {"title": source["title"]} if source["title"] else {}
    if "metadata" in source:
        meta["year"] = source["metadata"]["year"]
    return Document(id=source["_id"], content=source["text"], meta=meta)


def bulks(node):
    return [call for call in node.calls if call.call == "_bulk" or call.name == "_bulk"]


def stored(node):
    [made] = node.indexes.values()
    return made.documents


def test_the_pipelines_read_what_was_loaded(corpus, frozen, node, kind, tmp_path):
    made = load(corpus, frozen, tmp_path / "out", cluster_of(kind, frozen, node))
    assert (made.refused, made.loaded) == (0, len(stored(node)))
    pipelines = {}
    for name in ["query.yaml", f"query.{kind}.yaml", "query.opensearch.collapse.yaml"]:
        text = (frozen.path / name).read_text().replace("http://localhost:9200", node.url)
        pipelines[name] = Pipeline.loads(text)
    indexing = Pipeline.loads((frozen.path / "indexing.yaml").read_text())
    documents = [haystack_document(record(n)) for n in range(200)]
    indexing.run({"preprocessor": {"documents": documents}})
    indexing.close()
    for query in ["ice on the wing", "über", "飛行機 engine"]:
        expected = pipelines["query.yaml"].run({"retriever": {"query": query, "top_k": 200}})["retriever"]["documents"]
        scores = {document.id: document.score for document in expected}
        originals = {document.id: (document.content, document.meta) for document in documents}
        for name in list(pipelines)[1:]:
            found = pipelines[name].run({"retriever": {"query": query}})["sources"]["documents"]
            assert len(found) == 10
            # Ties may be cut elsewhere; a cluster's order of them is its own.
            best = sorted(scores.values(), reverse=True)[:10]
            assert sorted((scores[document.id] for document in found), reverse=True) == pytest.approx(best)
            for document in found:
                assert document.meta.pop("best_chunk")
                assert (document.content, document.meta) == originals[document.id]


def test_collapse_keeps_to_filters(corpus, frozen, node, tmp_path):
    load(corpus, frozen, tmp_path / "out", cluster_of("opensearch", frozen, node))
    text = (frozen.path / "query.opensearch.collapse.yaml").read_text().replace("http://localhost:9200", node.url)
    filters = {"field": "meta.year", "operator": "==", "value": 1955}
    found = Pipeline.loads(text).run({"retriever": {"query": "wing ice", "filters": filters}})["sources"]["documents"]
    assert found
    assert {document.meta["year"] for document in found} == {1955}
    assert len({document.id for document in found}) == len(found)


def test_a_busy_cluster_is_given_time_and_refused_chunks_are_sent_again(corpus, frozen, node, kind, tmp_path):
    times = {}

    def refuse(key, source):
        times[key] = times.get(key, 0) + 1
        busy = hash(key) % 3 == 0 and times[key] <= 2
        return {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "busy"}} if busy else None

    node.refuse, node.busy = refuse, 2
    made = load(corpus, frozen, tmp_path / "out", cluster_of(kind, frozen, node))
    assert made.loaded == len(stored(node)) > 200
    assert made.refused == 0
    # Only what was refused is sent again, not all of a request.
    assert {count for key, count in times.items() if hash(key) % 3} == {1}
    assert {count for key, count in times.items() if hash(key) % 3 == 0} == {3}


def test_a_cluster_that_stays_busy_ends_the_job_which_goes_on_later(corpus, frozen, node, kind, tmp_path):
    full = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "busy"}}
    node.refuse = lambda key, source: full if len(stored(node)) > 300 else None
    with pytest.raises(BackendError, match=r"too busy; run the command again"):
        load(corpus, frozen, tmp_path / "out", cluster_of(kind, frozen, node))
    node.refuse, before = lambda key, source: None, len(bulks(node))
    made = load(corpus, frozen, tmp_path / "out", cluster_of(kind, frozen, node))
    assert made.loaded == len(stored(node))
    assert 0 < len(bulks(node)) - before < made.blocks
    assert not [call for call in node.calls if call.call == "_delete_by_query"]


def test_what_a_cluster_refuses_for_good_is_put_aside_with_its_reason(corpus, frozen, node, kind, tmp_path):
    wrong = {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "no number"}}
    bad = record(7)["_id"]
    node.refuse = lambda key, source: wrong if key.startswith(f"{bad}#") else None
    cluster, out = cluster_of(kind, frozen, node), tmp_path / "out"
    with pytest.raises(BackendError, match=rf"refused chunks of 1 document, the first is {bad}#0: no number"):
        load(corpus, frozen, out, cluster, limits=Limits(unreachable=0))
    made = load(corpus, frozen, out, cluster)
    assert made.refused == 1
    [file] = (out / "loaded").glob("*.failed.jsonl")
    assert {json.loads(line)["doc_id"] for line in file.read_text().splitlines()} == {bad}


def test_documents_that_shrank_lose_their_old_chunks(corpus, frozen, node, kind, tmp_path):
    cluster = cluster_of(kind, frozen, node)
    load(corpus, frozen, tmp_path / "one", cluster)
    others = {key: source for key, source in stored(node).items() if not key.startswith("d0111#")}
    changed = write_lines(tmp_path / "changed.jsonl", [record(3, "nose")])
    load(changed, frozen, tmp_path / "two", cluster)
    assert {key for key in stored(node) if key.startswith("d0111#")} == {"d0111#0"}
    assert {key: source for key, source in stored(node).items() if key != "d0111#0"} == others


def test_an_index_of_other_settings_is_refused(corpus, frozen, node, kind, tmp_path):
    other = frozen.manifest.settings.bm25.model_copy(update={"k1": 0.9})
    name = cluster_of(kind, frozen, node).index
    Cluster(kind, node.url, name, other).prepare()
    with pytest.raises(BackendError, match=rf"the index {name} at .* has other BM25 settings"):
        load(corpus, frozen, tmp_path / "out", cluster_of(kind, frozen, node))
    assert bulks(node) == []


def test_a_cluster_that_is_not_there_is_one_sentence(corpus, frozen, kind, tmp_path):
    cluster = Cluster(kind, "http://127.0.0.1:9", "index", frozen.manifest.settings.bm25)
    with pytest.raises(BackendError, match=r"the cluster at http://127\.0\.0\.1:9 cannot be used: "):
        load(corpus, frozen, tmp_path / "out", cluster)


def test_the_login_comes_from_the_environment_and_is_written_nowhere(corpus, frozen, node, kind, tmp_path, monkeypatch):
    for name, value in zip(CREDENTIALS[kind], ("someone", "secret-word"), strict=True):
        monkeypatch.setenv(name, value)
    bm25 = frozen.manifest.settings.bm25
    cluster = Cluster.from_environment(kind, node.url + "/", "index", bm25)
    assert "secret-word" not in repr(cluster)
    load(corpus, frozen, tmp_path / "out", cluster)
    assert {call.login.split()[0] for call in bulks(node)} == {"Basic" if kind == "opensearch" else "ApiKey"}
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"secret-word" not in path.read_bytes()
