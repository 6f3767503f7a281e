"""Reads chunks for analyzers that Python has to be asked about, once for each distinct piece."""

import secrets
import threading
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.pieces import add_entries, count_pieces, find_pieces
from autoindex_haystack.evaluation.exact.scan import Found
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.texts import Utf8Texts

ENTRIES = 1 << 19
"""Pieces that are remembered."""

_LONGEST = 64
"""Bytes of a piece that is remembered: longer ones seldom come again."""

_SPARSE = 4
"""Slots an entry."""


class _Pieces:
    """What is known of pieces; see :func:`find_pieces` and :func:`count_pieces` for the arrays.

    They have their full size from the start, of which the system gives only what is written to; so one thread may read
    while another adds.

    :param entries: How many fit; a power of two.
    """

    def __init__(self, entries: int) -> None:
        self.count = 0
        self.slots = np.zeros(_SPARSE * entries, np.int32)
        self.sizes = np.empty(entries, np.int32)
        self.starts = np.zeros(entries + 1, np.int64)
        self.words = np.empty(entries * -(-_LONGEST // 8), np.uint64)
        self.tokens = np.empty(entries, np.int32)
        self.firsts = np.zeros(entries + 1, np.int64)
        # No more tokens than bytes.
        self.wanted = np.empty(entries * _LONGEST, np.int32)


class PieceScanner:
    """Reads chunks for the Lucene analyzers.

    :param terms: The terms of the queries.
    :param analyzer: The analyzer's name.
    :param entries: How many pieces are remembered at most; a power of two. When they are more, all are forgotten.
    """

    def __init__(self, terms: Sequence[str], analyzer: str, entries: int = ENTRIES) -> None:
        self._numbers = {term: i for i, term in enumerate(terms)}
        self._analyzer = analyzer
        self._entries = entries
        # New every time: programs, which cannot see it, cannot make pieces of the same hash.
        self._seed = np.uint64(secrets.randbits(64))
        self._pieces = _Pieces(entries)
        self._lock = threading.Lock()

    def scan(self, texts: Utf8Texts, chosen: NDArray[np.intp]) -> Found:
        """Read chunks. May be called by several threads at once.

        :param texts: Chunks.
        :param chosen: shape (chunks,): which of them to read.
        :returns: What was found in these.
        """
        known = self._pieces
        begins, ends = texts.bounds[chosen], texts.bounds[chosen + 1]
        size = int((ends - begins).sum())
        # A piece has at least one byte, and no more tokens than bytes.
        room = max(1, size)
        stream, bounds = np.empty(room, np.int32), np.empty(len(chosen) + 1, np.int64)
        new_begins, new_ends = np.empty(room, np.int64), np.empty(room, np.int64)
        new_slots = np.zeros(1 << (2 * room).bit_length(), np.int32)
        new = find_pieces(
            texts.data, begins, ends, self._seed, known.slots, known.sizes, known.starts, known.words, new_slots,
            stream, bounds, new_begins, new_ends,
        )  # fmt: skip
        new_begins, new_ends = new_begins[:new].copy(), new_ends[:new].copy()
        analyzed = self._analyze(texts.data, new_begins, new_ends)
        lengths, counts = np.empty(len(chosen), np.int32), np.empty(len(chosen), np.int32)
        found, times = np.empty(room, np.int32), np.empty(room, np.int32)
        postings = count_pieces(
            stream, bounds, known.tokens, known.firsts, known.wanted, *analyzed, len(self._numbers),
            lengths, counts, found, times,
        )  # fmt: skip
        with self._lock:
            if known.count == self._entries:
                self._pieces = _Pieces(self._entries)
            known = self._pieces
            known.count = add_entries(
                texts.data, new_begins, new_ends, *analyzed, _LONGEST, self._seed, known.count, known.slots,
                known.sizes, known.starts, known.words, known.tokens, known.firsts, known.wanted,
            )  # fmt: skip
        return Found(lengths, counts, found[:postings].copy(), times[:postings].copy())

    def _analyze(
        self, data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        """How many tokens pieces have, and which terms of queries; as :func:`count_pieces` takes them."""
        numbers, encoded = self._numbers, data.data
        tokens, rows = [], []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            found = tokenize(str(encoded[begin:end], "utf-8"), self._analyzer)
            tokens.append(len(found))
            rows.append([numbers[token] for token in found if token in numbers])
        firsts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(list(map(len, rows)), out=firsts[1:])
        wanted = np.fromiter(chain.from_iterable(rows), np.int32, int(firsts[-1]))
        return np.array(tokens, np.int32), firsts, wanted
