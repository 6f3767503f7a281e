"""The Haystack pipelines that come with a frozen component, as YAML text.

Only names of classes are written here; Haystack itself is not imported. The classes live under
``haystack_integrations``, which ``Pipeline.load`` trusts, so loading needs no further permission.
"""

import json
from pathlib import Path
from typing import Any

import yaml

from autoindex_haystack.errors import FrozenError
from autoindex_haystack.frozen.chunk_meta import SOURCE_ID, SPLIT_ID
from autoindex_haystack.frozen.clusters import index_body
from autoindex_haystack.frozen.manifest import Manifest

PIPELINES = ("indexing.yaml", "query.yaml", "indexing.lucene.yaml", "query.lucene.yaml")
"""The files for bm25s and for Lucene, complete as they are."""

CLUSTER_PIPELINES = (
    "indexing.opensearch.yaml",
    "query.opensearch.yaml",
    "query.opensearch.collapse.yaml",
    "indexing.elasticsearch.yaml",
    "query.elasticsearch.yaml",
)
"""The files for OpenSearch and Elasticsearch, in which users name their cluster. With ``collapse`` the cluster itself
joins the chunks of a document (MaxP), so that no document is missed for the many chunks of others."""

ELASTICSEARCH_INDEX = "index.elasticsearch.json"
"""The body with which the index is created in Elasticsearch: Haystack's store itself cannot set BM25's parameters."""

STORES = {
    "bm25s": "haystack_integrations.document_stores.autoindex.bm25s_document_store.Bm25sDocumentStore",
    "lucene": "haystack_integrations.document_stores.autoindex.lucene_document_store.LuceneDocumentStore",
    "opensearch": "haystack_integrations.document_stores.opensearch.document_store.OpenSearchDocumentStore",
    "elasticsearch": "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore",
}
PREPROCESSOR = (
    "haystack_integrations.components.preprocessors.autoindex.representation_preprocessor.RepresentationPreprocessor"
)
RETRIEVER = "haystack_integrations.components.retrievers.autoindex.representation_retriever.RepresentationRetriever"
_WRITER = "haystack_integrations.components.writers.autoindex.representation_writer.RepresentationWriter"
_SOURCES = "haystack_integrations.components.retrievers.autoindex.source_retriever.SourceRetriever"
_AGGREGATOR = "haystack_integrations.components.rankers.autoindex.max_p_aggregator.MaxPAggregator"
_CLUSTER_RETRIEVERS = {
    "opensearch": "haystack_integrations.components.retrievers.opensearch.bm25_retriever.OpenSearchBM25Retriever",
    "elasticsearch": (
        "haystack_integrations.components.retrievers.elasticsearch.bm25_retriever.ElasticsearchBM25Retriever"
    ),
}
_TOP_K, _CHUNKS_A_DOCUMENT = 10, 10


_ANY_CHUNK = {"field": f"meta.{SPLIT_ID}", "operator": ">=", "value": 0}
"""A filter that every chunk passes: without any, the request would say null where a filter belongs."""

_COLLAPSED = {
    "query": {
        "bool": {
            "must": [{"multi_match": {"query": "$query", "fuzziness": 0, "type": "most_fields", "operator": "OR"}}],
            "filter": "$filters",
        }
    },
    "collapse": {"field": SOURCE_ID},
}
"""Haystack's own request, and one chunk a document."""


def render_pipeline(name: str, folder: Path, manifest: Manifest) -> str:
    """Write one of the pipelines.

    :param name: One of :data:`PIPELINES` or :data:`CLUSTER_PIPELINES`.
    :param folder: The component's absolute folder; the index of bm25s or Lucene stands beside the component in it.
    :param manifest: The component's manifest.
    :returns: YAML that ``haystack.Pipeline.load`` reads.
    """
    kind, *backends = name.removesuffix(".yaml").split(".")
    backend = backends[0] if backends else "bm25s"
    store = {"type": STORES[backend], "init_parameters": _store_parameters(backend, folder, manifest)}
    if kind == "indexing":
        body = _indexing(store, folder, manifest, own_store=name in PIPELINES)
    else:
        body = _query(store) if name in PIPELINES else _cluster_query(store, backend, collapse="collapse" in backends)
    component = manifest.sha256[:12]
    advice = "Rewrite after a move: autoindex verify --relocate"
    if name in CLUSTER_PIPELINES:
        advice += f"; hosts and index are yours to change.{_BEFORE.get(backend, '')}"
    header = f"# Written by AutoIndex for the component {component}. {advice}\n"
    return header + _dump({**body, "max_runs_per_component": 100, "metadata": {}})


