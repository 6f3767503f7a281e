"""What helped on other collections, by kind of document: a small shipped table, with its origin.

Each row was measured on the validation queries of one collection: what each transform alone gained at best, and by how
much that was more than was forecast. A row carries a sketch of its corpus, and neither a corpus nor a part of it learns
from its own row. ``benchmarks/priors.py`` makes the table.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.proposers.builtin.profile import Profile
from autoindex_haystack.proposers.builtin.worth import worth

_TABLE = "priors.json"

_SHRINK = 2.0
"""Rows' worth of doubt: a mean over n rows counts n / (n + this)."""

_MOST = 0.03
"""What a row says at most of a transform: one collection where it changes all does not speak for others."""

_OTHER_KIND = 0.5
"""What a row of another kind of documents counts beside one of the same kind."""

Changes = Mapping[str, Mapping[str, float]]
"""Transform to metric to its change."""


@dataclass(frozen=True)
class Row:
    """What one collection showed.

    :param corpus: The sketch of its corpus, see :class:`~autoindex_haystack.proposers.builtin.profile.Profile`.
    :param kind: The kind of its documents, see :func:`kind_of`.
    :param gain: Transform to metric to what it added to the baseline at best.
    :param surplus: Transform to metric to what it added beyond what was forecast, on average.
    """

    corpus: Sequence[str]
    kind: str
    gain: Changes
    surplus: Changes


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

    def gains(self, profile: Profile, objective: Objective) -> dict[str, float]:
        """Say what transforms may gain on a corpus.

        :param profile: The corpus's profile.
        :param objective: What the search maximizes.
        :returns: Worth by transform; a row of the same corpus, or of one that shares documents, counts nothing.
        """
        return self._means(profile, objective, lambda row: row.gain)

    def surplus(self, profile: Profile, objective: Objective) -> dict[str, float]:
        """Say by how much transforms do better than their forecast.

        :param profile: The corpus's profile.
        :param objective: What the search maximizes.
        :returns: Worth by transform; a row of the same corpus, or of one that shares documents, counts nothing.
        """
        return self._means(profile, objective, lambda row: row.surplus)

    def _means(self, profile: Profile, objective: Objective, column: Callable[[Row], Changes]) -> dict[str, float]:
        """Weighted means of a column by transform, shrunk to 0 where few rows have it."""
        kind = kind_of(profile)
        others = [row for row in self.rows if profile.sketch.isdisjoint(row.corpus)]
        rows = [(column(row), 1.0 if row.kind == kind else _OTHER_KIND) for row in others]
        found = {}
        for transform in sorted({name for values, _ in rows for name in values}):
            seen = [
                (max(-_MOST, min(_MOST, worth(values[transform], objective))), weight)
                for values, weight in rows
                if transform in values
            ]
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
        what = profile.heading
    else:
        what = "text"
    return f"{what} {'long' if profile.long > 0.5 else 'short'}"
