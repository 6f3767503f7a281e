"""Writing a Lucene index: many chunks a call, on all cores.

Every chunk becomes one Lucene document with the fields that Anserini's searchers expect, so that Pyserini and Lucene's
own tools read the index: ``id`` (``<doc_id>#<n>``; stored, indexed, and as doc value, by which Anserini breaks ties)
and ``contents`` (indexed with frequencies and norms; positions, which BM25 does not use, are left out as Anserini does
unless asked). The doc value ``ordinal`` says which chunk it is: threads and merges do not keep the order of chunks.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoindex_haystack.retrieval.settings import BM25Settings
from pyserini_backend import handles
from pyserini_backend.analysis import lucene_analyzer, lucene_id
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import enter, heap_bytes, java, java_class, java_errors

CONTENTS, ID, ORDINAL = "contents", "id", "ordinal"
"""The fields of the index."""

_LARGEST_BUFFER = 256 << 20


class LuceneWriter:
    """Writes the Lucene files of one new index.

    Use it as a context manager: leaving it commits, an exception drops what was written.

    :param folder: The folder of Lucene's files.
    :param settings: BM25 parameters and analyzer.
    :param buffer_mb: Memory that Lucene fills before it writes a segment; a part of the heap when not given.
    :raises BackendError: If Java is missing or another writer has the folder.
    """

    def __init__(self, folder: Path, settings: BM25Settings, buffer_mb: float | None = None) -> None:
        self._failure = f"the Lucene index in {folder} cannot be written"
        with java(self._failure):
            directory = open_directory(folder)
            writer = _new_writer(directory, settings, buffer_mb or _buffer_mb())
            self._add = _adding(writer)
            self._merge = handles.feed(
                handles.method("IndexWriter", "forceMerge", "void", "int").bindTo(writer), 0, handles.constant("int", 1)
            )
            self._end = handles.method("IndexWriter", "close", "void").bindTo(writer)
            self._drop = handles.method("IndexWriter", "rollback", "void").bindTo(writer)
            self._close_directory = handles.method("Directory", "close", "void").bindTo(directory)
            self._as_list = handles.then(handles.split(), handles.static("Arrays", "asList", "List", "Object[]"))
            self._for_each = _for_each_parallel()

    def add(self, ids: Sequence[str], texts: Sequence[str], first_ordinal: int) -> None:
        """Add chunks; may be called from any thread, and uses all cores by itself.

        :param ids: The chunks' ids.
        :param texts: What Lucene's analyzer is given for each; see :mod:`pyserini_backend.analysis`.
        :param first_ordinal: The ordinal of the first chunk; the others follow.
        :raises BackendError: If Lucene cannot write.
        """
        if not ids:
            return
        with java(self._failure):
            known = self._list([lucene_id(identifier) for identifier in ids])
            contents = self._list(texts)
            one = self._add.bindTo(known)
            one = one.bindTo(contents)
            one = handles.feed(one, 0, handles.constant("long", first_ordinal))
            every = handles.feed(self._for_each, 1, handles.instance("IntConsumer", one))
            every = handles.feed(every, 0, handles.constant("int", len(ids)))
        with java_errors(self._failure):
            handles.call(every)

    def merge(self) -> None:
        """Merge all segments into one."""
        self._run(self._merge)

    def __enter__(self) -> "LuceneWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run(self._end if kind is None else self._drop)
        self._run(self._close_directory)

    def _run(self, action: Handle) -> None:
        enter()
        with java_errors(self._failure):
            handles.call(action)

    def _list(self, texts: Sequence[str]) -> Any:
        """Returns texts as a ``List`` in Java."""
        return handles.call(self._as_list, handles.joined(texts))


def open_directory(folder: Path) -> Any:
    """Returns a folder as Lucene's ``FSDirectory``."""
    path = java_class("java.io.File")(str(folder), signature="(Ljava/lang/String;)V").toPath()
    return java_class("org.apache.lucene.store.FSDirectory").open(path)


