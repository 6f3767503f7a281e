"""The Haystack pipelines that come with a frozen component, as YAML text.

Only names of classes are written here; Haystack itself is not imported. The classes live under
``haystack_integrations``, which ``Pipeline.load`` trusts, so loading needs no further permission.
"""

from pathlib import Path
from typing import Any

import yaml

from autoindex_haystack.frozen.manifest import Manifest

PIPELINES = ("indexing.yaml", "query.yaml", "indexing.lucene.yaml", "query.lucene.yaml")
"""The files, for bm25s and for Lucene."""

STORES = {
    "bm25s": "haystack_integrations.document_stores.autoindex.bm25s_document_store.Bm25sDocumentStore",
    "lucene": "haystack_integrations.document_stores.autoindex.lucene_document_store.LuceneDocumentStore",
}
PREPROCESSOR = (
    "haystack_integrations.components.preprocessors.autoindex.representation_preprocessor.RepresentationPreprocessor"
)
RETRIEVER = "haystack_integrations.components.retrievers.autoindex.representation_retriever.RepresentationRetriever"


def render_pipeline(name: str, folder: Path, manifest: Manifest) -> str:
    """Write one of the pipelines.

    :param name: One of :data:`PIPELINES`.
    :param folder: The component's absolute folder; the index stands beside the component in it.
    :param manifest: The component's manifest.
    :returns: YAML that ``haystack.Pipeline.load`` reads.
    """
    backend = "lucene" if ".lucene." in name else "bm25s"
    store = {
        "type": STORES[backend],
        "init_parameters": {
            "path": str(folder / f"index-{backend}"),
            **manifest.settings.bm25.model_dump(mode="json"),
        },
    }
    body = _indexing(store, folder, manifest) if name.startswith("indexing") else _query(store)
    component = manifest.sha256[:12]
    header = (
        f"# Written by AutoIndex for the component {component}. Rewrite after a move: autoindex verify --relocate\n"
    )
    content = {**body, "max_runs_per_component": 100, "metadata": {}}
    return header + yaml.safe_dump(content, sort_keys=False, width=10_000)


def _indexing(store: dict[str, Any], folder: Path, manifest: Manifest) -> dict[str, Any]:
    return {
        "components": {
            "preprocessor": {
                "type": PREPROCESSOR,
                "init_parameters": {"path": str(folder), "sha256": manifest.sha256},
            },
            "writer": {
                "type": "haystack.components.writers.document_writer.DocumentWriter",
                "init_parameters": {"document_store": store, "policy": "OVERWRITE"},
            },
        },
        "connections": [{"sender": "preprocessor.documents", "receiver": "writer.documents"}],
    }


def _query(store: dict[str, Any]) -> dict[str, Any]:
    return {
        "components": {
            "retriever": {"type": RETRIEVER, "init_parameters": {"document_store": store, "top_k": 10}},
        },
        "connections": [],
    }
