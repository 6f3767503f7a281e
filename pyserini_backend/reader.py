"""Reading the files of a Lucene index as one commit left them: what each of its documents is."""

import json
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.settings import BM25Settings
from pyserini_backend import handles
from pyserini_backend.fields import CONTENTS, NOTE
from pyserini_backend.handles import SEPARATOR, Handle
from pyserini_backend.jvm import java, java_class, java_errors, usable

_STRINGS_A_CALL = 500_000


class LuceneReader:
    """One commit of a Lucene index; what is written later does not change it.

    :param folder: The folder of Lucene's files.
    :param opened: The reader in Java, if it is open already.
    :param commit: The name of the commit's file; what the reader in Java says when not given.
    :raises BackendError: If there is no readable index.
    """

    def __init__(self, folder: Path, opened: Any = None, commit: str | None = None) -> None:
        self.folder = folder
        self._failure = f"the Lucene index in {folder} cannot be opened"
        with java(f"{self._failure}; build it anew"):
            if opened is None:
                opened = java_class("org.apache.lucene.index.DirectoryReader").open(open_directory(folder))
            self.java_reader = opened
            close = handles.method("IndexReader", "close", "void").bindTo(opened)
            self.size: int = opened.maxDoc()
            """How many documents there are, deleted ones counted too."""
            self.deleted: int = opened.numDeletedDocs()
            """How many of them are deleted."""
            self._commit: str = opened.getIndexCommit().getSegmentsFileName() if commit is None else commit
        self._release = weakref.finalize(self, _close, close, os.getpid())

    @classmethod
    def of_parts(cls, folders: Sequence[Path]) -> "LuceneReader":
        """Open several indexes as one, whose statistics are those of all together.

        :param folders: The folders of their Lucene files.
        :returns: The reader; its documents are theirs, one index after the other.
        :raises BackendError: If one of them is no readable index.
        """
        place = folders[0].parent
        with java(f"the Lucene indexes beside {place} cannot be opened; build them anew"):
            opened = java_class("java.util.ArrayList")()
            try:
                for folder in folders:
                    opened.add(java_class("org.apache.lucene.index.DirectoryReader").open(open_directory(folder)))
                make = handles.constructor("MultiReader", "IndexReader[]")
                make = handles.collected(make, "IndexReader[]", len(folders))
                for i in range(opened.size()):
                    make = make.bindTo(opened.get(i))
                many = handles.call(handles.as_kind(make, "IndexReader"))
            except BaseException:
                for i in range(opened.size()):
                    opened.get(i).close()
                raise
        return cls(place, many, "")

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not bool(self._release.alive)

    def newer(self) -> "LuceneReader | None":
        """Returns a reader of the newest commit; None if this is the one."""
        # Every commit has a file of its own; looking for that is a hundred times quicker than asking Lucene.
        if all(name == self._commit for name in os.listdir(self.folder) if name.startswith("segments_")):
            return None
        with java(self._failure):
            opened = java_class("org.apache.lucene.index.DirectoryReader").openIfChanged(
                self.java_reader,
                signature="(Lorg/apache/lucene/index/DirectoryReader;)Lorg/apache/lucene/index/DirectoryReader;",
            )
            return None if opened is None else LuceneReader(self.folder, opened)

    def note(self) -> dict[str, Any]:
        """Returns what our writer noted with the commit; nothing if it was not ours."""
        with java(self._failure):
            written = self.java_reader.getIndexCommit().getUserData().get(NOTE)
        return dict(json.loads(written)) if written else {}

    def has_contents(self) -> bool:
        """Whether any document has a text that can be searched as Anserini's are."""
        with java(self._failure):
            return bool(self.java_reader.getDocCount(CONTENTS))

    def live(self) -> NDArray[np.bool_]:
        """Returns which documents are not deleted; bool, shape (size,)."""
        with java(self._failure):
            bits = java_class("org.apache.lucene.index.MultiBits").getLiveDocs(self.java_reader)
            if bits is None:
                return np.ones(self.size, np.bool_)
            get = handles.as_kind(handles.method("Bits", "get", "boolean", "int").bindTo(bits), "long", "int")
            return _in_bulk(get, self.size).astype(np.bool_)

    def numbers(self, field: str) -> NDArray[np.int64] | None:
        """Returns a number of each document; int64, shape (size,); None if the index has no such field.

        :param field: A field with numeric doc values.
        """
        if not self.size:
            return np.empty(0, np.int64)
        with java(self._failure):
            values = _doc_values("getNumericValues", self.java_reader, field)
            if values is None:
                return None
            return _in_bulk(_number_at(values), self.size)

    def segments(self) -> list["LuceneSegment"]:
        """Returns the segments that the index consists of, in the order of the documents' numbers."""
        with java(self._failure):
            from jnius import cast

            kind = "org.apache.lucene.index.SegmentReader"
            readers = [cast(kind, leaf.reader()) for leaf in self.java_reader.leaves().toArray()]
            return [LuceneSegment(reader, self._failure) for reader in readers]

    def close(self) -> None:
        """Release the files; closing twice is fine."""
        self._release()


