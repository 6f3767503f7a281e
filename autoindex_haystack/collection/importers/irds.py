"""Any dataset of ir_datasets (MacAvaney et al., 2021), by its name there."""

from collections.abc import Iterator
from typing import Any

from autoindex_haystack.collection.importers.source import Query, Source, need
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

_TEXTS = "text", "body", "contents", "abstract", "plaintext"
"""Fields that are a document's text, in the order of preference; without any, all its texts are taken."""


def irds_source(name: str) -> Source:
    """Read a dataset of ir_datasets, which downloads what is not there yet.

    :param name: The dataset's name, such as ``beir/scifact/test``.
    :returns: The source.
    :raises CollectionError: If there is no such dataset, it has no documents, queries or judgments, or the package is
        missing.
    """
    library = need("ir_datasets", "ir_datasets", f"importing {name}")
    try:
        dataset = library.load(name)
    except (KeyError, ValueError):
        msg = f"ir_datasets has no dataset {name!r}; its catalogue is at https://ir-datasets.com"
        raise CollectionError(msg) from None
    for has, what in ((dataset.has_docs, "documents"), (dataset.has_queries, "queries"), (dataset.has_qrels, "qrels")):
        if not has():
            msg = f"the dataset {name} of ir_datasets has no {what}; choose a part that has, such as {name}/test"
            raise CollectionError(msg)
    grades: dict[str, dict[str, int]] = {}
    for judgment in dataset.qrels_iter():
        grades.setdefault(judgment.query_id, {})[judgment.doc_id] = int(judgment.relevance)
    queries = {
        query.query_id: Query(_query_text(query), grades.get(query.query_id, {})) for query in dataset.queries_iter()
    }
    origin = f"The dataset `{name}` of ir_datasets {library.__version__} (https://ir-datasets.com)."
    return Source(origin, _documents(dataset), queries)


def _documents(dataset: Any) -> Iterator[Document]:
    for document in dataset.docs_iter():
        fields = {name: value for name, value in document._asdict().items() if isinstance(value, str)}
        doc_id, title = fields.pop("doc_id"), fields.pop("title", "")
        text = next((fields[name] for name in _TEXTS if fields.get(name)), "")
        if not text and not title:
            text = document.default_text() if hasattr(document, "default_text") else "\n".join(fields.values())
        yield Document(doc_id, text, {"title": title} if title else {})


def _query_text(query: Any) -> str:
    if hasattr(query, "default_text"):
        return str(query.default_text())
    fields = query._asdict()
    return str(next((fields[name] for name in ("text", "title", "query") if fields.get(name)), ""))
