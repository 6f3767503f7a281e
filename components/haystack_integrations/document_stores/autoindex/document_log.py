"""The file in which a document store keeps its documents: append-only, so that a kill at any moment loses nothing
committed.

The first line says what the file is. A transaction is any number of lines ``{"put": document}`` and ``{"delete":
[ids]}``; it takes effect with its line ``{"commit": digest}``, which is written only after the others have reached the
disk. What a killed writer left behind is closed by the next writer with ``{"abort": true}``, so readers can always go
on from where they stopped. Only compaction puts a new file in the place of the old one.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout
from haystack import Document
from pydantic import BaseModel, ValidationError
from xxhash import xxh3_64, xxh3_128_hexdigest

from autoindex_haystack.errors import RunError
from autoindex_haystack.files import atomic_file
from autoindex_haystack.retrieval import BM25Settings
from haystack_integrations.document_stores.autoindex.errors import StoreError
from haystack_integrations.document_stores.autoindex.log_lines import (
    CHECKSUM_LENGTH,
    decode_document,
    decode_line,
    encode_document,
    encode_line,
)
from haystack_integrations.document_stores.autoindex.transaction import Transaction

FORMAT_VERSION = 1
_LOG, _LOCK = "documents.log", "write.lock"
_LOCK_SECONDS = 60.0


class LogHeader(BaseModel):
    """The first line of the log.

    :param backend: The engine that searches the documents.
    :param settings: BM25 parameters and analyzer.
    """

    format_version: int = FORMAT_VERSION
    backend: str
    settings: BM25Settings

    def __str__(self) -> str:
        settings = self.settings
        return f"{self.backend} with k1={settings.k1:g}, b={settings.b:g}, analyzer={settings.analyzer}"


class DocumentLog:
    """The log of one store. Not for several threads at once: the store takes turns.

    :param folder: The store's folder; made with the first write.
    :param header: What the log must say of itself, and what a new log will say.
    :raises StoreError: If there is a log of another engine or with other settings.
    """

    def __init__(self, folder: Path, header: LogHeader) -> None:
        self._folder, self._path = folder, folder / _LOG
        self._lock = FileLock(folder / _LOCK)
        self._header = header
        self._file: BinaryIO | None = None
        self.close()
        if self._open() and self._file and (line := self._file.readline()).endswith(b"\n"):
            self._check_header(line)
        self.close()

    def read(self) -> list[Transaction]:
        """Read what was committed since the last call.

        :returns: The transactions, oldest first.
        :raises StoreError: If the log is damaged or cannot be read.
        """
        found = [Transaction(anew=True)] if self._open() else []
        if self._file is None or self._size == self._position:
            return found
        self._file.seek(self._position)
        while (line := self._file.readline()).endswith(b"\n"):
            if self._position == 0:
                self._check_header(line)
            elif committed := self._take(line):
                found.append(committed)
            self._position += len(line)
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer. Read first of all, before anything is decided.

        :raises StoreError: If the folder cannot be written or another process does not stop writing.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=_LOCK_SECONDS)
        except Timeout as error:
            msg = f"another process has been writing to {self._folder} for {_LOCK_SECONDS:g} seconds; try again later"
            raise StoreError(msg) from error
        except OSError as error:
            raise self._unusable("written", error) from error
        try:
            yield
        finally:
            self._lock.release()

    def append(self, transaction: Transaction) -> None:
        """Write one transaction; afterwards it is on the disk. The lock must be held and the log read to its end.

        :param transaction: The changes.
        :raises StoreError: If the file cannot be written; then nothing has changed.
        :raises ValueError: If a document cannot be written as JSON; then nothing has changed.
        """
        new = self._position == 0
        try:
            with self._path.open("ab") as file:
                if new:
                    file.truncate(0)
                    file.write(self._header_line())
                elif self._pending or self._broken or file.tell() > self._position:
                    # The mark makes sure that what was cut off is not completed, not even a commit.
                    file.write(b"#\n" if file.tell() > self._position else b"")
                    file.write(encode_line({"abort": True}))
                digest = _write(file, transaction)
                end = file.tell()
            if new:
                _sync_folder(self._folder)
        except OSError as error:
            raise self._unusable("written", error) from error
        self._is_at(end, self.entries + len(transaction), _chained("" if new else self.state, digest))

    def rewrite(self, documents: Iterable[Document]) -> None:
        """Put a log in place that holds these documents and nothing else. The lock must be held.

        :param documents: The documents.
        :raises StoreError: If the file cannot be written; then nothing has changed.
        """
        transaction = Transaction(written=list(documents))
        try:
            for unfinished in self._folder.glob(f".{_LOG}.*"):
                unfinished.unlink()
            with atomic_file(self._path) as temporary, temporary.open("wb") as file:
                file.write(self._header_line())
                digest = _write(file, transaction)
                end = file.tell()
            _sync_folder(self._folder)
        except (RunError, OSError) as error:
            raise self._unusable("written", error) from error
        self._is_at(end, len(transaction), _chained("", digest))

    def close(self) -> None:
        """Forget what was read and release the file. Reading afterwards begins anew."""
        if self._file is not None:
            self._file.close()
        self._file = None
        self._identity = (0, 0)
        self._position = self._size = self.entries = 0
        self.state = ""
        """Hash of all commits so far, in their order: the same in all processes that have read as far."""
        self._forget()

    def _forget(self) -> None:
        """Drop the transaction that is being read."""
        self._pending, self._digest, self._broken = Transaction(), xxh3_64(), False

    def _is_at(self, position: int, entries: int, state: str) -> None:
        """Go on behind what this process has just written itself."""
        self._open()
        self._position, self.entries, self.state = position, entries, state
        self._forget()

    def _open(self) -> bool:
        """Open the file that has the log's name now; True if it is another one than before.

        The file stays open, so that its inode is not given to a file that replaces it.
        """
        try:
            status = self._path.stat()
            self._size = status.st_size
            if self._file and (status.st_dev, status.st_ino) == self._identity:
                return False
            self.close()
            self._file = self._path.open("rb")
            status = os.fstat(self._file.fileno())
            self._size, self._identity = status.st_size, (status.st_dev, status.st_ino)
        except FileNotFoundError:
            was_there = self._file is not None
            self.close()
            return was_there
        except OSError as error:
            raise self._unusable("read", error) from error
        return True

    def _take(self, line: bytes) -> Transaction | None:
        """Take in one line; the transaction that it commits, if it does."""
        entry = decode_line(line)
        if entry is None:
            # No fault yet: it is one only if a commit follows.
            self._broken = True
        elif "abort" in entry:
            self._forget()
        elif "commit" in entry:
            if self._broken or entry["commit"] != self._digest.hexdigest():
                msg = f"{self._path} is damaged before byte {self._position:,}; restore it or index the documents again"
                raise StoreError(msg)
            committed = self._pending
            self.entries += len(committed)
            self.state = _chained(self.state, entry["commit"])
            self._forget()
            return committed
        else:
            self._digest.update(line[:CHECKSUM_LENGTH])
            self._pending.deleted += entry.get("delete", ())
            if "put" in entry:
                self._pending.written.append(decode_document(entry["put"]))
        return None

    def _header_line(self) -> bytes:
        return encode_line(self._header.model_dump(mode="json"))

    def _check_header(self, line: bytes) -> None:
        try:
            found = LogHeader.model_validate(decode_line(line))
        except ValidationError as error:
            msg = f"{self._path} is no document log or its first line is damaged; choose another folder"
            raise StoreError(msg) from error
        if found.format_version != FORMAT_VERSION:
            msg = f"{self._path} has format {found.format_version}, this version reads {FORMAT_VERSION}"
            raise StoreError(msg)
        if found != self._header:
            msg = f"{self._folder} holds documents for {found}; it cannot be opened as {self._header}"
            raise StoreError(msg)

    def _unusable(self, how: str, error: Exception) -> StoreError:
        reason = getattr(error, "strerror", None) or error
        return StoreError(f"the document store in {self._folder} cannot be {how}: {reason}")


def _write(file: BinaryIO, transaction: Transaction) -> str:
    """Write a transaction, its commit only after the rest is on the disk; returns what the commit says."""
    digest = xxh3_64()
    if transaction.deleted:
        line = encode_line({"delete": transaction.deleted})
        digest.update(line[:CHECKSUM_LENGTH])
        file.write(line)
    for document in transaction.written:
        line = encode_document(document)
        digest.update(line[:CHECKSUM_LENGTH])
        file.write(line)
    _sync(file)
    file.write(encode_line({"commit": digest.hexdigest()}))
    _sync(file)
    return digest.hexdigest()


def _chained(state: str, commit: str) -> str:
    return xxh3_128_hexdigest(f"{state} {commit}".encode())


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make sure that the names of new files in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
