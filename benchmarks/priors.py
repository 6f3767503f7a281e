"""Make the table of what helped on which kind of documents, from run folders of the built-in proposer.

    .venv/bin/python benchmarks/priors.py ../shared/datasets/cranfield=RUN ../shared/datasets/npl_vaswani=RUN ...

Each argument is ``COLLECTION=RUN``: a collection's folder and a finished run on it. Only the journal is read, and with
it the validation queries' figures alone; the corpus tells its kind. The table names no collection: a row carries hashes
of a few texts of its corpus, by which a corpus, and what shares documents with it, is never advised by its own row. So
each collection is advised by the others alone. It replaces the one that comes with the package unless ``--out`` says
where to.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from autoindex_haystack.collection import load_collection
from autoindex_haystack.proposers.builtin import priors
from autoindex_haystack.proposers.builtin.profile import profile_corpus
from autoindex_haystack.runs import read_journal

METRICS = ("recall@100", "ndcg@10")
ORIGIN = (
    "benchmarks/priors.py, from runs of the built-in proposer: changes of Recall@100 and nDCG@10 on validation queries "
    "by programs that changed one transform of the baseline"
)
SHIPPED = Path(priors.__file__).with_suffix(".json")

Changes = dict[str, float]
"""Metric to its change."""


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="COLLECTION=RUN...")
@click.option("--out", type=click.Path(path_type=Path), default=SHIPPED, help="Default: the package's own table.")
def main(runs: tuple[str, ...], out: Path) -> None:
    """Write the table."""
    rows = [row(*map(Path, run.split("="))) for run in runs]
    rows.sort(key=lambda found: found["corpus"])
    out.write_text(json.dumps({"origin": ORIGIN, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    click.echo(f"{len(rows)} rows, {sum(len(found['gain']) for found in rows)} gains")


def row(folder: Path, run: Path) -> dict[str, Any]:
    """One collection's row."""
    profile = profile_corpus(load_collection(folder).documents)
    gains: dict[str, list[Changes]] = defaultdict(list)
    surplus: dict[str, list[Changes]] = defaultdict(list)
    for transform, gain, forecast in tries(run):
        gains[transform].append(gain)
        if forecast:
            surplus[transform].append({metric: gain[metric] - forecast[metric] for metric in METRICS})
    best = {name: max(values, key=lambda gain: sum(gain.values())) for name, values in sorted(gains.items())}
    return {
        "corpus": sorted(profile.sketch),
        "kind": priors.kind_of(profile),
        "gain": {name: rounded(gain) for name, gain in best.items()},
        "surplus": {name: rounded(mean(values)) for name, values in sorted(surplus.items())},
    }


def tries(run: Path) -> list[tuple[str, Changes, Changes | None]]:
    """What was tried that changed one transform of the baseline: its changes, and the forecast ones."""
    records = read_journal(run)
    figures = {record["program"]: record["metrics"] for record in records if record["record"] == "evaluation"}
    baseline = next(iter(figures))
    plans: dict[str, dict[str, Any]] = {}
    found = []
    for record in records:
        if record["record"] == "evidence":
            # Forecasts of a later round are of another incumbent.
            plans = {plan["idea"]: plan for plan in record.get("forecasts", ())}
        plan = plans.get(record.get("idea", ""))
        if record["record"] != "candidate" or record["parents"] != [baseline] or plan is None:
            continue
        if plan["kind"] == "addition" and record["program"] in figures:
            gain = {metric: figures[record["program"]][metric] - figures[baseline][metric] for metric in METRICS}
            forecast = plan["forecast"]
            promised = {"recall@100": forecast["recall"], "ndcg@10": forecast["ndcg"]} if forecast else None
            found.append((plan["transforms"][-1], gain, promised))
    return found


def mean(changes: list[Changes]) -> Changes:
    """The mean of changes, metric by metric."""
    return {metric: sum(change[metric] for change in changes) / len(changes) for metric in METRICS}


def rounded(change: Changes) -> Changes:
    """A change as it is written down."""
    return {metric: round(value, 4) + 0.0 for metric, value in change.items()}


if __name__ == "__main__":
    main()
