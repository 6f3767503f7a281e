"""What helped on other collections, by kind of document: a small shipped table, with its origin.

Each row was measured on the validation queries of one collection: what each transform alone gained at best, and by how
much that was more than was forecast. A row carries a fingerprint of its corpus, and a corpus never learns from its own
row. ``benchmarks/priors.py`` makes the table.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import xxhash

from autoindex_haystack.collection import Document
from autoindex_haystack.proposers.builtin.profile import Profile

_TABLE = "priors.json"

_SHRINK = 2.0
"""Rows' worth of doubt: a mean over n rows counts n / (n + this)."""

_OTHER_KIND = 0.5
"""What a row of another kind of documents counts beside one of the same kind."""


@dataclass(frozen=True)
class Row:
    """What one collection showed.

    :param corpus: Fingerprint of the corpus.
    :param kind: The kind of its documents, see :func:`kind_of`.
    :param gain: Transform to the worth that it added to the baseline at best.
    :param surplus: Transform to the worth that it had beyond what was forecast, on average.
    """

    corpus: str
    kind: str
    gain: Mapping[str, float]
    surplus: Mapping[str, float]


@dataclass(frozen=True)
class Priors:
    """A table of rows.

    :param rows: The rows.
    """

    rows: Sequence[Row] = ()

    @classmethod
    @cache
    def shipped(cls) -> "Priors":
        """Returns the table that comes with the package."""
        text = (files("autoindex_haystack.proposers.builtin") / _TABLE).read_text(encoding="utf-8")
        return cls(tuple(Row(**row) for row in json.loads(text)["rows"]))

    def gains(self, profile: Profile, documents: Sequence[Document]) -> dict[str, float]:
        """Say what transforms may gain on a corpus.

        :param profile: The corpus's profile.
        :param documents: The corpus.
        :returns: Worth by transform; a row of the same corpus counts nothing.
        """
        return self._means(profile, documents, lambda row: row.gain)

    def surplus(self, profile: Profile, documents: Sequence[Document]) -> dict[str, float]:
        """Say by how much transforms do better than their forecast.

        :param profile: The corpus's profile.
        :param documents: The corpus.
        :returns: Worth by transform; a row of the same corpus counts nothing.
        """
        return self._means(profile, documents, lambda row: row.surplus)

    def _means(
        self, profile: Profile, documents: Sequence[Document], column: Callable[[Row], Mapping[str, float]]
    ) -> dict[str, float]:
        """Weighted means of a column by transform, shrunk to 0 where few rows have it."""
        own, kind = fingerprint(documents), kind_of(profile)
        rows = [(column(row), 1.0 if row.kind == kind else _OTHER_KIND) for row in self.rows if row.corpus != own]
        found = {}
        for transform in sorted({name for values, _ in rows for name in values}):
            seen = [(values[transform], weight) for values, weight in rows if transform in values]
            found[transform] = sum(v * weight for v, weight in seen) / (sum(weight for _, weight in seen) + _SHRINK)
        return found


def kind_of(profile: Profile) -> str:
    """Returns the kind of a corpus's documents: their markup, or what fills them, and whether they are long."""
    if profile.markup:
        what = profile.markup
    elif profile.identifiers > 3:
        what = "code"
    elif profile.latex > 0.5:
        what = "latex"
    elif profile.headings > 0.3:
        what = "markdown"
    else:
        what = "text"
    return f"{what} {'long' if profile.long > 0.5 else 'short'}"


def fingerprint(documents: Sequence[Document]) -> str:
    """Returns a hash of a corpus's size and of documents spread over it.

    :param documents: The corpus.
    """
    digest = xxhash.xxh64(str(len(documents)).encode())
    for document in documents[:: max(1, len(documents) // 100)]:
        digest.update(document.text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
