"""The lines of a document log: a checksum, a blank and a JSON object; and how a Document becomes JSON and back."""

import base64
import json
from typing import Any

import numpy as np
from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from xxhash import xxh3_64_hexdigest

CHECKSUM_LENGTH = 16


def encode_line(entry: dict[str, Any]) -> bytes:
    """Write one line.

    :param entry: What it says.
    :returns: The line with its end.
    :raises TypeError: If the entry is no JSON.
    """
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"), default=_plain)
    # Half surrogate pairs are no Unicode, but a Python string may hold them.
    body = text.encode("utf-8", "surrogatepass")
    return b"%s %s\n" % (xxh3_64_hexdigest(body).encode(), body)


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Read one line.

    :param line: The line with its end.
    :returns: What it says, or None if it is not as it was written.
    """
    checksum, body = line[:CHECKSUM_LENGTH], line[CHECKSUM_LENGTH + 1 : -1]
    if checksum != xxh3_64_hexdigest(body).encode():
        return None
    entry: dict[str, Any] = json.loads(body.decode("utf-8", "surrogatepass"))
    return entry


def encode_document(document: Document) -> bytes:
    """Write the line that puts a document.

    :param document: The document.
    :returns: The line with its end.
    :raises ValueError: If the document holds something that is no JSON.
    """
    data: dict[str, Any] = {"id": document.id, "content": document.content, "meta": document.meta}
    if document.score is not None:
        data["score"] = document.score
    if document.embedding is not None:
        data["embedding"] = document.embedding
    if document.sparse_embedding is not None:
        data["sparse_embedding"] = document.sparse_embedding.to_dict()
    if blob := document.blob:
        data["blob"] = {
            "data": base64.b64encode(blob.data).decode(),
            "meta": blob.meta,
            "mime_type": blob.mime_type,
        }
    try:
        return encode_line({"put": data})
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"document {document.id} cannot be stored ({error}); its meta must hold JSON values only"
        raise ValueError(msg) from error


def decode_document(data: dict[str, Any]) -> Document:
    """Make the Document that :func:`encode_document` wrote.

    :param data: What the line says under ``put``.
    :returns: The document.
    """
    blob, sparse = data.get("blob"), data.get("sparse_embedding")
    return Document(
        id=data["id"],
        content=data["content"],
        meta=data["meta"],
        score=data.get("score"),
        embedding=data.get("embedding"),
        sparse_embedding=SparseEmbedding(**sparse) if sparse else None,
        blob=ByteStream(base64.b64decode(blob["data"]), blob["meta"], blob["mime_type"]) if blob else None,
    )


def _plain(value: Any) -> Any:
    """The Python number for a number of numpy, which meta and scores often hold."""
    if isinstance(value, np.generic):
        return value.item()
    msg = f"a value of type {type(value).__name__} is no JSON"
    raise TypeError(msg)
