"""What helped on other collections, by kind of document: a small shipped table, with its origin.

Each row was measured on the validation queries of one collection: by how much programs with a transform did better than
was forecast. A row carries a fingerprint of its corpus, and a corpus never learns from its own row.
"""

import json
from collections.abc import Mapping, Sequence
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
    :param surplus: Transform to the worth that it had beyond what was expected.
    """

    corpus: str
    kind: str
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
        return cls(tuple(Row(row["corpus"], row["kind"], row["surplus"]) for row in json.loads(text)["rows"]))

    def surplus(self, profile: Profile, documents: Sequence[Document]) -> dict[str, float]:
        """Say what to expect of transforms on a corpus beyond the forecast.

        :param profile: The corpus's profile.
        :param documents: The corpus.
        :returns: Worth by transform; a row of the same corpus counts nothing.
        """
        own, kind = fingerprint(documents), kind_of(profile)
        rows = [(row, 1.0 if row.kind == kind else _OTHER_KIND) for row in self.rows if row.corpus != own]
        found = {}
        for transform in sorted({name for row, _ in rows for name in row.surplus}):
            seen = [(row.surplus[transform], weight) for row, weight in rows if transform in row.surplus]
            total = sum(weight for _, weight in seen)
            mean = sum(value * weight for value, weight in seen) / total
            found[transform] = mean * total / (total + _SHRINK)
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
