"""The engine's index of a document store, changed in place: what a search costs goes by what was written since.

The log of documents is the truth and the index follows it. Each of its commits says up to which state of the log it
goes, so every process sees what is missing. Whoever searches first writes that, one process at a time, and always up to
the end of the log, so the index never goes back. A process that is killed leaves the commit before.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout
from haystack import logging

from autoindex_haystack.errors import BackendError
from autoindex_haystack.files import remove
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.retrieval.updatable import (
    ChunkWriter,
    Snapshot,
    UpdatableIndex,
    WriterBusy,
    differences,
    open_updatable,
)
from haystack_integrations.document_stores.autoindex.chunk_rows import ChunkRows, keyed_chunks, same_chunk
from haystack_integrations.document_stores.autoindex.committed_documents import Committed, CommittedDocuments
from haystack_integrations.document_stores.autoindex.errors import StoreError
from haystack_integrations.document_stores.autoindex.index_cache import IndexCache
from haystack_integrations.document_stores.autoindex.searchable import OpenIndex, Searchable

logger = logging.getLogger(__name__)

_LOCK = "index.lock"
_WAIT = 60.0
"""Seconds to wait for another process that brings the index up to date."""

_MANY = 8
"""Where more than one document in so many has changed, all are ordered anew."""

SMALL_INDEX = 100_000
"""Chunks; so many are rewritten in about a second."""

DELETED_SHARE = 0.01


class LiveIndex:
    """The index of one store, in a folder beside the log or, for a store in memory, in a temporary one.

    :param folder: The store's folder; None for a store in memory.
    :param backend: Name of the engine, which must be one whose indexes can be changed in place.
    :param settings: BM25 parameters and analyzer.
    """

    def __init__(self, folder: Path | None, backend: str, settings: BM25Settings) -> None:
        self._folder = folder
        self._place = None if folder is None else folder / backend
        self._backend, self._settings = backend, settings
        self._index: UpdatableIndex | None = None
        self._without_folder = IndexCache(None, backend, settings)

    def searchable(self, stored: CommittedDocuments, found: Searchable | None) -> Searchable:
        return self._bring_up_to_date(stored, found, expunge=False)

    def expunge(self, stored: CommittedDocuments, found: Searchable) -> Searchable:
        """:meth:`searchable`, with the chunks removed from the files that are gone."""
        return self._bring_up_to_date(stored, found, expunge=True) if found.deleted else found

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _bring_up_to_date(
        self, stored: CommittedDocuments, found: Searchable | None, *, expunge: bool, anew: bool = True
    ) -> Searchable:
        committed = stored.snapshot(found.version if found else None)
        rows = _rows(committed, found)
        if not len(rows):
            if self._folder is not None:
                logger.warning(
                    "{folder} holds no documents, so every search is empty; index some, or check the path",
                    folder=str(self._folder),
                )
            return self._apart(committed, rows)
        try:
            index = self._opened()
            snapshot = index.snapshot()
            if expunge or snapshot.state != committed.state:
                with self._locked(), index.writer(wait=_WAIT) as writer:
                    # Now nobody else writes, and what is indexed cannot be newer than this.
                    seen, committed = committed, stored.snapshot(found.version if found else None)
                    if committed.version != seen.version:
                        rows = _rows(committed, found)
                    self._write(writer, index.snapshot(), committed, rows, found, expunge=expunge)
                    snapshot = index.snapshot()
            if list(snapshot.chunk_ids) != rows.ids():
                msg = f"the index in {self._place} does not hold what it says"
                raise BackendError(msg)
        except (BackendError, OSError, Timeout) as error:
            if expunge:
                msg = f"the index in {self._place} cannot be written now ({error}); try again later"
                raise StoreError(msg) from error
            self.close()
            apart = self._in_spite_of(error, committed, rows, found)
            if anew and self._removed(error):
                return self._bring_up_to_date(stored, None, expunge=False, anew=False)
            return apart
        return Searchable(committed.version, committed.state, rows, OpenIndex(snapshot.index), snapshot.deleted)

    def _write(
        self,
        writer: ChunkWriter,
        before: Snapshot,
        committed: Committed,
        rows: ChunkRows,
        found: Searchable | None,
        *,
        expunge: bool,
    ) -> None:
        """Write what the index lacks."""
        if before.state != committed.state:
            if found is not None and before.state == found.state and committed.changed is not None:
                changes = [(old, new) for old, new in committed.changed.values() if not same_chunk(old, new)]
                written = [new for _, new in changes if new is not None and new.content is not None]
                kept = {document.id for document in written}
                gone = [old.id for old, _ in changes if old is not None and old.content is not None]
                replaced = len(gone)
                gone = [id_ for id_ in gone if id_ not in kept]
            else:
                changed, gone = differences(before, keyed_chunks(rows.documents))
                written = [rows.documents[row] for row in changed]
                # Those written again do not raise the number of chunks.
                replaced = len(gone) + max(0, len(before.chunk_ids) - len(gone) + len(written) - len(rows))
            writer.delete(gone)
            writer.write(keyed_chunks(written))
        else:
            replaced = 0
        deleted = before.deleted + replaced
        expunge = expunge or (deleted > 0 and (len(rows) <= SMALL_INDEX or deleted > DELETED_SHARE * len(rows)))
        writer.commit(expunge=expunge, state=committed.state)
        if expunge and deleted:
            logger.info(
                "{deleted} chunks that are gone were expunged from the index: scores are those of an index built anew",
                deleted=deleted,
            )
        elif deleted:
            logger.info(
                "{deleted} chunks that are gone still count in the scores; they are expunged when they are more than "
                "{share:.0%} of all, or by expunge()",
                deleted=deleted,
                share=DELETED_SHARE,
            )

    def _opened(self) -> UpdatableIndex:
        if self._index is not None and self._place is not None and not self._place.is_dir():
            self.close()  # Somebody has removed the folder.
        if self._index is None:
            with nullcontext() if self._place is None or self._place.is_dir() else self._locked():
                self._index = open_updatable(self._backend, self._place, self._settings)
        return self._index

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._folder is None:
            yield
            return
        with FileLock(self._folder / _LOCK, timeout=_WAIT):
            yield

    def _apart(self, committed: Committed, rows: ChunkRows) -> Searchable:
        """An index of its own, built for this process alone."""
        return Searchable(committed.version, committed.state, rows, self._without_folder.open(rows))

    def _in_spite_of(
        self, error: Exception, committed: Committed, rows: ChunkRows, found: Searchable | None
    ) -> Searchable:
        """Search with an index of this process alone, where the one for all cannot be read or written."""
        if found is not None and len(found.rows) == len(rows) and found.rows.digest == rows.digest:
            made = Searchable(committed.version, committed.state, rows, found.opened, found.deleted)
        else:
            made = self._apart(committed, rows)  # If the engine is missing, it says so here, and only this.
        logger.warning("The saved index is not used: {error}", error=error)
        return made

    def _removed(self, error: Exception) -> bool:
        """Remove an index that cannot be used, so that it is built anew; False where it must stay or is busy."""
        if self._folder is None or self._place is None or isinstance(error, Timeout | WriterBusy):
            return False
        try:
            with FileLock(self._folder / _LOCK, timeout=0):
                remove(self._place)
        except (OSError, Timeout) as kept:
            logger.info("The index stays as it is, it cannot be removed: {error}", error=kept)
            return False
        return True


def _rows(committed: Committed, found: Searchable | None) -> ChunkRows:
    changed = committed.changed
    if found is None or changed is None or len(changed) * _MANY > len(found.rows):
        return ChunkRows(committed.documents)
    return found.rows.changed(changed.values())
