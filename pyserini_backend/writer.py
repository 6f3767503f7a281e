"""Writing a Lucene index: many chunks a call, on all cores."""

import json
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.settings import BM25Settings
from pyserini_backend import handles
from pyserini_backend.analysis import lucene_analyzer
from pyserini_backend.fields import ID, NOTE, keyed_document, numbered_document, short_id
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import enter, heap_bytes, java, java_class, java_errors, usable
from pyserini_backend.reader import LuceneReader, open_directory, similarity

_LARGEST_BUFFER = 256 << 20
_BATCH_CHUNKS = 2_000
_BATCH_CHARACTERS = 4_000_000

T = TypeVar("T")


class LuceneWriter:
    """Writes the Lucene files of one index; may be used from several threads.

    Use it as a context manager: leaving it commits, an exception drops what was not committed.

    :param folder: The folder of Lucene's files.
    :param settings: BM25 parameters and analyzer.
    :param buffer_mb: Memory that Lucene fills before it writes a segment; a part of the heap when not given.
    :param anew: Whether to begin with an empty index; otherwise what is there is kept.
    :raises BackendError: If Java is missing or another writer has the folder.
    """

    def __init__(
        self, folder: Path, settings: BM25Settings, buffer_mb: float | None = None, *, anew: bool = True
    ) -> None:
        self._failure = f"the Lucene index in {folder} cannot be written"
        with java(self._failure):
            directory = open_directory(folder)
            writer = _new_writer(directory, settings, buffer_mb or _buffer_mb(), anew=anew)
            # A writer that is forgotten would keep the folder locked until the process ends.
            rollback = _action(writer, "rollback")
            close_directory = handles.method("Directory", "close", "void").bindTo(directory)
            self._release = weakref.finalize(self, _drop, rollback, close_directory, os.getpid())
            self._writer = writer
            self._as_list = handles.then(handles.split(), handles.static("Arrays", "asList", "List", "Object[]"))
            self._for_each = _for_each_parallel()
        self._actions: dict[str, Handle] = {}

    def add(self, ids: Sequence[str], texts: Sequence[str], first_ordinal: int) -> None:
        """Add chunks to an index that is built once, using all cores.

        :param ids: The chunks' ids.
        :param texts: What Lucene's analyzer is given for each; see :mod:`pyserini_backend.analysis`.
        :param first_ordinal: The ordinal of the first chunk; the others follow.
        :raises BackendError: If Lucene cannot write.
        """
        first = handles.constant("long", first_ordinal)
        self._each("add", _adding, [short_id(identifier) for identifier in ids], texts, first=first)

    def put(
        self,
        ids: Sequence[str],
        documents: Sequence[str],
        positions: Sequence[int],
        digests: Sequence[int],
        texts: Sequence[str],
    ) -> None:
        """Write chunks to an index that is changed in place, in the place of those with the same ids, on all cores.

        :param ids: The chunks' ids as the field holds them, each once.
        :param documents: The ids of their documents as the field holds them.
        :param positions: Their places within their documents.
        :param digests: Hashes of their texts.
        :param texts: What Lucene's analyzer is given for each.
        :raises BackendError: If Lucene cannot write.
        """
        self._each("put", _putting, ids, documents, list(map(str, positions)), list(map(str, digests)), texts)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete chunks.

        :param ids: Their ids as the field holds them.
        :raises BackendError: If Lucene cannot write.
        """
        self._each("delete", _deleting, ids)

    def clear(self) -> None:
        """Delete all chunks."""
        self._run("deleteAll", "long")

    def add_all(self, reader: LuceneReader) -> None:
        """Add all chunks of another index as they are, deleted ones left out.

        :param reader: The other index.
        :raises BackendError: If Lucene cannot write.
        """
        with java(self._failure):
            add = handles.method("IndexWriter", "addIndexes", "long", "CodecReader[]").bindTo(self._writer)
            add = handles.collected(add, "CodecReader[]")
            leaves = reader.java_reader.leaves()
            segments = [add.bindTo(leaves.get(i).reader()) for i in range(leaves.size())]
        for segment in segments:
            self._call(segment)

    def merge(self) -> None:
        """Merge all segments into one."""
        with java(self._failure):
            merge = handles.method("IndexWriter", "forceMerge", "void", "int").bindTo(self._writer)
            merge = handles.feed(merge, 0, handles.constant("int", 1))
        self._call(merge)

    def expunge(self) -> None:
        """Take deleted chunks out of the files: rewrite the segments that have any."""
        self._run("forceMergeDeletes")

    def commit(self, note: dict[str, object] | None = None) -> None:
        """Make everything so far durable and visible.

        :param note: What to keep with the commit.
        :raises BackendError: If that fails; the commit before stays the newest.
        """
        if note is not None:
            with java(self._failure):
                data = java_class("java.util.HashMap")()
                data.put(NOTE, json.dumps(note))
                keep = handles.method("IndexWriter", "setLiveCommitData", "void", "Iterable").bindTo(self._writer)
                entries = handles.as_kind(handles.method("Map", "entrySet", "Set"), "Iterable", "Map")
                keep = handles.feed(keep, 0, entries)
            handles.call(keep, data)
        self._run("commit", "long")

    def close(self) -> None:
        """Drop what was not committed and let others write. Closing twice is fine."""
        self._release()

    def __enter__(self) -> "LuceneWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()

    def _each(
        self, name: str, make: Callable[[Any], Handle], *columns: Sequence[str], first: Handle | None = None
    ) -> None:
        """Run a function of (columns…, row) for all rows on all cores.

        :param name: A name under which to keep the function.
        :param make: Makes it for Lucene's writer.
        :param columns: The columns, which reach Java as lists.
        :param first: What the parameter behind the columns is, if there is one.
        """
        if not len(columns[0]):
            return
        self._refuse_closed()
        with java(self._failure):
            one = self._actions.get(name)
            if one is None:
                one = self._actions[name] = make(self._writer)
            for column in columns:
                one = one.bindTo(handles.call(self._as_list, handles.joined(column)))
            if first is not None:
                one = handles.feed(one, 0, first)
            every = handles.feed(self._for_each, 1, handles.instance("IntConsumer", one))
            every = handles.feed(every, 0, handles.constant("int", len(columns[0])))
        self._call(every)

    def _run(self, name: str, returns: str = "void") -> None:
        with java(self._failure):
            action = _action(self._writer, name, returns)
        self._call(action)

    def _call(self, action: Handle) -> None:
        self._refuse_closed()
        enter()
        with java_errors(self._failure):
            handles.call(action)

    def _refuse_closed(self) -> None:
        if not self._release.alive:
            msg = f"{self._failure}: the writer is closed; open another one"
            raise BackendError(msg)


def in_batches(texts: Sequence[str], prepare: Callable[[int, int], T], write: Callable[[T], None]) -> None:
    """Write many chunks: while Lucene indexes one batch without Python's lock, Python prepares the next.

    :param texts: The texts, by which batches are cut.
    :param prepare: Makes the batch of a range of texts, start and end.
    :param write: Writes a batch.
    """
    with ThreadPoolExecutor(1, "lucene-writer") as background:
        running: Future[None] | None = None
        for start, end in _batches(texts):
            batch = prepare(start, end)
            if running is not None:
                running.result()
            running = background.submit(write, batch)
        if running is not None:
            running.result()


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Cut texts into ranges of a size that is worth a call and no strain on memory."""
    start = characters = 0
    for i, text in enumerate(texts):
        characters += len(text)
        if characters >= _BATCH_CHARACTERS or i + 1 - start >= _BATCH_CHUNKS:
            yield start, i + 1
            start, characters = i + 1, 0
    if start < len(texts):
        yield start, len(texts)


