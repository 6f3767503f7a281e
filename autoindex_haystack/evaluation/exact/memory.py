"""What was read of documents before, so that a candidate is read only where it differs from former ones.

A document's chunks are known by their hash. What was found in them is kept in one long row of numbers, which begins
anew when it is full, over what is oldest. The row is a file without a name: the system keeps what it can of it in
memory and the rest on disk.
"""

import mmap
import os
import tempfile
import threading

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled
from autoindex_haystack.evaluation.exact.hashing import hash_documents
from autoindex_haystack.evaluation.exact.scan import Found, Scan, Scanner
from autoindex_haystack.retrieval.texts import Utf8Texts

LARGEST = 2 << 30
"""Bytes that the row may have."""

_STEP = 32 << 20
"""Bytes by which it grows."""

_WAYS = 4
"""Outputs that are remembered of each document: those that were met last."""

_WIDTH = 4
"""Bytes of a number."""


class Memory:
    """Reads documents, each output of a document once. Usable by several threads.

    :param scanner: Reads what is not known.
    :param documents: Number of documents of the corpus.
    :param largest: Bytes that may be kept, on disk if they are not all in use.
    :param step: Bytes by which the room for them grows.
    """

    def __init__(self, scanner: Scanner, documents: int, largest: int = LARGEST, step: int = _STEP) -> None:
        self._scanner = scanner
        self._hashes = np.zeros((documents, _WAYS, 2), np.uint64)
        self._places = np.full((documents, _WAYS), -1, np.int64)
        self._row = _Row(largest, step)
        self._lock = threading.Lock()

    def scan(
        self,
        documents: NDArray[np.int64],
        counts: NDArray[np.uint32],
        texts: Utf8Texts,
        digests: NDArray[np.uint64],
    ) -> Scan:
        """Read documents.

        :param documents: int64, shape (documents,): the documents.
        :param counts: uint32, shape (documents,): chunks of each.
        :param texts: All their chunks.
        :param digests: uint64, shape (documents,): takes a hash of each.
        :returns: What was found.
        """
        hashes = hash_documents(counts, texts)
        digests[:] = hashes[:, 0]
        owners = np.repeat(documents, counts)
        with self._lock:
            known, kept = self._recall(documents, counts, hashes)
        chosen = np.flatnonzero(~np.repeat(known, counts))
        fresh = self._scanner.scan(texts, chosen)
        if len(chosen) == len(owners):
            found = fresh
        else:
            found = _merged(known, counts, kept, fresh)
        with self._lock:
            self._remember(documents, counts, hashes, known, fresh)
        return Scan(owners, *found, texts.nbytes)

    def close(self) -> None:
        """Forget everything."""
        self._row.close()

    def _recall(
        self, documents: NDArray[np.int64], counts: NDArray[np.uint32], hashes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], Found]:
        """Which documents are known, and what was found in the chunks of those."""
        places = np.empty(len(documents), np.int64)
        postings = _look_up(documents, hashes, self._hashes, self._places, self._row.oldest, places, self._row.numbers)
        known = places >= 0
        chunks = int(counts[known].sum(dtype=np.int64))
        found = Found(*(np.empty(size, np.int32) for size in (chunks, chunks, postings, postings)))
        _copy_out(places, self._row.numbers, *found)
        return known, found

    def _remember(
        self,
        documents: NDArray[np.int64],
        counts: NDArray[np.uint32],
        hashes: NDArray[np.uint64],
        known: NDArray[np.bool_],
        fresh: Found,
    ) -> None:
        new = np.flatnonzero(~known)
        if not len(new):
            return
        size = 2 * (len(new) + len(fresh.lengths) + len(fresh.terms))
        begin = self._row.place_for(size)
        if begin >= 0:
            _copy_in(
                documents[new], counts[new], hashes[new], *fresh, begin, self._row.numbers, self._hashes, self._places
            )


class _Row:
    """The row of numbers. Places count on when it begins anew, so that it is known what has been written over.

    :param largest: Bytes that it may have.
    :param step: Bytes by which it grows.
    """

    def __init__(self, largest: int, step: int) -> None:
        self._step = step
        self._capacity = max(step, largest) // step * step // _WIDTH
        self._file = tempfile.TemporaryFile(prefix="autoindex-")  # noqa: SIM115 - open as long as the row is used
        self._ready = 0
        self._next = 0
        try:
            os.ftruncate(self._file.fileno(), self._capacity * _WIDTH)
            self.numbers = np.frombuffer(mmap.mmap(self._file.fileno(), self._capacity * _WIDTH), np.int32)
        except OSError:
            # No file or no address space of that size is allowed: a little memory has to do.
            self._ready = self._capacity = step // _WIDTH
            self.numbers = np.empty(self._capacity, np.int32)

    def close(self) -> None:
        """Give the file back as soon as nobody reads the numbers."""
        self._file.close()

    @property
    def oldest(self) -> int:
        """The first place that has not been written over."""
        return self._next - self._capacity

    def place_for(self, size: int) -> int:
        """Returns the place at which so many numbers may be written; -1 if there is no room for so many at all."""
        if size > self._capacity:
            return -1
        if self._next % self._capacity + size > self._capacity:
            self._next += self._capacity - self._next % self._capacity
        begin = self._next
        end = begin % self._capacity + size
        while self._ready < end:
            try:
                os.posix_fallocate(self._file.fileno(), self._ready * _WIDTH, self._step)
            except OSError:
                # The disk is full: what there is has to do.
                return -1
            self._ready += self._step // _WIDTH
        self._next = begin + size
        return begin