class LuceneSegment:
    """A part of a Lucene index; apart from deletions it never changes.

    :param reader: Its reader in Java.
    :param failure: What to say when it cannot be read.
    """

    def __init__(self, reader: Any, failure: str) -> None:
        self._reader, self._failure = reader, failure
        self.size: int = reader.maxDoc()
        """How many documents there are, deleted ones counted too."""
        self.key = bytes(byte & 0xFF for byte in reader.getSegmentInfo().info.getId())
        """What no other segment has, in no index."""

    def numbers(self, field: str) -> NDArray[np.int64] | None:
        """:meth:`LuceneReader.numbers` of the segment."""
        with java(self._failure):
            values = _doc_values("getNumericValues", self._reader, field)
            return None if values is None else _in_bulk(_number_at(values), self.size)

    def strings(self, field: str) -> list[str] | None:
        """Returns a text of each document; None if the index has no such field.

        :param field: A field with binary doc values.
        :raises BackendError: If a text contains what separates texts on their way from Java.
        """
        with java(self._failure):
            values = _doc_values("getBinaryValues", self._reader, field)
            if values is None:
                return None
            value = handles.then(
                _at("BinaryDocValues", "binaryValue", "BytesRef").bindTo(values),
                handles.method("BytesRef", "utf8ToString", "String"),
            )
            # Forward only, as doc values are read, and in parts, since Java holds each three times.
            parts = [
                handles.call(_joined_strings(value, start, min(start + _STRINGS_A_CALL, self.size))).tostring()
                for start in range(0, self.size, _STRINGS_A_CALL)
            ]
        texts = [text for part in parts for text in str(part, "utf-8").split(SEPARATOR)]
        if len(texts) != self.size:
            msg = f"{self._failure}: an id in it contains a NUL"
            raise BackendError(msg)
        return texts


def open_directory(folder: Path) -> Any:
    """Returns a folder as Lucene's ``FSDirectory``; within :func:`pyserini_backend.jvm.java`."""
    # Java goes by the folder in which it was started, whatever the working folder is now.
    path = java_class("java.io.File")(os.path.abspath(folder), signature="(Ljava/lang/String;)V").toPath()
    return java_class("org.apache.lucene.store.FSDirectory").open(path)


def holds_index(folder: Path) -> bool:
    """Whether a folder holds a commit of a Lucene index."""
    with java(f"the folder {folder} cannot be read"):
        return bool(java_class("org.apache.lucene.index.DirectoryReader").indexExists(open_directory(folder)))


def similarity(settings: BM25Settings) -> Any:
    """Returns Lucene's BM25 with the parameters of the settings."""
    kind = java_class("org.apache.lucene.search.similarities.BM25Similarity")
    return kind(settings.k1, settings.b, signature="(FF)V")


