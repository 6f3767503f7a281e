"""Engine indexes that a document store keeps beside its log, so that another process need not build them again."""

import re
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from haystack import logging

from autoindex_haystack.errors import BackendError
from autoindex_haystack.files import remove
from autoindex_haystack.retrieval import BM25Settings, Index, get_backend
from haystack_integrations.document_stores.autoindex.chunk_rows import ChunkRows
from haystack_integrations.document_stores.autoindex.committed_documents import CommittedDocuments
from haystack_integrations.document_stores.autoindex.searchable import OpenIndex, Searchable

logger = logging.getLogger(__name__)

_LOCK = "index.lock"
_NAME = re.compile(r"index-[0-9a-f]{32}|\.index-[0-9a-f]{32}\..*")
"""Folders of indexes, finished or not. A user may have given a folder that holds others; those are not touched."""


class Indexes(Protocol):
    """Where the index of a store's documents comes from."""

    def searchable(self, stored: CommittedDocuments, found: Searchable | None) -> Searchable:
        """Give the documents that are committed now with their index.

        :param stored: The documents.
        :param found: What was given before.
        :returns: The documents and the index.
        :raises BackendError: If the engine is missing or fails.
        """

    def close(self) -> None:
        """Let go of all files; the next search opens them again."""


class IndexCache:
    """The indexes of one store: found by the digest of what they index, built where there is none.

    :param folder: The store's folder; None for a store in memory.
    :param backend: Name of the engine.
    :param settings: BM25 parameters and analyzer.
    """

    def __init__(self, folder: Path | None, backend: str, settings: BM25Settings) -> None:
        self._folder, self._backend, self._settings = folder, backend, settings

    def searchable(self, stored: CommittedDocuments, found: Searchable | None) -> Searchable:
        committed = stored.snapshot()
        rows = ChunkRows(committed.documents)
        # A change of meta alone needs new rows, for the filters, but no new index.
        same = found is not None and found.opened.digest == rows.digest
        opened = found.opened if found and same else self.open(rows)
        return Searchable(committed.version, committed.state, rows, opened)

    def close(self) -> None:
        pass

    def open(self, rows: ChunkRows) -> OpenIndex:
        """Load the index of these rows, or build it and save it for others.

        :param rows: What to index.
        :returns: The index.
        :raises BackendError: If the engine is missing or fails.
        """
        index = self._load(rows)
        if index is None:
            index = get_backend(self._backend).build(rows.table(), self._settings)
            if len(rows):
                self._save(index, rows)
            elif self._folder is not None:
                logger.warning(
                    "{folder} holds no documents, so every search is empty; index some, or check the path",
                    folder=str(self._folder),
                )
        return OpenIndex(index, rows.digest)

    def _place(self, rows: ChunkRows) -> Path | None:
        return None if self._folder is None else self._folder / f"index-{rows.digest}"

    def _load(self, rows: ChunkRows) -> Index | None:
        place = self._place(rows)
        if place is None or not place.is_dir():
            return None
        try:
            index = get_backend(self._backend).load(place)
        except BackendError as error:
            logger.warning("The saved index is not used and will be built anew: {error}", error=error)
            return None
        if index.settings == self._settings and len(index) == len(rows):
            return index
        index.close()
        return None

    def _save(self, index: Index, rows: ChunkRows) -> None:
        """Save an index and remove those of other states. Searching goes on without, where that cannot be done."""
        place = self._place(rows)
        if place is None:
            return
        try:
            # Whoever holds the lock has made every other folder; what it left unfinished is free to go.
            with FileLock(place.parent / _LOCK, timeout=0):
                for other in place.parent.iterdir():
                    if _NAME.fullmatch(other.name):
                        remove(other)
                index.save(place)
        except Timeout:
            logger.debug("Another process is saving the index of {folder}", folder=str(place.parent))
        except (OSError, BackendError) as error:
            logger.info("The index stays in memory, it cannot be saved: {error}", error=error)
