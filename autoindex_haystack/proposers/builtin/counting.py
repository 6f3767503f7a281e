"""Counting terms in texts that have most of their lines in common with texts that were counted before."""

from collections import Counter
from collections.abc import Set

from autoindex_haystack.retrieval.analyzers import tokenize

_MOST_CHARACTERS = 48_000_000
_OVERHEAD = 200
"""Characters of lines that are kept, and what keeping one costs beside its characters."""

_Counted = tuple[int, tuple[tuple[str, int], ...]]


class TermCounter:
    """Counts some terms and all tokens of texts. No token reaches over a line's end, so a line is tokenized once.

    :param terms: The terms.
    :param analyzer: The analyzer's name.
    """

    def __init__(self, terms: Set[str], analyzer: str) -> None:
        self._terms = terms
        self._analyzer = analyzer
        self._known: dict[str, _Counted] = {}
        self._characters = 0

    def count(self, text: str) -> tuple[int, dict[str, int]]:
        """Count the terms of a text.

        :param text: The text.
        :returns: How many tokens it has, and how often each of the terms that it has occurs.
        """
        length = 0
        counts: dict[str, int] = {}
        for line in text.split("\n"):
            size, found = self._known.get(line) or self._count(line)
            length += size
            for term, count in found:
                counts[term] = counts.get(term, 0) + count
        return length, counts

    def _count(self, line: str) -> _Counted:
        tokens = tokenize(line, self._analyzer)
        counted = len(tokens), tuple(Counter(filter(self._terms.__contains__, tokens)).items())
        self._characters += len(line) + _OVERHEAD
        if self._characters > _MOST_CHARACTERS:
            self._known.clear()
            self._characters = len(line) + _OVERHEAD
        self._known[line] = counted
        return counted