def to_bytes(kind: str) -> Handle:
    """Returns the function from an array of ``int`` or ``long`` to big-endian ``byte[]``, the one kind of array that
    pyjnius copies whole.
    """
    width, buffer_kind = (4, "IntBuffer") if kind == "int" else (8, "LongBuffer")
    size = handles.feed(handles.static("Math", "multiplyExact", "int", "int", "int"), 0, handles.constant("int", width))
    buffer = handles.then(
        handles.length(f"{kind}[]"), size, handles.static("ByteBuffer", "allocate", "ByteBuffer", "int")
    )
    put = handles.method(buffer_kind, "put", buffer_kind, f"{kind}[]")
    put = handles.feed(put, 0, handles.method("ByteBuffer", f"as{buffer_kind}", buffer_kind))
    array = handles.arrange(handles.method("ByteBuffer", "array", "byte[]"), (0,), "ByteBuffer", f"{kind}[]")
    return handles.with_first(buffer, handles.after(put, array))


def _doc_values(getter: str, reader: Any, field: str) -> Any:
    return getattr(java_class("org.apache.lucene.index.MultiDocValues"), getter)(reader, field)


def _in_bulk(value: Handle, count: int) -> NDArray[np.int64]:
    """Returns a function of the document numbers 0 to count - 1 in bulk; int64, shape (count,)."""
    each = handles.method("IntStream", "mapToLong", "LongStream", "IntToLongFunction")
    each = handles.feed(each, 1, handles.instance("IntToLongFunction", value))
    numbers = handles.feed(each, 0, _documents(0, count))
    array = handles.then(numbers, handles.method("LongStream", "toArray", "long[]"))
    packed = handles.call(handles.then(array, to_bytes("long")))
    return np.frombuffer(packed.tostring(), ">i8").astype(np.int64)


def _number_at(values: Any) -> Handle:
    """Returns the function from a document's number to what numeric doc values say of it."""
    return _at("NumericDocValues", "longValue", "long").bindTo(values)


def _at(owner: str, name: str, returns: str) -> Handle:
    """Returns the function (doc values, document) that gives the document's value."""
    value = handles.arrange(handles.method(owner, name, returns), (0,), owner, "int")
    return handles.after(handles.method(owner, "advanceExact", "boolean", "int"), value)


def _documents(start: int, end: int) -> Handle:
    """Returns the function that gives the stream of the numbers from ``start`` to ``end - 1``."""
    numbers = handles.static("IntStream", "range", "IntStream", "int", "int")
    return handles.feed(handles.feed(numbers, 1, handles.constant("int", end)), 0, handles.constant("int", start))


def _joined_strings(value: Handle, start: int, end: int) -> Handle:
    """Returns the function that gives the strings of the documents ``start`` to ``end - 1`` in UTF-8, separated."""
    each = handles.method("IntStream", "mapToObj", "Stream", "IntFunction")
    strings = handles.feed(handles.feed(each, 1, handles.instance("IntFunction", value)), 0, _documents(start, end))
    joining = handles.static("Collectors", "joining", "Collector", "CharSequence").bindTo(SEPARATOR)
    collect = handles.feed(handles.method("Stream", "collect", "Object", "Collector"), 1, joining)
    joined = handles.as_kind(handles.then(strings, collect), "String")
    encode = handles.method("String", "getBytes", "byte[]", "Charset")
    utf8 = java_class("java.nio.charset.StandardCharsets").UTF_8
    encode = handles.feed(encode, 1, handles.constant("Charset", utf8))
    return handles.then(joined, encode)


def _close(close: Handle, process: int) -> None:
    if os.getpid() == process and usable():  # A forked child must not take the files from its parent.
        with suppress(BackendError), java_errors("the Lucene index cannot be closed"):
            handles.call(close)
