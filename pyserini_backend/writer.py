"""Writing a Lucene index: many chunks a call, on all cores."""

import json
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.settings import BM25Settings
from pyserini_backend import handles
from pyserini_backend.analysis import lucene_analyzer
from pyserini_backend.fields import ID, NOTE, keyed_document, numbered_document, short_id
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import enter, heap_bytes, java, java_class, java_errors, usable
from pyserini_backend.loops import ParallelLoop, row_function
from pyserini_backend.reader import LuceneReader, open_directory, similarity

_LARGEST_BUFFER = 256 << 20
_EXPUNGE_TRIES = 5
_BATCH_CHUNKS = 2_000
_BATCH_CHARACTERS = 4_000_000


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
        self._loops: dict[Callable[[Any], Handle], ParallelLoop] = {}

    def adding(self, ids: Sequence[str], texts: Sequence[str], first_ordinal: int) -> Callable[[], None]:
        """Bring chunks to Java that are to be added to an index that is built once.

        :param ids: The chunks' ids.
        :param texts: What Lucene's analyzer is given for each; see :mod:`pyserini_backend.analysis`.
        :param first_ordinal: The ordinal of the first chunk; the others follow.
        :returns: What adds them, on all cores.
        :raises BackendError: If Lucene cannot write, here and when they are added.
        """
        ordinals = map(str, range(first_ordinal, first_ordinal + len(ids)))
        return self._each(_adding, list(map(short_id, ids)), list(ordinals), texts)

    def putting(
        self,
        ids: Sequence[str],
        documents: Sequence[str],
        positions: Sequence[int],
        digests: Sequence[int],
        texts: Sequence[str],
    ) -> Callable[[], None]:
        """Bring chunks to Java that are to take the place of those with the same ids in an index changed in place.

        :param ids: The chunks' ids as the field holds them, each once.
        :param documents: The ids of their documents as the field holds them.
        :param positions: Their places within their documents.
        :param digests: Hashes of their texts.
        :param texts: What Lucene's analyzer is given for each.
        :returns: What writes them, on all cores.
        :raises BackendError: If Lucene cannot write, here and when they are written.
        """
        return self._each(_putting, ids, documents, list(map(str, positions)), list(map(str, digests)), texts)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete chunks.

        :param ids: Their ids as the field holds them.
        :raises BackendError: If Lucene cannot write.
        """
        self._each(_deleting, ids)()

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

    def add_folders(self, folders: Sequence[Path]) -> None:
        """Add all chunks of other indexes as they are: their files are copied.

        :param folders: The folders of their Lucene files.
        :raises BackendError: If one of them cannot be read, or Lucene cannot write.
        """
        with java(self._failure):
            add = handles.method("IndexWriter", "addIndexes", "long", "Directory[]").bindTo(self._writer)
            add = handles.collected(add, "Directory[]")
            copies = [add.bindTo(open_directory(folder)) for folder in folders]
        for copy in copies:
            self._call(copy)

    def merge(self) -> None:
        """Merge all segments into one."""
        with java(self._failure):
            merge = handles.method("IndexWriter", "forceMerge", "void", "int").bindTo(self._writer)
            merge = handles.feed(merge, 0, handles.constant("int", 1))
        self._call(merge)

    def expunge(self) -> None:
        """Take deleted chunks out of the files: rewrite the segments that have any."""
        with java(self._failure):
            check = handles.method("IndexWriter", "hasDeletions", "boolean").bindTo(self._writer)
        for _ in range(_EXPUNGE_TRIES):
            # Passes over segments that are being merged, and those keep what was deleted meanwhile.
            self._run("forceMergeDeletes")
            if not self._call(check):
                return
        self.merge()

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
        self._flush()
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

    def _flush(self) -> None:
        """Write what threads hold in memory on all cores; a commit would do it on one."""
        self._each(_flushing, [""] * (1 + (os.cpu_count() or 1)))()

    def _each(self, make: Callable[[Any], Handle], *columns: Sequence[str]) -> Callable[[], None]:
        """Bring the rows of some columns to Java.

        :param make: Makes the function of (list, place of a row in it) for Lucene's writer.
        :param columns: The columns.
        :returns: What runs the function for every row, on all cores.
        """
        self._refuse_closed()
        loop = self._loops.get(make)
        if loop is None:
            with java(self._failure):
                loop = self._loops[make] = ParallelLoop(make(self._writer), len(columns))
        with java_errors(self._failure):
            staged = loop.stage(columns)

        def run() -> None:
            self._refuse_closed()
            with java_errors(self._failure):
                staged()

        return run

    def _run(self, name: str, returns: str = "void") -> None:
        with java(self._failure):
            action = _action(self._writer, name, returns)
        self._call(action)

    def _call(self, action: Handle) -> Any:
        self._refuse_closed()
        enter()
        with java_errors(self._failure):
            return handles.call(action)

    def _refuse_closed(self) -> None:
        if not self._release.alive:
            msg = f"{self._failure}: the writer is closed; open another one"
            raise BackendError(msg)


def in_batches(texts: Sequence[str], stage: Callable[[int, int], Callable[[], None]]) -> None:
    """Write many chunks: while Lucene indexes one batch without Python's lock, Python makes the next one ready.

    :param texts: The texts, by which batches are cut.
    :param stage: Makes the batch of a range of texts, start and end, ready, and returns what writes it.
    """
    with ThreadPoolExecutor(1, "lucene-writer") as background:
        running: Future[None] | None = None
        for start, end in _batches(texts):
            write = stage(start, end)
            if running is not None:
                running.result()
            running = background.submit(write)
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
    """Returns the function that adds a chunk of (id, ordinal, text) to a writer."""
    add = handles.method("IndexWriter", "addDocument", "long", "Iterable").bindTo(writer)
    # The id twice: stored, and as doc value.
    return row_function(handles.then(numbered_document(), add), (0, 0, 1, 2))


def _putting(writer: Any) -> Handle:
    """Returns the function that writes a chunk of (id, document, position, digest, text)."""
    put = handles.method("IndexWriter", "updateDocument", "long", "Term", "Iterable").bindTo(writer)
    put = handles.feed(put, 1, handles.as_kind(keyed_document(), "Iterable", *["String"] * 6))
    # The id three times: as the term to replace, stored, and as doc value.
    return row_function(handles.feed(put, 0, _term()), (0, 0, 0, 1, 2, 3, 4))


def _deleting(writer: Any) -> Handle:
    """Returns the function that deletes the chunk of (id)."""
    delete = handles.method("IndexWriter", "deleteDocuments", "long", "Term[]").bindTo(writer)
    return row_function(handles.feed(handles.collected(delete, "Term[]"), 0, _term()), (0,))


def _flushing(writer: Any) -> Handle:
    """Returns the function that writes what one thread holds in memory, whatever the row."""
    return handles.arrange(_action(writer, "flushNextBuffer", "boolean"), (), "List", "int")


def _term() -> Handle:
    """Returns the function from an id to the term by which its chunk is found."""
    return handles.constructor("Term", "String", "String").bindTo(ID)
