"""Chunks as Haystack's documents, and the documents that they stand for; the keys in their meta are those of
:mod:`autoindex_haystack.frozen.chunk_meta`.
"""

from collections.abc import Sequence
from typing import Any

from haystack import Document

from autoindex_haystack.frozen.chunk_meta import (
    PROGRAM_SHA256,
    RESERVED,
    SOURCE_CONTENT,
    SOURCE_ID,
    SOURCE_META,
    SPLIT_COUNT,
    SPLIT_ID,
    chunk_fields,
    chunk_id,
    copy_meta,
)

BEST_CHUNK = "best_chunk"
"""In the meta of a retrieved document: id, content, split_id and score of the chunk that matched best."""

_new, _set = object.__new__, object.__setattr__
_BLANK = vars(Document(id="-"))


def make_document(like: Document | None = None, **fields: Any) -> Document:
    """Make a Document as ``dataclasses.replace`` would, in a tenth of the time: there is one a chunk and one a hit.

    :param like: What the other fields are taken from, those with lists as they are; nothing when not given.
    :param fields: The fields to set, ``id`` among them when ``like`` is not given.
    :returns: The Document.
    """
    values = _BLANK.copy() if like is None else vars(like).copy()
    values.update(fields)
    return _document_of(values)


def _document_of(values: dict[str, Any]) -> Document:
    """The Document with these fields, which are all there are; Document's own way looks at each name that is set."""
    made = _new(Document)
    _set(made, "__dict__", values)
    return made


def is_document_list(value: object) -> bool:
    """Returns whether a value is a list of Documents and nothing else; Haystack does not check types at run time."""
    return isinstance(value, list) and all(isinstance(item, Document) for item in value)


def make_chunks(
    source: Document, texts: Sequence[str], metadata: Sequence[dict[str, Any] | None], program_sha256: str
) -> list[Document]:
    """Make the chunk Documents of one document.

    :param source: The document; it is not changed, and nothing of its meta is shared.
    :param texts: The index text of each chunk.
    :param metadata: What the program says of each chunk; None where it says nothing.
    :param program_sha256: Hash of the program.
    :returns: The chunks: meta is the document's, then the program's, then the keys of this module, which nothing
        overrides. A document without index text has one chunk whose content is None: no query finds it, and it takes
        the place of those of an older version.
    """
    rows = list(zip(texts, metadata, strict=True))
    return [
        make_document(id=name, content=text, meta=meta)
        for name, text, meta in chunk_fields(source.id, source.content, source.meta, rows, program_sha256)
    ]


def source_id_of(document: Document) -> str:
    """Returns the id of the document that a chunk stands for; a document without one stands for itself."""
    source_id = document.meta.get(SOURCE_ID)
    return document.id if source_id is None else str(source_id)


def restore_source(first: Document, best: Document, score: float | None) -> Document:
    """Give back the document that chunks stand for.

    :param first: The document's first chunk.
    :param best: The chunk that matched best.
    :param score: The document's score.
    :returns: The original document with its score, and with the best chunk in its meta under ``best_chunk``. Where the
        original was not kept, because something else split the document, the best chunk as it is.
    """
    given = first.meta
    if _keeps_source(first):
        values, kept = _BLANK.copy(), given.get(SOURCE_META)
        values["id"], values["content"] = source_id_of(first), given[SOURCE_CONTENT]
        meta = copy_meta(given, without=RESERVED) if kept is None else copy_meta(kept)
    else:
        found = first if first.id == source_id_of(first) else best
        values, meta = vars(found).copy(), copy_meta(found.meta)
    meta[BEST_CHUNK] = {"id": best.id, "content": best.content, "split_id": best.meta.get(SPLIT_ID), "score": score}
    values["meta"], values["score"] = meta, score
    return _document_of(values)


def stale_chunk_ids(old_first: Document | None, new_first: Document) -> list[str]:
    """Say which chunks of an older version of a document a newer version no longer has.

    :param old_first: The document with the id of ``new_first`` that was stored before, if any.
    :param new_first: Any document that is written; only the first chunk of a document can make others stale.
    :returns: Ids of chunks, which may be gone already.
    """
    if old_first is None or not (_keeps_source(old_first) and _keeps_source(new_first)):
        return []
    new_count, old_count = new_first.meta.get(SPLIT_COUNT), old_first.meta.get(SPLIT_COUNT)
    if not (isinstance(new_count, int) and isinstance(old_count, int)):
        return []
    return [chunk_id(source_id_of(new_first), split_id) for split_id in range(new_count, old_count)]


def _keeps_source(chunk: Document) -> bool:
    return SOURCE_CONTENT in chunk.meta and PROGRAM_SHA256 in chunk.meta
