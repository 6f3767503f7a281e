"""How a chunk carries the document it came from: the keys in its meta, whoever keeps the chunk.

Index text is not for readers, so the first chunk of each document keeps the original content, and the original meta
where it cannot be told from the chunk's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

SOURCE_ID = "source_id"
"""Id of the document that a chunk stands for."""

SPLIT_ID = "split_id"
"""Ordinal of a chunk within its document, from 0."""

PROGRAM_SHA256 = "program_sha256"
"""Hash of the program that made a chunk."""

SPLIT_COUNT = "split_count"
"""First chunk only: how many chunks the document has."""

SOURCE_CONTENT = "source_content"
"""First chunk only: the content of the document, None where it had none."""

SOURCE_META = "source_meta"
"""First chunk only, where the program added metadata or the document used one of these keys: the document's meta."""

RESERVED = frozenset({SOURCE_ID, SPLIT_ID, PROGRAM_SHA256, SPLIT_COUNT, SOURCE_CONTENT, SOURCE_META})
"""The keys that neither documents nor programs can set."""

_PLAIN = frozenset({str, int, float, bool, type(None)})


def chunk_id(source_id: str, split_id: int) -> str:
    """Returns the id of a chunk: the same for the same place in the same document, whatever the text is.

    :param source_id: The document's id.
    :param split_id: The chunk's ordinal within the document.
    """
    return f"{source_id}#{split_id}"


def copy_meta(meta: Mapping[str, Any], *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Returns a deep copy of a meta, quickly where its values are plain.

    :param meta: The meta.
    :param without: Keys to leave out.
    """
    if _PLAIN.issuperset(map(type, meta.values())):
        copied = dict(meta)
        for key in without:
            copied.pop(key, None)
        return copied
    return {
        key: value if type(value) in _PLAIN else deepcopy(value) for key, value in meta.items() if key not in without
    }


def chunk_fields(
    source_id: str,
    content: str | None,
    meta: Mapping[str, Any],
    chunks: Sequence[tuple[str, dict[str, Any] | None]],
    program_sha256: str,
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Give the chunks of one document as id, index text and meta.

    :param source_id: The document's id.
    :param content: Its content.
    :param meta: Its meta; nothing of it is shared.
    :param chunks: The index text of each chunk, and what the program says of it; None where it says nothing.
    :param program_sha256: Hash of the program.
    :returns: The chunks: meta is the document's, then the program's, then the keys of this module, which nothing
        overrides. A document without index text has one chunk whose text is None: no query finds it, and it takes the
        place of those of an older version.
    """
    rows: list[tuple[str | None, dict[str, Any] | None]] = [*chunks] or [(None, None)]
    for split_id, (text, own) in enumerate(rows):
        full = copy_meta(meta, without=RESERVED)
        full |= {key: value for key, value in (own or {}).items() if key not in RESERVED}
        full |= {SOURCE_ID: source_id, SPLIT_ID: split_id, PROGRAM_SHA256: program_sha256}
        if split_id == 0:
            full |= {SPLIT_COUNT: len(chunks), SOURCE_CONTENT: content}
            if not RESERVED.isdisjoint(meta) or _adds(own, meta):
                full[SOURCE_META] = copy_meta(meta)
        yield chunk_id(source_id, split_id), text, full


def _adds(own: dict[str, Any] | None, meta: Mapping[str, Any]) -> bool:
    """Whether a program's metadata says anything that the document's meta does not say; 1 and True are not the same."""
    return any(key not in meta or repr(meta[key]) != repr(value) for key, value in (own or {}).items())
