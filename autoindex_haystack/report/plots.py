"""The figures of an experiment, as SVG and PNG: how searches went, and what each condition gains."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.metrics import TITLES
from autoindex_haystack.experiments.grid import Summary
from autoindex_haystack.experiments.grid.progress import Tried

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".svg", ".png")

_COLUMNS = 3
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which people with any colour vision can tell apart."""


def plot_progress(runs: Mapping[str, Sequence[Sequence[Tried]]], metric: str, place: Path) -> list[Path]:
    """Plot what candidates gained on validation: filled where adopted, open where not, and the incumbent as a line.

    :param runs: Collection to runs to their candidates.
    :param metric: The metric that was read.
    :param place: Where to write, without suffix.
    :returns: The files.
    :raises RunError: If matplotlib is missing.
    """
    pyplot = _pyplot()
    rows = -(-len(runs) // _COLUMNS)
    columns = min(_COLUMNS, len(runs))
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3 * rows), squeeze=False)
    for axis, (collection, searches) in zip(axes.flat, runs.items(), strict=False):
        for number, search in enumerate(searches):
            _draw_search(axis, search, _COLOURS[number % len(_COLOURS)])
        axis.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        axis.set_title(collection)
        axis.set_xlabel("iteration")
        axis.set_ylabel(f"Δ {TITLES[metric]} in %")
    for axis in axes.flat[len(runs) :]:
        axis.set_axis_off()
    return _save(figure, place)


def _draw_search(axis: "Axes", search: Sequence[Tried], colour: str) -> None:
    points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    line = [(0.0, 0.0)]
    for iteration in sorted({tried.iteration for tried in search}):
        same = [tried for tried in search if tried.iteration == iteration]
        for place, tried in enumerate(same):
            x = iteration - 0.35 + 0.7 * (place + 0.5) / len(same)
            points[tried.adopted].append((x, 100 * tried.gain))
            if tried.adopted:
                line.append((x, 100 * tried.gain))
    for adopted, found in points.items():
        if found:
            face = colour if adopted else "none"
            xs, ys = zip(*found, strict=True)
            axis.scatter(xs, ys, s=22, facecolors=face, edgecolors=colour, linewidths=0.9, zorder=2)
    last = max((tried.iteration for tried in search), default=0) + 0.5
    axis.step(*zip(*line, (last, line[-1][1]), strict=True), where="post", color=colour, linewidth=1.2)


def plot_gains(summary: Summary, metric: str, place: Path) -> list[Path]:
    """Plot each condition's relative gain against ``full_document`` on each collection, and the mean.

    :param summary: The experiment's figures; error bars are one standard deviation over runs.
    :param metric: The metric.
    :param place: Where to write, without suffix.
    :returns: The files; none when there is nothing to compare.
    :raises RunError: If matplotlib is missing.
    """
    reference = "full_document"
    rows = [row for row in summary.tables[metric] if reference in row.gains]
    if not rows:
        return []
    pyplot = _pyplot()
    names = [*summary.collections, "mean"]
    figure, axis = pyplot.subplots(figsize=(max(5.0, 1.2 * len(names)), 3.4))
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        figures = [row.figures[name] for name in summary.collections]
        gains = [figure.gains[reference] for figure in figures]
        # The gain is mean / reference - 1, so its spread is the mean's by the reference.
        spreads = [(f.std or 0.0) * (1 + g) / f.mean if f.mean else 0.0 for f, g in zip(figures, gains, strict=True)]
        places = [i - 0.4 + width * (number + 0.5) for i in range(len(names))]
        axis.bar(
            places,
            [100 * gain for gain in (*gains, row.gains[reference])],
            width,
            yerr=[100 * spread for spread in (*spreads, 0.0)],
            label=row.condition,
            color=_COLOURS[number % len(_COLOURS)],
            error_kw={"elinewidth": 0.8, "capsize": 2},
        )
    axis.axhline(0, color="0.3", linewidth=0.8)
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axis.set_ylabel(f"Δ {TITLES[metric]} in %")
    axis.legend(frameon=False, fontsize="small")
    return _save(figure, place)


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        msg = 'figures need matplotlib; install it with: pip install "autoindex-haystack[plots]"'
        raise RunError(msg) from None
    mpl.use("Agg")
    # The same figures give the same files.
    mpl.rcParams["svg.hashsalt"] = "autoindex"
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, place: Path) -> list[Path]:
    figure.tight_layout()
    paths = [place.with_name(place.name + suffix) for suffix in SUFFIXES]
    for path in paths:
        dated = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=160, metadata=dated)
    _pyplot().close(figure)
    return paths
