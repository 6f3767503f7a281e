"""What the built-in proposer gains on held-out queries: the table of the README.

    .venv/bin/python benchmarks/held_out.py ../shared/datasets --split-seeds 0,1,2 --runs runs --out table.md

runs ``autoindex optimize`` with its defaults on each collection and split, and writes a row for each, then the means.
Run folders are kept under ``--runs`` (a temporary folder when not given); a run that is finished there is not made
again. ``--known-only`` makes a table of these alone.
"""

import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from commands import COLLECTIONS, run_json

METRICS = ("recall@100", "ndcg@10")
HEAD = (
    "| collection | split | Recall@100 | learned | gain | p | nDCG@10 | learned | gain | p | adopted | growth | "
    "seconds |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)
TINY = "gcide_reverse_full"
"""Its baseline is so small that a relative gain says little, so means are told without it as well."""

Result = dict[str, Any]


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=COLLECTIONS, help="A folder in DATASETS; repeatable.")
@click.option("--split-seeds", default="0", show_default=True, help="Seeds of the splits, separated by commas.")
@click.option("--runs", type=click.Path(path_type=Path), help="Where to keep the run folders.")
@click.option("--known-only", is_flag=True, help="Only tell of runs that are there.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
def main(
    datasets: Path, names: tuple[str, ...], split_seeds: str, runs: Path | None, known_only: bool, out: Path | None
) -> None:
    """Learn on each collection of DATASETS and tell the held-out figures."""
    runs = runs or Path(tempfile.mkdtemp(prefix="autoindex-runs-"))
    seeds = [int(seed) for seed in split_seeds.split(",")]
    results: dict[int, list[Result]] = {}
    for seed in seeds:
        for name in names:
            run = runs / f"{name}-{seed}"
            if (run / "result.json").is_file():
                result = json.loads((run / "result.json").read_text(encoding="utf-8"))
            elif known_only:
                continue
            else:
                result = run_json("optimize", datasets / name, "--out", run, "--split-seed", seed, "--force")
            results.setdefault(seed, []).append(result)
            click.echo(row(result, seed), err=True)
    rows = [row(result, seed) for name in names for seed in seeds for result in results[seed] if is_of(result, name)]
    text = "\n".join([HEAD, *rows]) + "\n\n" + summary(results) + "\n"
    click.echo(text)
    if out:
        out.write_text(text, encoding="utf-8")


def is_of(result: Result, name: str) -> bool:
    """Whether a result is of a collection."""
    return bool(result["collection"] == name)


def row(result: Result, seed: int) -> str:
    """One line of the table."""
    before, after = result["baseline"]["held_out"], result["learned"]["held_out"]
    cells = [result["collection"], str(seed)]
    for metric in METRICS:
        p_value = result["differences"][metric]["p_value"]
        cells += [f"{before[metric]:.3f}", f"{after[metric]:.3f}", f"{relative(result, metric):+.1%}", f"{p_value:.2g}"]
    cells += [str(result["adopted"]), f"{result['growth']:.2f}", f"{result['seconds']['total']:.0f}"]
    return f"| {' | '.join(cells)} |"


def summary(results: dict[int, list[Result]]) -> str:
    """The means of each split seed, and their median where there are several."""
    lines = ["| mean of | split | collections | Recall@100 | nDCG@10 |", "|---|---|---|---|---|"]
    for label, gain, left_out, form in (
        ("relative gains", relative, "", "+.1%"),
        (f"relative gains without {TINY}", relative, TINY, "+.1%"),
        ("absolute gains", absolute, "", "+.4f"),
    ):
        found = {seed: means([r for r in of if r["collection"] != left_out], gain) for seed, of in results.items()}
        for seed, values in found.items():
            count = sum(result["collection"] != left_out for result in results[seed])
            lines.append(f"| {label} | {seed} | {count} | " + " | ".join(format(v, form) for v in values) + " |")
        if len(found) > 1:
            medians = [statistics.median(values[i] for values in found.values()) for i in range(len(METRICS))]
            lines.append(f"| {label} | median | | " + " | ".join(format(v, form) for v in medians) + " |")
    return "\n".join(lines)


def means(results: list[Result], gain: Callable[[Result, str], float]) -> list[float]:
    """The mean gain of each metric."""
    return [statistics.fmean(gain(result, metric) for result in results) for metric in METRICS]


def absolute(result: Result, metric: str) -> float:
    """The held-out gain."""
    return float(result["learned"]["held_out"][metric] - result["baseline"]["held_out"][metric])


def relative(result: Result, metric: str) -> float:
    """The held-out gain relative to the baseline."""
    before = result["baseline"]["held_out"][metric]
    return absolute(result, metric) / before if before else 0.0


if __name__ == "__main__":
    main()
