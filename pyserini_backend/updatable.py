"""Lucene indexes that are changed in place; what their interface promises is Lucene's own way of working.

The folder holds Lucene's files and nothing else, so Pyserini and Lucene's tools open it as it is. The settings and what
the writer says of a commit are kept by Lucene with the commit itself.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from autoindex_haystack.errors import BackendError
from autoindex_haystack.files import ScratchFolder
from autoindex_haystack.retrieval.settings import BM25Settings
from autoindex_haystack.retrieval.updatable import ChunkWriter, KeyedChunks, Snapshot, UpdatableIndex
from pyserini_backend.analysis import lucene_analyzer
from pyserini_backend.fields import is_too_long, to_field
from pyserini_backend.index import LuceneIndex
from pyserini_backend.jvm import enter
from pyserini_backend.numbering import Numberer
from pyserini_backend.reader import LuceneReader, holds_index
from pyserini_backend.searcher import LuceneSearcher
from pyserini_backend.writer import LuceneWriter, in_batches

_FORMAT = 1
_LUCENES_NAMES = ("_", "segments", "pending_segments", "write.lock")
_OTHERS_SECONDS = 10.0
"""How long to wait for another process that makes the index at the same moment."""


class UpdatableLuceneIndex(UpdatableIndex):
    """See :func:`autoindex_haystack.retrieval.updatable.open_updatable`.

    Readers see what was committed, never what is only written. Usable from several threads.

    :param folder: The folder of Lucene's files; a temporary one when not given.
    :param settings: BM25 parameters and analyzer.
    :raises BackendError: If Java is missing, or the folder holds something else or an index with other settings.
    """

    def __init__(self, folder: Path | None, settings: BM25Settings) -> None:
        enter()
        self.settings = settings
        self._lock = threading.Lock()
        self._reader: LuceneReader | None = None
        self._newest: Snapshot | None = None
        self._numberer = Numberer()
        self._scratch: ScratchFolder | None = None
        if folder is None:
            self._scratch = ScratchFolder()
            folder = self._scratch.path
        self.folder = folder
        self._make()
        self.snapshot()

    def open_writer(self) -> ChunkWriter:
        return _Writer(self.folder, self.settings)

    def snapshot(self) -> Snapshot:
        with self._lock:
            known, reader = self._newest, self._reader
            if known is not None and reader is not None and not reader.closed:
                reader = reader.newer()
                if reader is None:
                    return known
            else:
                reader = LuceneReader(self.folder)
            self._newest, self._reader = self._look(reader), reader
            return self._newest

    def close(self) -> None:
        with self._lock:
            self._reader = self._newest = None
            self._numberer = Numberer()
        if self._scratch is not None:
            self._scratch.close()

    def _look(self, reader: LuceneReader) -> Snapshot:
        note = reader.note()
        self._check(note)
        numbering = self._numberer.number(reader)
        searcher = LuceneSearcher(reader, self.settings, numbering.ordinals)
        index = LuceneIndex(searcher, self.settings, numbering.documents, numbering.document_ids)
        return Snapshot(
            index, numbering.chunk_ids, numbering.positions, numbering.digests, note["state"], reader.deleted
        )

    def _check(self, note: dict[str, object]) -> None:
        if note.get("format") != _FORMAT:
            msg = f"{self.folder} holds a Lucene index that cannot be changed in place by this version; read it with "
            raise BackendError(msg + "LuceneIndex.open_foreign or choose another folder")
        found = BM25Settings.model_validate(note["settings"])
        if found != self.settings:
            msg = f"the index in {self.folder} was made with {found}; it cannot be opened with {self.settings}"
            raise BackendError(msg)

    def _make(self) -> None:
        """Make an empty index where there is none yet."""
        if not holds_index(self.folder):
            others = [path.name for path in self.folder.glob("*") if not path.name.startswith(_LUCENES_NAMES)]
            if others:
                msg = f"{self.folder} holds no Lucene index but other files ({others[0]}); choose another folder"
                raise BackendError(msg)
            # Where two processes do so at once, one makes it and the other finds it made.
            with self.writer(wait=_OTHERS_SECONDS) as writer:
                if not holds_index(self.folder):
                    writer.commit()


class _Writer(ChunkWriter):
    def __init__(self, folder: Path, settings: BM25Settings) -> None:
        self._folder, self._settings = folder, settings
        self._prepare = lucene_analyzer(settings.analyzer).prepare
        self._changed = False
        self._lucene = LuceneWriter(folder, settings, anew=False)

    @property
    def uncommitted(self) -> bool:
        return self._changed

    def write(self, chunks: KeyedChunks) -> None:
        ids, documents = _as_fields(chunks.ids), _as_fields(chunks.document_ids)
        digests = chunks.digests()
        self._changed |= bool(ids)

        def stage(start: int, end: int) -> Callable[[], None]:
            return self._lucene.putting(
                ids[start:end],
                documents[start:end],
                chunks.positions[start:end].tolist(),
                digests[start:end].tolist(),
                list(map(self._prepare, chunks.texts[start:end])),
            )

        in_batches(chunks.texts, stage)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self._changed |= bool(chunk_ids)
        # What is too long to be there is not there.
        self._lucene.delete([value for value in map(to_field, chunk_ids) if not is_too_long(value)])

    def clear(self) -> None:
        self._changed = True
        self._lucene.clear()

    def commit(self, *, expunge: bool = False, state: str = "") -> None:
        if expunge:
            self._lucene.expunge()
        self._lucene.commit({"format": _FORMAT, "settings": self._settings.model_dump(mode="json"), "state": state})
        self._changed = False

    def rollback(self) -> None:
        self._lucene.close()
        self._changed = False
        self._lucene = LuceneWriter(self._folder, self._settings, anew=False)

    def close(self) -> None:
        self._lucene.close()


def _as_fields(identifiers: Sequence[str]) -> list[str]:
    values = list(map(to_field, identifiers))
    for identifier, value in zip(identifiers, values, strict=True):
        if is_too_long(value):
            msg = f"the id {identifier[:40]}… has {len(value):,} characters, more than Lucene can take"
            raise BackendError(msg)
    return values
