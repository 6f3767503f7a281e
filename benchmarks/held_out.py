"""What the built-in proposer gains on held-out queries: the table of the README.

    .venv/bin/python benchmarks/held_out.py ../shared/datasets --out table.md

runs ``autoindex optimize`` with its defaults on each collection and writes a row for each, then the means. Each run's
folder is kept under ``--runs`` (a temporary folder when not given).
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

import click
from commands import COLLECTIONS, run_json

METRICS = ("recall@100", "ndcg@10")
HEAD = (
    "| collection | Recall@100 | learned | gain | nDCG@10 | learned | gain | adopted | seconds |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=COLLECTIONS, help="A folder in DATASETS; repeatable.")
@click.option("--split-seed", default=0, show_default=True)
@click.option("--runs", type=click.Path(path_type=Path), help="Where to keep the run folders.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
def main(datasets: Path, names: tuple[str, ...], split_seed: int, runs: Path | None, out: Path | None) -> None:
    """Learn on each collection of DATASETS and tell the held-out figures."""
    runs = runs or Path(tempfile.mkdtemp(prefix="autoindex-runs-"))
    results = []
    for name in names:
        run = runs / f"{name}-{split_seed}"
        result = run_json("optimize", datasets / name, "--out", run, "--split-seed", split_seed, "--force")
        results.append(result)
        click.echo(row(result), err=True)
    table = "\n".join([HEAD, *map(row, results), means(results)]) + "\n"
    click.echo(table)
    if out:
        out.write_text(table, encoding="utf-8")


def row(result: dict[str, Any]) -> str:
    """One line of the table."""
    before, after = result["baseline"]["held_out"], result["learned"]["held_out"]
    cells = []
    for metric in METRICS:
        cells += [f"{before[metric]:.3f}", f"{after[metric]:.3f}", f"{gain(result, metric):+.1%}"]
    return f"| {result['collection']} | {' | '.join(cells)} | {result['adopted']} | {result['seconds']['total']:.0f} |"


def means(results: list[dict[str, Any]]) -> str:
    """The line of the mean relative gains."""
    recall, ndcg = (statistics.fmean(gain(result, metric) for result in results) for metric in METRICS)
    return f"| mean | | | {recall:+.1%} | | | {ndcg:+.1%} | | |"


def gain(result: dict[str, Any], metric: str) -> float:
    """The relative held-out gain."""
    before = result["baseline"]["held_out"][metric]
    return result["learned"]["held_out"][metric] / before - 1 if before else 0.0


if __name__ == "__main__":
    main()
