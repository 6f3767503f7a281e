"""The documents of a store as they are committed now: in memory, and in a log where the store has a folder."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from haystack import Document

from haystack_integrations.document_stores.autoindex.document_log import DocumentLog
from haystack_integrations.document_stores.autoindex.transaction import Transaction

_SLACK = 1_000
"""Entries that a log may have beyond twice its documents before it is written anew."""


_LATEST = 20_000
"""How many of the latest changes are kept, beside the very last transaction, to tell what changed since a version."""


@dataclass(frozen=True)
class Committed:
    """The documents at one moment.

    :param version: Another number after every change, in this process.
    :param state: Another text after every change; the same in all processes that see the same commits.
    :param documents: The documents, in the order in which they were first written.
    :param changed: By id, what was there at an earlier version and what is there now, for all that was written or
        deleted since; None where that is not known.
    """

    version: int
    state: str
    documents: list[Document]
    changed: dict[str, tuple[Document | None, Document | None]] | None


class CommittedDocuments:
    """Documents by id for many readers and one writer at a time, in this process and in others. Usable from several
    threads.

    :param log: Where they are kept; None keeps them in memory only.
    """

    def __init__(self, log: DocumentLog | None) -> None:
        self._log = log
        self._documents: dict[str, Document] = {}
        self._version = 0
        self._replaced: dict[int, dict[str, Document | None]] = {}
        """By version, what its transaction replaced; the latest ones."""
        self._replacements = 0
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._writing = False

    def version(self) -> int:
        """Returns a number that is another one after every change, by this process or another."""
        with self._lock:
            self._refresh()
            return self._version

    def snapshot(self, since: int | None = None) -> Committed:
        """Look at what is committed now.

        :param since: A version of before, to be told what changed since.
        :returns: The documents.
        """
        with self._lock:
            self._refresh()
            state = self._log.state if self._log else f"version {self._version}"
            return Committed(self._version, state, list(self._documents.values()), self._changed(since))

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
        self._version += 1
        if transaction.anew:
            self._replaced, self._replacements = {}, 0
            self._documents.clear()
        else:
            touched = [*transaction.deleted, *(document.id for document in transaction.written)]
            self._replaced[self._version] = {id_: self._documents.get(id_) for id_ in touched}
            self._replacements += len(self._replaced[self._version])
            while len(self._replaced) > 1 and self._replacements > _LATEST:
                self._replacements -= len(self._replaced.pop(next(iter(self._replaced))))
        for id_ in transaction.deleted:
            self._documents.pop(id_, None)
        self._documents.update((document.id, document) for document in transaction.written)

    def _changed(self, since: int | None) -> dict[str, tuple[Document | None, Document | None]] | None:
        if since is None:
            return None
        before: dict[str, Document | None] = {}
        for version in range(self._version, since, -1):
            if version not in self._replaced:
                return None
            before |= self._replaced[version]
        return {id_: (document, self._documents.get(id_)) for id_, document in before.items()}