def similarity(settings: BM25Settings) -> Any:
    """Returns Lucene's BM25 with the parameters of the settings."""
    kind = java_class("org.apache.lucene.search.similarities.BM25Similarity")
    return kind(settings.k1, settings.b, signature="(FF)V")


def _new_writer(directory: Any, settings: BM25Settings, buffer_mb: float) -> Any:
    analyzer = lucene_analyzer(settings.analyzer).create()
    config = java_class("org.apache.lucene.index.IndexWriterConfig")(
        analyzer, signature="(Lorg/apache/lucene/analysis/Analyzer;)V"
    )
    config.setSimilarity(similarity(settings))
    config.setRAMBufferSizeMB(buffer_mb)
    config.setOpenMode(java_class("org.apache.lucene.index.IndexWriterConfig$OpenMode").CREATE)
    return java_class("org.apache.lucene.index.IndexWriter")(directory, config)


def _buffer_mb() -> float:
    return min(_LARGEST_BUFFER, heap_bytes() // 8) / (1 << 20)


def _adding(writer: Any) -> Handle:
    """Returns the function (ids, texts, first ordinal, i) that adds the i-th chunk to a writer."""
    add = handles.method("IndexWriter", "addDocument", "long", "Iterable").bindTo(writer)
    add = handles.as_kind(handles.then(_document(), add), "void", "String", "String", "long", "String")
    item = handles.as_kind(handles.method("List", "get", "Object", "int"), "String", "List", "int")
    sum_of = handles.as_kind(handles.static("Math", "addExact", "long", "long", "long"), "long", "long", "int")
    for position, part in ((3, item), (2, sum_of), (1, item), (0, item)):
        add = handles.feed(add, position, part)
    # ids[i], ids[i], first + i, texts[i]
    return handles.arrange(add, (0, 3, 0, 3, 2, 3, 1, 3), "List", "List", "long", "int")


def _document() -> Handle:
    """Returns the function (id, id, ordinal, contents) that makes a Lucene document, a list of fields."""
    store = handles.constant("Field$Store", java_class("org.apache.lucene.document.Field$Store").YES)
    stored_id = handles.feed(handles.constructor("StringField", "String", "String", "Field$Store").bindTo(ID), 1, store)
    bytes_of = handles.as_kind(handles.constructor("BytesRef", "CharSequence"), "BytesRef", "String")
    id_value = handles.feed(handles.constructor("BinaryDocValuesField", "String", "BytesRef").bindTo(ID), 0, bytes_of)
    ordinal = handles.constructor("NumericDocValuesField", "String", "long").bindTo(ORDINAL)
    contents = handles.constructor("Field", "String", "CharSequence", "IndexableFieldType").bindTo(CONTENTS)
    contents = handles.feed(contents, 1, handles.constant("IndexableFieldType", _contents_type()))
    document = handles.static("List", "of", "List", *["Object"] * 4)
    for position, part in ((3, contents), (2, ordinal), (1, id_value), (0, stored_id)):
        document = handles.feed(document, position, part)
    return document


def _contents_type() -> Any:
    kind = java_class("org.apache.lucene.document.FieldType")()
    kind.setIndexOptions(java_class("org.apache.lucene.index.IndexOptions").DOCS_AND_FREQS)
    kind.setStored(False)
    kind.setTokenized(True)
    kind.freeze()
    return kind


def _for_each_parallel() -> Handle:
    """Returns the function (n, what) that does ``what`` for 0 to n - 1 on all cores."""
    numbers = handles.feed(
        handles.static("IntStream", "range", "IntStream", "int", "int"), 0, handles.constant("int", 0)
    )
    numbers = handles.then(numbers, handles.method("IntStream", "parallel", "IntStream"))
    return handles.feed(handles.method("IntStream", "forEach", "void", "IntConsumer"), 0, numbers)
