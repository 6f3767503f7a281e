"""The table of transferred programs, as Markdown and CSV."""

import csv
import io

from autoindex_haystack.evaluation.metrics import TITLES
from autoindex_haystack.experiments.transfer import METRICS, Transfer, Used
from autoindex_haystack.report.tables import LEVEL


def transfer_as_markdown(found: Transfer) -> str:
    """Write the table as Markdown, with a line that says what it shows.

    :param found: The figures.
    :returns: The text.
    """
    head = ["program", "used"]
    for metric in METRICS:
        head += [f"{TITLES[metric]} validation", "held-out", "Δ"]
    head += ["growth", "adopted", "seconds"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(_cells(row, found.rows[0])) + " |" for row in found.rows]
    legend = (
        f"{found.queries['validation']} validation and {found.queries['held_out']} held-out queries. Δ: gain on the "
        f"held-out ones relative to the full documents; *: differs from them (paired t-test, Holm's correction for all "
        f"rows, p < {LEVEL})."
    )
    errors = [f"{row.program}, {row.use}: {row.error}" for row in found.rows if row.error]
    return "\n\n".join([f"# Transfer to {found.collection}", legend, "\n".join(lines), *errors]) + "\n"


def transfer_as_csv(found: Transfer) -> str:
    """Write all figures unrounded, one line a row and metric.

    :param found: The figures.
    :returns: The text.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        "collection program learned_on used metric validation held_out difference low high p_value p_corrected growth "
        "adopted seconds error".split()
    )
    for row in found.rows:
        for metric in METRICS:
            writer.writerow([found.collection, row.program, row.learned_on, row.use, metric, *_unrounded(row, metric)])
    return stream.getvalue()


def _cells(row: Used, baseline: Used) -> list[str]:
    cells = [row.program.replace("|", "\\|"), row.use]
    for metric in METRICS:
        if row.error:
            cells += ["failed", "", ""]
            continue
        before, after = baseline.held_out[metric], row.held_out[metric]
        gain = "" if row is baseline or not before else f"{after / before - 1:+.1%}"
        mark = "*" if row.p_values.get(metric, 1.0) < LEVEL else ""
        cells += [f"{row.validation[metric]:.4f}", f"{after:.4f}", gain + mark]
    growth = "" if row.growth is None else f"{row.growth:.2f}"
    return [*cells, growth, "" if row.adopted is None else str(row.adopted), f"{row.seconds:.0f}"]


def _unrounded(row: Used, metric: str) -> list[object]:
    difference = row.differences.get(metric)
    figures: list[object] = [row.validation.get(metric), row.held_out.get(metric)]
    figures += [difference.mean, difference.low, difference.high, difference.p_value] if difference else [None] * 4
    return [*figures, row.p_values.get(metric), row.growth, row.adopted, row.seconds, row.error]
