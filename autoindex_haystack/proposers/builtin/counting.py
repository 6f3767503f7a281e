"""Counting terms in texts, by the code that evaluations read chunks with, or in Python where loading that does not pay.

Both count exactly the analyzer's tokens, so that forecasts do not depend on which of them is used.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.readings import is_worth_reading
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.texts import Utf8Texts

if TYPE_CHECKING:
    from autoindex_haystack.evaluation.exact.scan import Scanner

_MOST_CHARACTERS = 48_000_000
_OVERHEAD = 200
"""Characters of lines that are kept, and what keeping one costs beside its characters."""

_Counted = tuple[int, tuple[tuple[int, int], ...]]


class Counts(NamedTuple):
    """The terms of texts.

    :param lengths: int32, shape (texts,): tokens of each text.
    :param counts: int32, shape (texts,): how many of the terms each has.
    :param terms: int32, shape (postings,): these terms by their numbers, text by text.
    :param times: int32, shape (postings,): how often each occurs.
    """

    lengths: NDArray[np.int32]
    counts: NDArray[np.int32]
    terms: NDArray[np.int32]
    times: NDArray[np.int32]


class TermCounter:
    """Counts some terms and all tokens of texts.

    :param terms: The terms; their numbers count from 0.
    :param analyzer: The analyzer's name.
    :param size: Bytes of text, over all calls expected.
    """

    def __init__(self, terms: Sequence[str], analyzer: str, size: int) -> None:
        self._python = _LineCounter(terms, analyzer)
        self._scanner: Scanner | None = None
        if is_worth_reading("bm25s", analyzer, size):
            from autoindex_haystack.evaluation.exact import scanner_for

            self._scanner = scanner_for(terms, analyzer)

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the terms of texts.

        :param texts: The texts.
        :returns: What was found.
        """
        if self._scanner is None:
            return self._python.count(texts)
        try:
            encoded = Utf8Texts.of(texts)
        except UnicodeEncodeError:  # Half a surrogate pair, which is no character that UTF-8 has.
            return self._python.count(texts)
        return Counts(*self._scanner.scan(encoded, np.arange(len(texts))))


class _LineCounter:
    """Counts in Python. No token reaches over a line's end, so a line that comes again is tokenized once."""

    def __init__(self, terms: Sequence[str], analyzer: str) -> None:
        self._numbers = {term: number for number, term in enumerate(terms)}
        self._analyzer = analyzer
        self._known: dict[str, _Counted] = {}
        self._characters = 0

    def count(self, texts: Sequence[str]) -> Counts:
        lengths, rows = [], []
        for text in texts:
            length = 0
            row: dict[int, int] = {}
            for line in text.split("\n"):
                size, found = self._known.get(line) or self._count(line)
                length += size
                for term, count in found:
                    row[term] = row.get(term, 0) + count
            lengths.append(length)
            rows.append(row)
        counts = np.array([len(row) for row in rows], np.int32)
        terms = np.array([term for row in rows for term in row], np.int32)
        times = np.array([times for row in rows for times in row.values()], np.int32)
        return Counts(np.array(lengths, np.int32), counts, terms, times)

    def _count(self, line: str) -> _Counted:
        tokens = tokenize(line, self._analyzer)
        numbers = self._numbers
        counted = len(tokens), tuple(Counter(numbers[token] for token in tokens if token in numbers).items())
        self._characters += len(line) + _OVERHEAD
        if self._characters > _MOST_CHARACTERS:
            self._known.clear()
            self._characters = len(line) + _OVERHEAD
        self._known[line] = counted
        return counted
