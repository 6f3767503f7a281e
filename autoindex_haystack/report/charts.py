"""Charts as coordinates that the template draws as SVG: every point can be reached, read and opened."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autoindex_haystack.report.programs import Tried

WIDTH, HEIGHT = 720.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 12.0, 42.0
"""Margins around the plot, in units of the SVG."""

_TICKS = 6


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Point:
    """A program in a chart.

    :param program: Its number among the programs.
    :param fate: What became of it; says how it is drawn.
    :param text: What it is, for pointer, keyboard and screen reader.
    :param marked: Whether it stands out beyond its fate.
    """

    x: float
    y: float
    program: int
    fate: str
    text: str
    marked: bool = False


@dataclass(frozen=True)
class Chart:
    """A scatter plot.

    :param path: A line through the plot, as an SVG path.
    :param levels: Horizontal lines with their labels.
    :param separators: Vertical lines between groups.
    """

    name: str
    x_title: str
    y_title: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    points: list[Point]
    path: str = ""
    levels: list[Tick] = field(default_factory=list)
    separators: list[float] = field(default_factory=list)
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True)
class Tree:
    """Which program was made of which: iterations from left to right.

    :param edges: SVG paths from parent to child; true for those to an adopted program.
    """

    width: float
    height: float
    points: list[Point]
    edges: list[tuple[str, bool]]
    columns: list[Tick]


def progress_chart(programs: Sequence[Tried], objective: str) -> Chart:
    """Plot the gain of each candidate over the baseline: filled where adopted, open where not.

    :param programs: The baseline and the candidates.
    :param objective: The objective's name.
    :returns: The chart.
    """
    shown = [(i, tried) for i, tried in enumerate(programs) if tried.gain is not None]
    y = _Scale([100 * (tried.gain or 0) for _, tried in shown], HEIGHT - BOTTOM, TOP, include=0.0)
    place, ticks, separators = _places(programs)
    points = [
        Point(place(i), y(100 * (tried.gain or 0)), i, tried.fate, summary(tried))
        for i, tried in shown
        if tried.fate != "baseline"
    ]
    line, best = [f"M{LEFT:.1f} {y(0):.1f}"], 0.0
    for i, tried in shown:
        if tried.fate == "adopted":
            line.append(f"H{place(i):.1f}")
            best = 100 * (tried.gain or 0)
            line.append(f"V{y(best):.1f}")
    line.append(f"H{WIDTH - RIGHT:.1f}")
    return Chart(
        name="Gain on the validation queries, candidate by candidate",
        x_title="iteration",
        y_title=f"gain in {objective} × 100",
        x_ticks=ticks,
        y_ticks=y.ticks("{:+g}"),
        points=points,
        path="".join(line),
        levels=[Tick(y(0), "baseline")],
        separators=separators,
    )


def growth_chart(programs: Sequence[Tried], limit: float | None) -> Chart:
    """Plot the size of the index text, candidate by candidate.

    :param programs: The baseline and the candidates.
    :param limit: The most that an adopted program may have; None without a limit.
    :returns: The chart.
    """
    shown = [(i, tried.growth) for i, tried in enumerate(programs) if tried.growth is not None]
    y = _Scale([*(growth for _, growth in shown), *([limit] if limit else [])], HEIGHT - BOTTOM, TOP, include=0.0)
    place, ticks, separators = _places(programs)
    levels = [Tick(y(1), "the corpus"), *([Tick(y(limit), "limit")] if limit else [])]
    return Chart(
        name="Size of the index text, candidate by candidate",
        x_title="iteration",
        y_title="times the corpus",
        x_ticks=ticks,
        y_ticks=y.ticks("{:g}"),
        points=[Point(place(i), y(growth), i, programs[i].fate, summary(programs[i])) for i, growth in shown],
        levels=levels,
        separators=separators,
    )


def pareto_chart(programs: Sequence[Tried], front: set[str]) -> Chart:
    """Plot Recall@100 against the size of the index text.

    :param programs: The baseline and the candidates.
    :param front: Hashes of the programs that no other one beats in Recall@100, nDCG@10, size and time.
    :returns: The chart; programs of the front are marked.
    """
    shown, seen = [], set()
    for i, tried in enumerate(programs):
        if tried.metrics and tried.growth is not None and tried.sha256 not in seen:
            seen.add(tried.sha256)
            shown.append((i, tried.growth, tried.metrics["recall@100"]))
    x = _Scale([growth for _, growth, _ in shown], LEFT, WIDTH - RIGHT)
    y = _Scale([recall for _, _, recall in shown], HEIGHT - BOTTOM, TOP)
    points = [
        Point(x(growth), y(recall), i, programs[i].fate, summary(programs[i]), programs[i].sha256 in front)
        for i, growth, recall in shown
    ]
    # Marked ones are drawn last, on top.
    points.sort(key=lambda point: (point.marked, point.program))
    return Chart(
        name="Recall@100 against the size of the index text",
        x_title="index text, times the corpus",
        y_title="Recall@100, validation",
        x_ticks=x.ticks("{:g}"),
        y_ticks=y.ticks("{:g}"),
        points=points,
    )


def program_tree(programs: Sequence[Tried]) -> Tree:
    """Lay out which program was made of which.

    :param programs: The baseline and the candidates.
    :returns: The tree: a column for each iteration.
    """
    column, row, top = 76.0, 24.0, 34.0
    iterations = sorted({tried.iteration for tried in programs})
    x_of = {iteration: 40 + column * i for i, iteration in enumerate(iterations)}
    rows: dict[int, int] = {}
    points: list[Point] = []
    places: dict[str, tuple[float, float]] = {}
    edges: list[tuple[str, bool]] = []
    for i, tried in enumerate(programs):
        number = rows.get(tried.iteration, 0)
        rows[tried.iteration] = number + 1
        x, y = x_of[tried.iteration], top + row * number
        known = [places[parent] for parent in tried.parents if parent in places]
        edges += [(_edge(*place, x, y), tried.fate == "adopted") for place in known if place != (x, y)]
        # The same program may be suggested again; its children come from where it was first.
        places.setdefault(tried.sha256, (x, y))
        if tried.fate == "adopted":
            places[tried.sha256] = (x, y)
        points.append(Point(x, y, i, tried.fate, summary(tried)))
    columns = [Tick(x, "baseline" if iteration == 0 else f"{iteration}") for iteration, x in x_of.items()]
    edges.sort(key=lambda edge: edge[1])
    return Tree(80 + column * (len(iterations) - 1), top + row * max(rows.values()), points, edges, columns)


def summary(tried: Tried) -> str:
    """Say in a line what a program is and what became of it.

    :param tried: The program.
    :returns: The line.
    """
    if tried.fate == "baseline":
        return f"baseline: validation objective {tried.value:.4f}"
    figures = []
    if tried.gain is not None:
        figures.append(f"{'about ' if tried.fate == 'dropped' else ''}{tried.gain:+.4f}")
    if tried.growth is not None:
        figures.append(f"{tried.growth:.2f} times the corpus")
    return f"{tried.label}, {tried.fate}{''.join(f', {figure}' for figure in figures)}: {tried.idea[:160]}"


def _edge(x1: float, y1: float, x2: float, y2: float) -> str:
    if x1 == x2:  # Of the same iteration, as the parts of a combination are.
        return f"M{x1 - 6:.0f} {y1:.0f}C{x1 - 26:.0f} {y1:.0f} {x2 - 26:.0f} {y2:.0f} {x2 - 6:.0f} {y2:.0f}"
    middle = (x1 + x2) / 2 if x2 - x1 < 90 else x2 - 38
    return f"M{x1 + 6:.0f} {y1:.0f}C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {x2 - 6:.0f} {y2:.0f}"


def _places(programs: Sequence[Tried]) -> tuple[Callable[[int], float], list[Tick], list[float]]:
    """Where candidates stand from left to right, in the order in which they were tried, grouped by iteration."""
    count = max(1, len(programs) - 1)
    step = (WIDTH - LEFT - RIGHT) / count

    def place(i: int) -> float:
        return LEFT + step * max(0.0, i - 0.5)

    groups: dict[int, list[int]] = {}
    for i, tried in enumerate(programs[1:], start=1):
        groups.setdefault(tried.iteration, []).append(i)
    every = max(1, math.ceil(len(groups) / 20))
    ticks = [
        Tick((place(members[0]) + place(members[-1])) / 2, str(iteration))
        for number, (iteration, members) in enumerate(groups.items())
        if number % every == 0
    ]
    separators = [LEFT + step * (members[0] - 1) for members in list(groups.values())[1:]]
    return place, ticks, separators


class _Scale:
    """From values to places on an axis, with ticks at round values.

    :param values: What has to have a place.
    :param low: Where the axis begins.
    :param high: Where it ends.
    :param include: A value that shall be on the axis.
    """

    def __init__(self, values: Sequence[float], low: float, high: float, *, include: float | None = None) -> None:
        known = [*values, *([include] if include is not None else [])] or [0.0]
        least, most = min(known), max(known)
        if least == most:
            least, most = least - 0.5, most + 0.5
        rough = (most - least) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        self._step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
        self._first = math.floor(least / self._step)
        self._last = math.ceil(most / self._step)
        self._low, self._unit = low, (high - low) / ((self._last - self._first) * self._step)

    def __call__(self, value: float) -> float:
        return self._low + (value - self._first * self._step) * self._unit

    def ticks(self, form: str) -> list[Tick]:
        """Returns the ticks, labelled by a format."""
        values = [round(self._step * n, 10) for n in range(self._first, self._last + 1)]
        return [Tick(self(value), form.format(value) if value else "0") for value in values]
