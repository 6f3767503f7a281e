"""How well the stage of a large corpus tells which candidates are good, and what it costs.

    .venv/bin/autoindex optimize COLLECTION --out RUN --stage-size 0
    .venv/bin/python benchmarks/staging.py COLLECTION RUN --size 2000 --size 4000

takes the programs of a run, in which every candidate was evaluated on everything, runs them over stages of these sizes
and compares the estimated gains over the incumbent with the true ones, round by round: Kendall's tau, whether the best
candidate would have been kept, and the time against that of the whole corpus.
"""

import json
import statistics
import time
from pathlib import Path
from typing import Any

import click
from scipy.stats import kendalltau

from autoindex_haystack.collection import load_collection, load_split
from autoindex_haystack.evaluation import Evaluation, Evaluator
from autoindex_haystack.optimizer import TOLERANCE, SearchSettings
from autoindex_haystack.optimizer.staging import Staging
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.runs import read_journal

COLUMNS = ("collection", "documents", "stage", "rounds", "tau", "best kept", "dropped", "stage time / whole")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--size", "sizes", multiple=True, type=int, default=(4000,), help="Documents of a stage; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(folder: Path, run: Path, sizes: tuple[int, ...], as_json: bool) -> None:
    """Compare estimates on stages of COLLECTION with the evaluations of RUN."""
    collection = load_collection(folder)
    split = load_split(run, collection)
    records = read_journal(run)
    found = []
    with Evaluator(collection) as evaluator:
        for size in sizes:
            measured = measure(evaluator, split.validation, run, records, size)
            found.append({"collection": collection.name, "documents": len(collection.documents), **measured})
            click.echo(row(found[-1]), err=True)
    click.echo(json.dumps(found, indent=1) if as_json else "\n".join([HEAD, *map(row, found)]))


def measure(
    evaluator: Evaluator, queries: tuple[str, ...], run: Path, records: list[dict[str, Any]], size: int
) -> dict[str, Any]:
    """Run the candidates of all rounds over a stage."""
    truth = {record["program"]: record for record in records if record["record"] == "evaluation"}
    staging = Staging(evaluator, queries, SearchSettings(stage_size=size))
    incumbent = builtin_program("full_document")
    taus, kept, dropped, tried, ratios = [], [], 0, 0, []
    for decision in (record for record in records if record["record"] == "decision"):
        staging.prepare(incumbent, whole(evaluator, incumbent, queries, truth), TOLERANCE)
        names = [
            record["program"]
            for record in records
            if record["record"] == "candidate"
            and record["iteration"] == decision["iteration"]
            and not record["combined"]
        ]
        names = [name for name in dict.fromkeys(names) if name in truth]
        assessed = {}
        for place, name in enumerate(names):
            began = time.monotonic()
            assessed[place] = staging.assess(evaluator.begin(program(run, name), queries, staging.ordinals))
            ratios.append((time.monotonic() - began) / sum(truth[name]["seconds"].values()))
        gains = [
            truth[name]["metrics"]["recall@100"] - truth[incumbent.sha256]["metrics"]["recall@100"] for name in names
        ]
        estimates = [assessed[place].gain for place in assessed]
        for name, gain, one in zip(names, gains, assessed.values(), strict=True):
            click.echo(
                f"  {name[:8]} {gain:+.4f} {one.gain:+.4f} +- {one.error:.4f} at most {one.most:+.4f}",
                err=True,
            )
        out = staging.decide(assessed)
        dropped, tried = dropped + len(out), tried + len(names)
        if len(names) > 1:
            taus.append(float(kendalltau(estimates, gains).statistic))
        if names and max(gains) > 0:
            kept.append(gains.index(max(gains)) not in out)
        if decision["adopted"]:
            incumbent = program(run, decision["adopted"])
    return {
        "stage": size,
        "rounds": len(taus),
        "tau": statistics.fmean(taus),
        "best_kept": [sum(kept), len(kept)],
        "dropped": [dropped, tried],
        "time_ratio": statistics.median(ratios),
    }


def whole(
    evaluator: Evaluator, incumbent: Program, queries: tuple[str, ...], truth: dict[str, dict[str, Any]]
) -> Evaluation:
    """The incumbent's evaluation, which has its rankings; the run's journal has none."""
    key = incumbent.sha256
    if not isinstance(truth[key].get("evaluation"), Evaluation):
        truth[key]["evaluation"] = evaluator.evaluate(incumbent, queries)
    found: Evaluation = truth[key]["evaluation"]
    return found


def program(run: Path, sha256: str) -> Program:
    """A program of a run."""
    return Program((run / "programs" / f"{sha256}.py").read_text(encoding="utf-8"))


def row(found: dict[str, Any]) -> str:
    """One line of the table."""
    kept, dropped = ("/".join(map(str, found[name])) for name in ("best_kept", "dropped"))
    cells = (
        found["collection"],
        f"{found['documents']:,}",
        f"{found['stage']:,}",
        found["rounds"],
        f"{found['tau']:.2f}",
        kept,
        dropped,
        f"{found['time_ratio']:.2f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
