"""Haystack Documents saved as JSON: what pipelines and document stores give."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autoindex_haystack.collection.importers.questions import read_judged_queries
from autoindex_haystack.collection.importers.source import Source, need
from autoindex_haystack.collection.readers import open_bytes, open_text, read_records
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

_OWN = {"id", "content", "meta", "score", "embedding", "sparse_embedding", "blob", "dataframe"}


def haystack_source(path: Path, queries: Path | None = None, qrels: Path | None = None) -> Source:
    """Read Documents that were written with ``Document.to_dict()``.

    :param path: A JSON array of them, or one a line (``.jsonl``); meta flattened or not.
    :param queries: ``queries.jsonl`` in BEIR's layout.
    :param qrels: The judgments, BEIR's three or TREC's four columns, of the documents' ids.
    :returns: The source.
    :raises CollectionError: If a file is missing or broken.
    """
    return Source(f"Haystack Documents from `{path.name}`.", _documents(path), read_judged_queries(queries, qrels))


def _documents(path: Path) -> Iterator[Document]:
    for place, record in _records(path):
        document_id, content = record.get("id"), record.get("content")
        if not isinstance(document_id, str) or not document_id:
            msg = f"{path}, {place}: the Document has no id; write it with Document.to_dict()"
            raise CollectionError(msg)
        if content is not None and not isinstance(content, str):
            msg = f"{path}, {place}: the content of Document {document_id!r} is no text"
            raise CollectionError(msg)
        nested = record.get("meta")
        meta = {name: value for name, value in record.items() if name not in _OWN}
        meta |= nested if isinstance(nested, dict) else {}
        yield Document(document_id, content or "", meta)


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read the Documents with their place, from an array or from lines."""
    with open_text(path) as stream:
        begin = next((line for line in stream if line.strip()), "").lstrip()
    if not begin.startswith("["):
        yield from ((f"line {number}", record) for number, record in read_records(path))
        return
    ijson = need("ijson", "ijson", f"reading the JSON array in {path.name}")
    try:
        with open_bytes(path) as stream:
            for number, record in enumerate(ijson.items(stream, "item", use_float=True), start=1):
                if not isinstance(record, dict):
                    msg = f"{path}, entry {number}: it is no Document; write it with Document.to_dict()"
                    raise CollectionError(msg)
                yield f"entry {number}", record
    except ijson.JSONError as error:
        msg = f"{path}: broken JSON ({error}); check the file"
        raise CollectionError(msg) from None
