"""The tables of an experiment as Markdown, CSV and LaTeX: collections in columns, conditions in rows."""

import csv
import io
from collections.abc import Sequence

from autoindex_haystack.evaluation.metrics import TITLES
from autoindex_haystack.experiments.grid import Summary
from autoindex_haystack.experiments.grid.summary import Figure, Row

LEVEL = 0.05
"""Corrected p-values below this are marked."""


def as_markdown(summary: Summary) -> str:
    """Write the tables as Markdown, with a line that says what they show.

    :param summary: The experiment's figures.
    :returns: The text.
    """
    parts = [f"# {summary.name}", _legend(summary, "*")]
    for metric, rows in summary.tables.items():
        cells = _cells(summary, rows, mark="*", times="×", plus_minus=" ± ")
        lines = ["| " + " | ".join(cells[0]) + " |", "|---" * len(cells[0]) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in cells[1:]]
        parts += [f"## {TITLES[metric]}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def as_latex(summary: Summary) -> str:
    """Write the tables as LaTeX, for the package booktabs.

    :param summary: The experiment's figures.
    :returns: The text.
    """
    parts = []
    for metric, rows in summary.tables.items():
        cells = _cells(summary, rows, mark="$^*$", times="$\\times$", plus_minus=" $\\pm$ ")
        head, *body = [[_escaped(cell) for cell in row] for row in cells]
        lines = [" & ".join(head) + r" \\", r"\midrule", *(" & ".join(row) + r" \\" for row in body)]
        caption = _escaped(f"{TITLES[metric]}. {_legend(summary, '$^*$')}")
        parts.append(
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{caption}}}",
                    rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
                    r"\toprule",
                    *lines,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def as_csv(summary: Summary) -> str:
    """Write all figures unrounded, one line for each metric, condition and collection.

    :param summary: The experiment's figures.
    :returns: The text.
    """
    stream = io.StringIO()
    names = [f"gain_{reference}" for reference in summary.references]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["metric", "condition", "collection", "mean", "std", *names, "p_value", "runs", "tokens", "seconds"]
    )
    for metric, rows in summary.tables.items():
        for row in rows:
            for collection, figure in row.figures.items():
                gains = [figure.gains.get(reference, "") for reference in summary.references]
                own = ["" if value is None else value for value in (figure.std, figure.p_value)]
                cost = [row.runs, row.tokens, row.seconds]
                writer.writerow([metric, row.condition, collection, figure.mean, own[0], *gains, own[1], *cost])
    return stream.getvalue()


def _legend(summary: Summary, mark: str) -> str:
    text = "Means over held-out queries, ± standard deviation over runs."
    if summary.references:
        text += f" Δ: relative gain of the mean against {' and '.join(summary.references)}."
    if "full_document" in summary.references:
        text += f" {mark}: differs from full_document (paired t-test over queries, Holm's correction, p < {LEVEL})."
    return text


def _cells(summary: Summary, rows: Sequence[Row], *, mark: str, times: str, plus_minus: str) -> list[list[str]]:
    """The head and the rows as text; each condition is followed by a row of gains for each reference."""
    table = [["condition", *summary.collections, "mean", "runs", "tokens a run", "seconds a run"]]
    for row in rows:
        figures = [_figure(row.figures[name], mark, plus_minus) for name in summary.collections]
        cost = [str(row.runs), f"{row.tokens:,.0f}", f"{row.seconds:,.0f}"]
        table.append([row.condition, *figures, f"{row.macro:.4f}", *cost])
        for reference in summary.references:
            gains = [row.figures[name].gains.get(reference) for name in summary.collections]
            if any(gain is not None for gain in gains):
                mean = _gain(row.gains.get(reference))
                table.append([f"Δ {reference}", *map(_gain, gains), mean, "", "", ""])
    return table


def _figure(figure: Figure, mark: str, plus_minus: str) -> str:
    spread = "" if figure.std is None else f"{plus_minus}{figure.std:.4f}"
    differs = figure.p_value is not None and figure.p_value < LEVEL
    return f"{figure.mean:.4f}{spread}{mark if differs else ''}"


def _gain(gain: float | None) -> str:
    return "" if gain is None else f"{gain:+.1%}"


def _escaped(cell: str) -> str:
    """A cell for LaTeX; what is mathematics already stays."""
    for character, written in (
        ("%", r"\%"),
        ("_", r"\_"),
        ("&", r"\&"),
        ("#", r"\#"),
        ("Δ", r"$\Delta$"),
        ("±", r"$\pm$"),
    ):
        cell = cell.replace(character, written)
    return cell.replace("p < ", "$p<$ ")
