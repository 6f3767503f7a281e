"""Reading a program's chunks in threads while they are still being made."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.scan import Scan
from autoindex_haystack.retrieval.texts import Utf8Texts

Scanner = Callable[[NDArray[np.int64], NDArray[np.uint32], Utf8Texts, NDArray[np.uint64]], Scan]
"""From documents, the number of chunks of each and all chunks to a scan; the last takes a hash of each document."""

_AHEAD = 4
"""Pieces of text a thread that may wait to be read, before the program that makes them has to wait."""


class Reading:
    """Takes pieces of text and has them read; to be used by one thread.

    :param scan: Reads a piece.
    :param documents: Number of documents of the corpus.
    :param pool: The threads.
    :param threads: How many there are.
    """

    def __init__(self, scan: Scanner, documents: int, pool: ThreadPoolExecutor, threads: int) -> None:
        self.digests = np.zeros(documents, np.uint64)
        """uint64, shape (documents,): a hash of each document's chunks; complete when :meth:`finished` is called."""
        self._scan = scan
        self._pool = pool
        self._room = BoundedSemaphore(_AHEAD * threads)
        self._parts: list[Future[Scan]] = []

    def add(self, documents: NDArray[np.int64], counts: NDArray[np.uint32], texts: Utf8Texts) -> None:
        """Have a piece read; waits while too many are waiting.

        :param documents: int64, shape (documents,): documents that no other piece has.
        :param counts: uint32, shape (documents,): chunks of each.
        :param texts: All their chunks.
        """
        self._room.acquire()
        self._parts.append(self._pool.submit(self._read, documents, counts, texts))

    def _read(self, documents: NDArray[np.int64], counts: NDArray[np.uint32], texts: Utf8Texts) -> Scan:
        try:
            digests = np.empty(len(documents), np.uint64)
            scan = self._scan(documents, counts, texts, digests)
            self.digests[documents] = digests
            return scan
        finally:
            self._room.release()

    def finished(self) -> Scan:
        """Wait for all pieces and returns them together; more may be added afterwards."""
        return Scan.joined([part.result() for part in self._parts])
