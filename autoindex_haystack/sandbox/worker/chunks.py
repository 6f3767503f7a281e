"""What a program returned: checked against the contract, sorted by document, encoded."""

import json
from collections.abc import Sequence
from typing import Any

from .errors import Rejected, kind
from .program import Chunk


def by_document(names: Sequence[str], chunks: Any, most_chunks: int) -> list[list[Chunk]]:
    """Check what ``preprocess`` returned for some documents, given by the ids it saw, and sort it by document."""
    if not isinstance(chunks, list):
        raise Rejected("returned " + kind(chunks) + " from preprocess; return a list of Chunk")
    if len(chunks) > most_chunks * len(names):
        raise _too_many(len(chunks), "one document" if len(names) == 1 else f"{len(names)} documents", most_chunks)
    groups: dict[str, list[Chunk]] = {name: [] for name in names}
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise Rejected("returned " + kind(chunk) + " where a Chunk is needed")
        if type(chunk.doc_id) is not str or chunk.doc_id not in groups:
            raise Rejected("returned a chunk with a foreign doc_id; use the doc_id of the document given")
        groups[chunk.doc_id].append(chunk)
    return list(groups.values())


def encode_texts(chunks: list[Chunk], most_chunks: int, most_bytes: int) -> list[bytes]:
    """Check the chunks of one document and encode their texts."""
    if len(chunks) > most_chunks:
        raise _too_many(len(chunks), "one document", most_chunks)
    seen: set[str] = set()
    encoded: list[bytes] = []
    total = 0
    for chunk in chunks:
        if type(chunk.text) is not str:
            raise Rejected("returned a chunk whose text is " + kind(chunk.text) + "; it must be a str")
        if type(chunk.chunk_id) is not str:
            raise Rejected("returned a chunk whose chunk_id is " + kind(chunk.chunk_id) + "; it must be a str")
        if chunk.chunk_id in seen:
            raise Rejected("returned the same chunk_id twice for one document")
        seen.add(chunk.chunk_id)
        try:
            text = chunk.text.encode("utf-8")
        except UnicodeEncodeError:
            raise Rejected("returned a text that holds half a surrogate pair, which is no Unicode") from None
        total += len(text)
        if total > most_bytes:
            raise Rejected(f"returned more than {most_bytes:,} bytes for one document")
        encoded.append(text)
    return encoded


def _too_many(count: int, documents: str, most: int) -> Rejected:
    return Rejected(f"returned {count:,} chunks for {documents}; at most {most:,} a document are allowed")


def encode_metadata(chunks: list[Chunk], documents_own: bytes, most_bytes: int) -> list[bytes]:
    """Check the metadata of one document's chunks and encode it; nothing where it is the document's own."""
    encoded = [_encode(chunk.metadata, documents_own) for chunk in chunks]
    if sum(map(len, encoded)) > most_bytes:
        raise Rejected(f"returned more than {most_bytes:,} bytes of metadata for one document")
    return encoded


def to_json(value: Any, **options: Any) -> bytes:
    """Encode as JSON in UTF-8; a ValueError for what JSON or Unicode does not have."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, **options).encode("utf-8")


def _encode(metadata: Any, documents_own: bytes) -> bytes:
    if not metadata:
        return b""
    if not isinstance(metadata, dict):
        raise Rejected("returned chunk metadata that is " + kind(metadata) + "; it must be a dict")
    try:
        return b"" if json.dumps(metadata).encode() == documents_own else to_json(metadata)
    except (TypeError, ValueError) as error:
        raise Rejected("returned chunk metadata that is no JSON: " + str(error)) from None