def _new_writer(directory: Any, settings: BM25Settings, buffer_mb: float, *, anew: bool) -> Any:
    analyzer = lucene_analyzer(settings.analyzer).create()
    config = java_class("org.apache.lucene.index.IndexWriterConfig")(
        analyzer, signature="(Lorg/apache/lucene/analysis/Analyzer;)V"
    )
    config.setSimilarity(similarity(settings))
    config.setRAMBufferSizeMB(buffer_mb)
    modes = java_class("org.apache.lucene.index.IndexWriterConfig$OpenMode")
    config.setOpenMode(modes.CREATE if anew else modes.CREATE_OR_APPEND)
    merging = java_class("org.apache.lucene.index.TieredMergePolicy")()
    merging.setForceMergeDeletesPctAllowed(0.0)  # Expunging leaves nothing.
    config.setMergePolicy(merging)
    return java_class("org.apache.lucene.index.IndexWriter")(directory, config)


def _buffer_mb() -> float:
    return min(_LARGEST_BUFFER, heap_bytes() // 8) / (1 << 20)


def _action(writer: Any, name: str, returns: str = "void") -> Handle:
    """Returns a method of a writer that takes nothing."""
    return handles.as_kind(handles.method("IndexWriter", name, returns).bindTo(writer), "void")


def _drop(rollback: Handle, close_directory: Handle, process: int) -> None:
    """Close a writer without a commit."""
    if os.getpid() == process and usable():  # A forked child must not take the files from its parent.
        for action in (rollback, close_directory):
            with suppress(BackendError), java_errors("the Lucene index cannot be closed"):
                handles.call(action)


def _adding(writer: Any) -> Handle:
    """Returns the function (ids, texts, first ordinal, i) that adds the i-th chunk to a writer."""
    add = handles.method("IndexWriter", "addDocument", "long", "Iterable").bindTo(writer)
    add = handles.as_kind(handles.then(numbered_document(), add), "void", "String", "String", "long", "String")
    sum_of = handles.as_kind(handles.static("Math", "addExact", "long", "long", "long"), "long", "long", "int")
    for position, part in ((3, _item()), (2, sum_of), (1, _item()), (0, _item())):
        add = handles.feed(add, position, part)
    # ids[i], ids[i], first + i, texts[i]
    return handles.arrange(add, (0, 3, 0, 3, 2, 3, 1, 3), "List", "List", "long", "int")


def _putting(writer: Any) -> Handle:
    """Returns the function (ids, documents, positions, digests, texts, i) that writes the i-th chunk."""
    put = handles.method("IndexWriter", "updateDocument", "long", "Term", "Iterable").bindTo(writer)
    put = handles.feed(put, 1, handles.as_kind(keyed_document(), "Iterable", *["String"] * 6))
    put = handles.as_kind(handles.feed(put, 0, _term()), "void", *["String"] * 7)
    for position in reversed(range(7)):
        put = handles.feed(put, position, _item())
    # ids[i] three times: as the term to replace, stored, and as doc value.
    order = (0, 5, 0, 5, 0, 5, 1, 5, 2, 5, 3, 5, 4, 5)
    return handles.arrange(put, order, *["List"] * 5, "int")


def _deleting(writer: Any) -> Handle:
    """Returns the function (ids, i) that deletes the i-th chunk."""
    delete = handles.method("IndexWriter", "deleteDocuments", "long", "Term[]").bindTo(writer)
    delete = handles.feed(handles.collected(delete, "Term[]"), 0, _term())
    return handles.feed(handles.as_kind(delete, "void", "String"), 0, _item())


def _term() -> Handle:
    """Returns the function from an id to the term by which its chunk is found."""
    return handles.constructor("Term", "String", "String").bindTo(ID)


def _item() -> Handle:
    """Returns the function (list, i) that gives the i-th text of a list."""
    return handles.as_kind(handles.method("List", "get", "Object", "int"), "String", "List", "int")


def _for_each_parallel() -> Handle:
    """Returns the function (n, what) that does ``what`` for 0 to n - 1 on all cores."""
    numbers = handles.feed(
        handles.static("IntStream", "range", "IntStream", "int", "int"), 0, handles.constant("int", 0)
    )
    numbers = handles.then(numbers, handles.method("IntStream", "parallel", "IntStream"))
    return handles.feed(handles.method("IntStream", "forEach", "void", "IntConsumer"), 0, numbers)