def _merged(known: NDArray[np.bool_], counts: NDArray[np.uint32], kept: Found, fresh: Found) -> Found:
    """Put what was kept of known documents and what was found in the others in order."""
    found = Found(*(np.empty(len(a) + len(b), np.int32) for a, b in zip(kept, fresh, strict=True)))
    _interleave(known, counts, *kept, *fresh, *found)
    return found


@compiled
def _look_up(documents, hashes, all_hashes, all_places, oldest, places, numbers):  # type: ignore[no-untyped-def]
    """Find where each document is kept, -1 for those that are not; what is found becomes the one met last.

    :returns: The number of postings that are kept of all.
    """
    postings = 0
    for i in range(len(documents)):
        document = documents[i]
        places[i] = -1
        for way in range(_WAYS):
            place = all_places[document, way]
            if (
                place >= max(oldest, 0)
                and all_hashes[document, way, 0] == hashes[i, 0]
                and all_hashes[document, way, 1] == hashes[i, 1]
            ):
                places[i] = place % len(numbers)
                postings += numbers[places[i] + 1]
                _to_front(document, way, hashes[i], place, all_hashes, all_places)
                break
    return postings


@compiled
def _to_front(document, way, own, place, all_hashes, all_places):  # type: ignore[no-untyped-def]
    for other in range(way, 0, -1):
        all_hashes[document, other] = all_hashes[document, other - 1]
        all_places[document, other] = all_places[document, other - 1]
    all_hashes[document, 0] = own
    all_places[document, 0] = place


@compiled
def _copy_out(places, numbers, lengths, counts, terms, times):  # type: ignore[no-untyped-def]
    chunk, posting = np.int64(0), np.int64(0)
    for place in places:
        if place >= 0:
            chunks, postings = numbers[place], numbers[place + 1]
            at = place + 2
            lengths[chunk : chunk + chunks] = numbers[at : at + chunks]
            counts[chunk : chunk + chunks] = numbers[at + chunks : at + 2 * chunks]
            at += 2 * chunks
            terms[posting : posting + postings] = numbers[at : at + postings]
            times[posting : posting + postings] = numbers[at + postings : at + 2 * postings]
            chunk += chunks
            posting += postings


@compiled
def _copy_in(  # type: ignore[no-untyped-def]
    documents, chunks_of, hashes, lengths, counts, terms, times, place, numbers, all_hashes, all_places
):
    chunk, posting = np.int64(0), np.int64(0)
    for i in range(len(documents)):
        chunks = np.int64(chunks_of[i])
        postings = np.int64(counts[chunk : chunk + chunks].sum())
        at = place % len(numbers)
        numbers[at] = chunks
        numbers[at + 1] = postings
        numbers[at + 2 : at + 2 + chunks] = lengths[chunk : chunk + chunks]
        numbers[at + 2 + chunks : at + 2 + 2 * chunks] = counts[chunk : chunk + chunks]
        after = at + 2 + 2 * chunks
        numbers[after : after + postings] = terms[posting : posting + postings]
        numbers[after + postings : after + 2 * postings] = times[posting : posting + postings]
        _to_front(documents[i], _WAYS - 1, hashes[i], place, all_hashes, all_places)
        place += 2 + 2 * chunks + 2 * postings
        chunk += chunks
        posting += postings


@compiled
def _interleave(  # type: ignore[no-untyped-def]
    known, chunks_of, lengths, counts, terms, times, lengths_2, counts_2, terms_2, times_2, all_lengths, all_counts,
    all_terms, all_times,
):  # fmt: skip
    """The first four are of known documents, the next four of the others, the last four take all."""
    chunk, posting, chunk_2, posting_2 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(known)):
        for _ in range(chunks_of[i]):
            to, at = chunk + chunk_2, posting + posting_2
            if known[i]:
                all_lengths[to], all_counts[to] = lengths[chunk], counts[chunk]
                for _ in range(counts[chunk]):
                    all_terms[at], all_times[at] = terms[posting], times[posting]
                    at += 1
                    posting += 1
                chunk += 1
            else:
                all_lengths[to], all_counts[to] = lengths_2[chunk_2], counts_2[chunk_2]
                for _ in range(counts_2[chunk_2]):
                    all_terms[at], all_times[at] = terms_2[posting_2], times_2[posting_2]
                    at += 1
                    posting_2 += 1
                chunk_2 += 1
