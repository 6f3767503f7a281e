"""What the built-in proposer gains on held-out queries: the table of the README.

    .venv/bin/python benchmarks/held_out.py ../shared/datasets --out table.md

runs ``autoindex optimize`` with its defaults on each collection and writes a row for each, then the means. Each run's
folder is kept under ``--runs`` (a temporary folder when not given).
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

COLLECTIONS = "cranfield theoremqa npl_vaswani medquad_liveqa debian_blends mdn_webfeatures gcide_reverse_full".split()
HEAD = (
    "| collection | Recall@100 | learned | | nDCG@10 | learned | | adopted | seconds |\n"
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
    rows = []
    for name in names:
        result = optimize(datasets / name, runs / f"{name}-{split_seed}", split_seed)
        rows.append(result)
        click.echo(row(result), err=True)
    table = "\n".join([HEAD, *map(row, rows), mean_row(rows)]) + "\n"
    click.echo(table)
    if out:
        out.write_text(table, encoding="utf-8")


def optimize(collection: Path, run: Path, split_seed: int) -> dict:
    """Run the command line and read what it prints."""
    command = [sys.executable, "-m", "autoindex_haystack.cli", "optimize", str(collection), "--out", str(run)]
    command += ["--split-seed", str(split_seed), "--force", "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ})
    return json.loads(done.stdout)


def row(result: dict) -> str:
    """One line of the table."""
    before, after = result["baseline"]["held_out"], result["learned"]["held_out"]
    cells = []
    for metric in ("recall@100", "ndcg@10"):
        cells += [f"{before[metric]:.3f}", f"{after[metric]:.3f}", f"{gain(result, metric):+.1%}"]
    return f"| {result['collection']} | {' | '.join(cells)} | {result['adopted']} | {result['seconds']['total']:.0f} |"


def mean_row(results: list[dict]) -> str:
    """The line of the mean relative gains."""
    recall, ndcg = (
        statistics.fmean(gain(result, metric) for result in results) for metric in ("recall@100", "ndcg@10")
    )
    return f"| mean | | | {recall:+.1%} | | | {ndcg:+.1%} | | |"


def gain(result: dict, metric: str) -> float:
    """The relative held-out gain."""
    before = result["baseline"]["held_out"][metric]
    return result["learned"]["held_out"][metric] / before - 1 if before else 0.0


if __name__ == "__main__":
    main()
