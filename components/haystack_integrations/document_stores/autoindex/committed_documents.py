"""The documents of a store as they are committed now: in memory, and in a log where the store has a folder."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from haystack import Document

from haystack_integrations.document_stores.autoindex.document_log import DocumentLog
from haystack_integrations.document_stores.autoindex.transaction import Transaction

_SLACK = 1_000
"""Entries that a log may have beyond twice its documents before it is written anew."""


class CommittedDocuments:
    """Documents by id for many readers and one writer at a time, in this process and in others. Usable from several
    threads.

    :param log: Where they are kept; None keeps them in memory only.
    """

    def __init__(self, log: DocumentLog | None) -> None:
        self._log = log
        self._documents: dict[str, Document] = {}
        self._version = 0
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._writing = False

    def version(self) -> int:
        """Returns a number that is another one after every change, by this process or another."""
        with self._lock:
            self._refresh()
            return self._version

    def snapshot(self) -> tuple[int, list[Document]]:
        """Returns the version and its documents, in the order in which they were first written."""
        with self._lock:
            self._refresh()
            return self._version, list(self._documents.values())

    @contextmanager
    def writing(self) -> Iterator[Mapping[str, Document]]:
        """Be the only writer; others may read meanwhile.

        :returns: A context manager that gives the documents by id; :meth:`commit` changes them.
        :raises StoreError: If the folder cannot be written or another process does not stop writing.
        """
        with self._write_lock, self._log.locked() if self._log else nullcontext():
            with self._lock:
                self._refresh()
                # From here on the log is the writer's: what it has written so far is not to be read.
                self._writing = True
            try:
                yield self._documents
            finally:
                self._writing = False

    def commit(self, transaction: Transaction) -> None:
        """Make a transaction durable, then visible. Only within :meth:`writing`.

        :param transaction: The changes.
        :raises StoreError: If the folder cannot be written; then nothing has changed.
        :raises ValueError: If a document cannot be stored as JSON; then nothing has changed.
        """
        if not transaction:
            return
        if self._log:
            self._log.append(transaction)
        with self._lock:
            self._apply(transaction)
        if self._log and self._log.entries > 2 * len(self._documents) + _SLACK:
            self._log.rewrite(self._documents.values())

    def clear(self) -> None:
        """Delete all documents, durably. Only within :meth:`writing`."""
        if self._log:
            self._log.rewrite([])
        with self._lock:
            self._apply(Transaction(anew=True))

    def close(self) -> None:
        """Release the log; the next use opens it again."""
        if self._log:
            with self._write_lock, self._lock:
                self._log.close()

    def _refresh(self) -> None:
        if self._log and not self._writing:
            for transaction in self._log.read():
                self._apply(transaction)

    def _apply(self, transaction: Transaction) -> None:
        if transaction.anew:
            self._documents.clear()
        for id_ in transaction.deleted:
            self._documents.pop(id_, None)
        self._documents.update((document.id, document) for document in transaction.written)
        self._version += 1
