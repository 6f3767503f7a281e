"""Queries × programs: which queries each program does better or worse than the baseline."""

from collections.abc import Sequence
from dataclasses import dataclass

from autoindex_haystack.evaluation.metrics import ROUNDING
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.report.programs import Tried

BETTER, WORSE, SAME, UNKNOWN = "+", "-", "=", "?"


@dataclass(frozen=True)
class Row:
    """A program.

    :param program: Its number among the programs.
    :param cells: A sign for each query.
    """

    program: int
    cells: str

    def count(self, sign: str) -> int:
        """Returns for how many queries the sign stands."""
        return self.cells.count(sign)


@dataclass(frozen=True)
class Heatmap:
    """The whole of it.

    :param queries: Ids of the validation queries: those that most programs help come first.
    :param rows: The programs in the order in which they were tried, the baseline left out.
    :param paths: For each sign one SVG path of unit squares, a column for each query and a row for each program.
    """

    queries: list[str]
    rows: list[Row]
    paths: dict[str, str]


def make_heatmap(programs: Sequence[Tried], objective: Objective) -> Heatmap:
    """Compare each program with the baseline, query by query.

    :param programs: The baseline and the candidates.
    :param objective: What is compared.
    :returns: The heatmap.
    """
    base = {query: objective_value(values, objective) for query, values in programs[0].scores.items()}
    signs: dict[str, list[str]] = {query: [] for query in base}
    for tried in programs[1:]:
        for query, before in base.items():
            values = tried.scores.get(query)
            signs[query].append(UNKNOWN if values is None else _sign(objective_value(values, objective) - before))
    order = sorted(base, key=lambda query: signs[query].count(WORSE) - signs[query].count(BETTER))
    rows = [Row(i + 1, "".join(signs[query][i] for query in order)) for i in range(len(programs) - 1)]
    return Heatmap(order, rows, {sign: _path(rows, sign) for sign in (BETTER, WORSE, UNKNOWN)})


def _sign(difference: float) -> str:
    return BETTER if difference > ROUNDING else WORSE if difference < -ROUNDING else SAME


def _path(rows: Sequence[Row], sign: str) -> str:
    """Neighbours in a row are one rectangle."""
    parts = []
    for y, row in enumerate(rows):
        start = None
        for x, cell in enumerate(row.cells + " "):
            if cell == sign and start is None:
                start = x
            elif cell != sign and start is not None:
                parts.append(f"M{start} {y}h{x - start}v1h-{x - start}z")
                start = None
    return "".join(parts)