def render_elasticsearch_index(manifest: Manifest) -> str:
    """Write the body of the request that creates the index in Elasticsearch.

    :param manifest: The component's manifest.
    :returns: JSON.
    """
    return json.dumps(index_body(manifest.settings.bm25), indent=1) + "\n"


def default_index(manifest: Manifest) -> str:
    """Returns the name of the index in a cluster, unless its users choose another.

    :param manifest: The component's manifest.
    """
    return f"autoindex-{manifest.sha256[:12]}"


def repin(text: str, folder: Path, manifest: Manifest) -> str:
    """Let every preprocessor of a pipeline name this component; all else stays as its owner wrote it.

    :param text: The pipeline's YAML.
    :param folder: The component's absolute folder.
    :param manifest: The component's manifest.
    :returns: The same text if it names the component already, else new YAML.
    :raises FrozenError: If it is no pipeline with a preprocessor of AutoIndex.
    """
    try:
        content = yaml.safe_load(text)
        found = [entry for entry in content["components"].values() if entry["type"] == PREPROCESSOR]
        if not found:
            raise KeyError(PREPROCESSOR)
        pinned = [entry.setdefault("init_parameters", {}) for entry in found]
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        msg = f"this is no pipeline with a RepresentationPreprocessor ({error})"
        raise FrozenError(msg) from error
    right = preprocessor(folder, manifest)["init_parameters"]
    if all(right.items() <= parameters.items() for parameters in pinned):
        return text
    for parameters in pinned:
        parameters.update(right)
    header = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    return header + _dump(content)


def preprocessor(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """Returns the entry of a pipeline for the component, pinned by its hash.

    :param folder: The component's absolute folder.
    :param manifest: The component's manifest.
    """
    return {"type": PREPROCESSOR, "init_parameters": {"path": str(folder), "sha256": manifest.sha256}}


_BEFORE = {
    "elasticsearch": f" Create the index first:\n# curl -X PUT HOST/INDEX --json @{ELASTICSEARCH_INDEX}",
}


def _store_parameters(backend: str, folder: Path, manifest: Manifest) -> dict[str, Any]:
    bm25 = manifest.settings.bm25
    if backend in ("bm25s", "lucene"):
        return {"path": str(folder / f"index-{backend}"), **bm25.model_dump(mode="json")}
    place = {"hosts": "http://localhost:9200", "index": default_index(manifest)}
    body = index_body(bm25)
    return {**place, **body} if backend == "opensearch" else {**place, "custom_mapping": body["mappings"]}


def _indexing(store: dict[str, Any], folder: Path, manifest: Manifest, *, own_store: bool) -> dict[str, Any]:
    # AutoIndex's stores delete stale chunks themselves.
    writer = "haystack.components.writers.document_writer.DocumentWriter" if own_store else _WRITER
    return {
        "components": {
            "preprocessor": preprocessor(folder, manifest),
            "writer": {"type": writer, "init_parameters": {"document_store": store, "policy": "OVERWRITE"}},
        },
        "connections": [{"sender": "preprocessor.documents", "receiver": "writer.documents"}],
    }


def _query(store: dict[str, Any]) -> dict[str, Any]:
    return {
        "components": {
            "retriever": {"type": RETRIEVER, "init_parameters": {"document_store": store, "top_k": _TOP_K}},
        },
        "connections": [],
    }


def _cluster_query(store: dict[str, Any], backend: str, *, collapse: bool) -> dict[str, Any]:
    # Fuzziness, which Elasticsearch's retriever has by default, would make another ranking than BM25's.
    exact = {"fuzziness": "0"} if backend == "elasticsearch" else {"fuzziness": 0}
    retriever = {"document_store": store, "top_k": _TOP_K * _CHUNKS_A_DOCUMENT, **exact}
    if collapse:
        retriever |= {"top_k": _TOP_K, "custom_query": _COLLAPSED, "filters": _ANY_CHUNK, "filter_policy": "merge"}
    return {
        "components": {
            "retriever": {"type": _CLUSTER_RETRIEVERS[backend], "init_parameters": retriever},
            "aggregator": {"type": _AGGREGATOR, "init_parameters": {"top_k": _TOP_K}},
            "sources": {"type": _SOURCES, "init_parameters": {"document_store": store}},
        },
        "connections": [
            {"sender": "retriever.documents", "receiver": "aggregator.documents"},
            {"sender": "aggregator.documents", "receiver": "sources.documents"},
        ],
    }


class _Dumper(yaml.SafeDumper):
    """YAML without anchors: people edit it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dump(content: dict[str, Any]) -> str:
    dumped: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return dumped
