"""What an evaluation has to know of chunks, found by reading their bytes once."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.characters import NOTHING, characters
from autoindex_haystack.evaluation.exact.term_table import TermTable
from autoindex_haystack.evaluation.exact.words import scan_words
from autoindex_haystack.retrieval.analyzers import stopwords
from autoindex_haystack.retrieval.texts import Utf8Texts


@dataclass(frozen=True)
class Scan:
    """Lengths of chunks and where which terms occur in them, chunk by chunk.

    :param owners: int64, shape (chunks,): each chunk's document, not decreasing.
    :param lengths: int32, shape (chunks,): tokens of each chunk.
    :param counts: int32, shape (chunks,): terms of the queries that each chunk has.
    :param terms: int32, shape (postings,): these terms.
    :param times: int32, shape (postings,): how often each occurs.
    :param nbytes: Bytes of all chunks.
    """

    owners: NDArray[np.int64]
    lengths: NDArray[np.int32]
    counts: NDArray[np.int32]
    terms: NDArray[np.int32]
    times: NDArray[np.int32]
    nbytes: int

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def memory(self) -> int:
        """Bytes that the arrays take."""
        return sum(array.nbytes for array in (self.owners, self.lengths, self.counts, self.terms, self.times))

    @classmethod
    def joined(cls, parts: Sequence["Scan"]) -> "Scan":
        """Put scans of different documents together.

        :param parts: Scans; no document is in two of them.
        """
        parts = sorted((part for part in parts if len(part)), key=lambda part: part.owners[0])
        if not parts:
            none = np.empty(0, np.int32)
            return cls(np.empty(0, np.int64), none, none, none, none, 0)
        whole = cls(
            np.concatenate([part.owners for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.times for part in parts]),
            sum(part.nbytes for part in parts),
        )
        return whole if (np.diff(whole.owners) >= 0).all() else whole._in_order()

    def _in_order(self) -> "Scan":
        """The same, documents in order."""
        order = np.argsort(self.owners, kind="stable")
        counts = self.counts[order]
        # Each chunk's postings move as one: by as much as their first.
        firsts = (np.cumsum(self.counts, dtype=np.int64) - self.counts)[order]
        moved = np.cumsum(counts, dtype=np.int64) - counts
        places = np.arange(len(self.terms)) + np.repeat(firsts - moved, counts)
        return Scan(
            self.owners[order], self.lengths[order], counts, self.terms[places], self.times[places], self.nbytes
        )


class Found(NamedTuple):
    """Lengths of some chunks and where which terms occur in them; see :class:`Scan`."""

    lengths: NDArray[np.int32]
    counts: NDArray[np.int32]
    terms: NDArray[np.int32]
    times: NDArray[np.int32]


class Scanner(Protocol):
    """Reads chunks for one analyzer."""

    def scan(self, texts: Utf8Texts, chosen: NDArray[np.intp]) -> Found:
        """Read chunks. May be called by several threads at once.

        :param texts: Chunks.
        :param chosen: shape (chunks,): which of them to read.
        :returns: What was found in these.
        """


class WordScanner:
    """Reads chunks for the ``bm25s`` analyzer.

    :param terms: The terms of the queries.
    """

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = len(terms)
        self._table = TermTable.of(terms, sorted(stopwords()))
        self._much = NOTHING

    def scan(self, texts: Utf8Texts, chosen: NDArray[np.intp]) -> Found:
        """Read chunks. May be called by several threads at once.

        :param texts: Chunks.
        :param chosen: shape (chunks,): which of them to read.
        :returns: What was found in these.
        """
        table = self._table
        begins, ends = texts.bounds[chosen], texts.bounds[chosen + 1]
        lengths, counts = np.empty(len(chosen), np.int32), np.empty(len(chosen), np.int32)
        # A token has at least two bytes and one between it and the next.
        room = int((ends - begins).sum()) // 3 + len(chosen)
        terms, times = np.empty(room, np.int32), np.empty(room, np.int32)
        while True:
            much = self._much
            found = scan_words(
                texts.data,
                begins,
                ends,
                table.slots,
                table.sizes,
                table.starts,
                table.words,
                table.numbers,
                table.longest,
                self._terms,
                characters(much),
                much,
                lengths,
                counts,
                terms,
                times,
            )
            if found >= 0:
                return Found(lengths, counts, terms[:found].copy(), times[:found].copy())
            self._much = max(self._much, -found)


def cores() -> int:
    """Returns on how many cores this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
