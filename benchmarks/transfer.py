"""How programs that were learned on one collection do on the others: a table for each way of using them.

    .venv/bin/python benchmarks/transfer.py ../shared/datasets --runs runs --results transfer --out table.md

takes the frozen components that ``benchmarks/held_out.py`` left (``RUNS/NAME-0/frozen``), runs ``autoindex transfer``
on each collection with those of all the others, and writes one table for each use: rows are what was learned where,
columns are where it is used. The figures of a collection are kept in ``--results``; what is there is not made again.
"""

import json
import statistics
from pathlib import Path
from typing import Any

import click
from commands import COLLECTIONS, run_json

from autoindex_haystack.evaluation.metrics import TITLES

METRICS = ("recall@100", "ndcg@10")
USES = ("unchanged", "recalibrated", "start of a search")
LEVEL = 0.05

Row = dict[str, Any]


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--runs", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--results", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=COLLECTIONS, help="Where programs are used; repeatable.")
@click.option("--learned-on", "origins", multiple=True, default=COLLECTIONS, help="Where they come from; repeatable.")
@click.option("--iterations", default=2, show_default=True, help="Rounds of each search; none with 0.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the tables; printed as well.")
def main(
    datasets: Path,
    runs: Path,
    results: Path,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    iterations: int,
    out: Path | None,
) -> None:
    """Use what was learned on each collection on all others."""
    results.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Row]] = {}
    for name in names:
        kept = results / f"{name}.json"
        if not kept.is_file():
            programs = [runs / f"{origin}-0" / "frozen" for origin in origins if origin != name]
            made = run_json("transfer", *programs, datasets / name, "--iterations", iterations)
            kept.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        found[name] = json.loads(kept.read_text(encoding="utf-8"))["rows"]
        click.echo(f"{name} is done", err=True)
    tables = [table(found, use, metric) for use in USES for metric in METRICS]
    text = "\n".join(filter(None, tables))
    click.echo(text)
    if out:
        out.write_text(text, encoding="utf-8")


def table(found: dict[str, list[Row]], use: str, metric: str) -> str:
    """One table; empty when no program was used so."""
    origins = list(dict.fromkeys(row["program"] for rows in found.values() for row in rows if row["use"] == use))
    origins = [origin for origin in origins if use == USES[-1] or origin != "full_document"]
    if not origins:
        return ""
    names = list(found)
    lines = [f"{TITLES[metric]}, {use}", "", "| learned on | " + " | ".join(names) + " | mean |"]
    lines.append("|---" * (len(names) + 2) + "|")
    for origin in origins:
        gains = [gain(found[name], origin, use, metric) for name in names]
        known = [value for value, _ in gains if value is not None]
        mean = f"{statistics.fmean(known):+.1%}" if known else ""
        lines.append(f"| {origin} | " + " | ".join(text for _, text in gains) + f" | {mean} |")
    return "\n".join(lines) + "\n"


def gain(rows: list[Row], origin: str, use: str, metric: str) -> tuple[float | None, str]:
    """The held-out gain relative to the full documents, and how it is written: with a star where it is significant."""
    row = next((row for row in rows if (row["program"], row["use"]) == (origin, use)), None)
    if row is None:
        return None, "–"
    if row["error"]:
        return None, "failed"
    before = rows[0]["held_out"][metric]
    value = row["held_out"][metric] / before - 1 if before else 0.0
    return value, f"{value:+.1%}" + ("*" if row["p_values"].get(metric, 1.0) < LEVEL else "")


if __name__ == "__main__":
    main()
