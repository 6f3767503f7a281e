"""The fields of a Lucene index, and how a chunk becomes a Lucene document.

Every chunk is one document with the fields that Anserini's searchers expect, so that Pyserini and Lucene's own tools
read the index: ``id`` (stored, indexed, and as doc value, by which Anserini breaks ties) and ``contents`` (indexed with
frequencies and norms; positions, which BM25 does not use, are left out as Anserini does unless asked).

An index that is built once says with the doc value ``ordinal`` which chunk a document is: threads and merges do not
keep their order. In one that is changed in place that would shift with every chunk, so there the doc values
``document`` (id of the chunk's document), ``position`` (the chunk's place in it) and ``digest`` (a hash of its text)
say what the chunk is by itself.
"""

import json

from pyserini_backend import handles
from pyserini_backend.analysis import stand_in
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import java_class

ID, CONTENTS, ORDINAL, DOCUMENT, POSITION, DIGEST = "id", "contents", "ordinal", "document", "position", "digest"

NOTE = "autoindex"
"""The key of our own line in the data that Lucene keeps with each commit."""

LONGEST_ID = 32_000
"""Bytes; Lucene refuses terms and doc values of 32,767 and more."""

_ESCAPED = "json:"


def to_field(identifier: str) -> str:
    """Returns an id as a field holds it: as it is, or as JSON where it has characters that Lucene could not take.

    No two ids give the same, and :func:`from_field` gives the id back; the result may still be too long.
    """
    if identifier.isascii():
        fit = "\0" not in identifier
    else:
        fit = "\0" not in identifier and _encodes(identifier)
    return identifier if fit and not identifier.startswith(_ESCAPED) else _ESCAPED + json.dumps(identifier)


def from_field(value: str) -> str:
    """Returns the id that :func:`to_field` was given."""
    return str(json.loads(value.removeprefix(_ESCAPED))) if value.startswith(_ESCAPED) else value


def is_too_long(value: str) -> bool:
    """Whether a field's value is longer than Lucene takes."""
    return len(value) > LONGEST_ID // 4 and len(value.encode("utf-8")) > LONGEST_ID


def short_id(identifier: str) -> str:
    """Returns :func:`to_field` of an id, and a short one that stands for it where that is too long."""
    value = to_field(identifier)
    return stand_in(identifier) if is_too_long(value) else value


def numbered_document() -> Handle:
    """Returns the function (id, id, ordinal, contents), all strings, that makes a document of an index built once."""
    return _list_of(*_id_fields(), _numeric(ORDINAL), _contents())


def keyed_document() -> Handle:
    """Returns the function (id, id, document, position, digest, contents), all strings, that makes a document.

    It is one of an index that is changed in place.
    """
    return _list_of(*_id_fields(), _binary(DOCUMENT), _numeric(POSITION), _numeric(DIGEST), _contents())


def _list_of(*parts: Handle) -> Handle:
    document = handles.static("List", "of", "List", *["Object"] * len(parts))
    for position, part in reversed(list(enumerate(parts))):
        document = handles.feed(document, position, part)
    return document


def _id_fields() -> tuple[Handle, Handle]:
    store = handles.constant("Field$Store", java_class("org.apache.lucene.document.Field$Store").YES)
    stored = handles.constructor("StringField", "String", "String", "Field$Store").bindTo(ID)
    return handles.feed(stored, 1, store), _binary(ID)


def _binary(name: str) -> Handle:
    bytes_of = handles.as_kind(handles.constructor("BytesRef", "CharSequence"), "BytesRef", "String")
    return handles.feed(handles.constructor("BinaryDocValuesField", "String", "BytesRef").bindTo(name), 0, bytes_of)


def _numeric(name: str) -> Handle:
    number = handles.static("Long", "parseLong", "long", "String")
    return handles.feed(handles.constructor("NumericDocValuesField", "String", "long").bindTo(name), 0, number)


def _contents() -> Handle:
    kind = java_class("org.apache.lucene.document.FieldType")()
    kind.setIndexOptions(java_class("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    kind.setStored(False)
    kind.setTokenized(True)
    kind.freeze()
    contents = handles.constructor("Field", "String", "CharSequence", "IndexableFieldType").bindTo(CONTENTS)
    contents = handles.feed(contents, 1, handles.constant("IndexableFieldType", kind))
    return handles.as_kind(contents, "Field", "String")


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
