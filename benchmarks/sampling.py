"""How large a sample of a corpus ranks programs right: learning on a part, and validating on more.

    .venv/bin/autoindex optimize COLLECTION --out RUN
    .venv/bin/python benchmarks/sampling.py COLLECTION RUN --share 0.05 --share 0.25

takes programs of a run that were evaluated on the whole corpus, evenly over the order of their objective, evaluates
them again on samples (all documents that are judged for the validation queries, and a random share of the others), and
compares the orders: Kendall's tau, and what is lost when the best on the sample is taken. In a sample fewer documents
compete, so the metric is also taken at the depth that answers to it: a document at rank 100 of the whole is expected at
rank 100 x share of the sample.
"""

import json
import random
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import kendalltau

from autoindex_haystack.collection import Collection, load_collection, load_split
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.program import Program
from autoindex_haystack.runs import read_journal

COLUMNS = ("collection", "documents", "sample", "tau Recall@100", "tau at its depth", "tau nDCG@10", "lost Recall@100")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
DEPTH = 100


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--share", "shares", multiple=True, type=float, default=(0.05, 0.1, 0.25, 0.5), help="Repeatable.")
@click.option("--programs", "number", type=int, default=10, show_default=True, help="How many programs.")
@click.option("--seeds", type=int, default=2, show_default=True, help="Samples of each size.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(folder: Path, run: Path, shares: tuple[float, ...], number: int, seeds: int, as_json: bool) -> None:
    """Compare the order of RUN's programs on samples of COLLECTION with that on all of it."""
    collection = load_collection(folder)
    queries = load_split(run, collection).validation
    truth = chosen(run, number)
    found = []
    for share in shares:
        results = [
            measure(sample(collection, queries, share, seed), queries, run, truth, share) for seed in range(seeds)
        ]
        mean = {name: statistics.mean(result[name] for result in results) for name in results[0]}
        found.append({"collection": collection.name, "documents": len(collection.documents), "share": share, **mean})
        click.echo(row(found[-1]), err=True)
    click.echo(json.dumps(found, indent=1) if as_json else "\n".join([HEAD, *map(row, found)]))


def chosen(run: Path, number: int) -> dict[str, dict[str, float]]:
    """The metrics of programs of a run, evenly over their order; the first and the last are among them."""
    metrics = {r["program"]: r["metrics"] for r in read_journal(run) if r["record"] == "evaluation"}
    ordered = sorted(
        metrics, key=lambda program: (metrics[program]["recall@100"], metrics[program]["ndcg@10"], program)
    )
    places = np.unique(np.linspace(0, len(ordered) - 1, number).round().astype(int))
    return {ordered[place]: metrics[ordered[place]] for place in places}


def sample(collection: Collection, queries: tuple[str, ...], share: float, seed: int) -> Collection:
    """A part of a collection in which every document that is judged for the queries is kept."""
    judged = {document for query in queries for document in collection.qrels[query]}
    others = [i for i, name in enumerate(collection.document_ids) if name not in judged]
    kept = set(random.Random(seed).sample(others, round(share * len(others))))
    documents = [d for i, d in enumerate(collection.documents) if i in kept or d.doc_id in judged]
    return replace(
        collection,
        documents=documents,
        queries={query: collection.queries[query] for query in queries},
        qrels={query: collection.qrels[query] for query in queries},
    )


def measure(
    part: Collection, queries: tuple[str, ...], run: Path, truth: dict[str, dict[str, float]], share: float
) -> dict[str, float]:
    """Evaluate the programs on a sample and compare the orders."""
    recall, deep, ndcg, whole = [], [], [], []
    with Evaluator(part, evaluations=len(truth)) as evaluator:
        for name, metrics in truth.items():
            source = (run / "programs" / f"{name}.py").read_text(encoding="utf-8")
            try:
                found = evaluator.evaluate(Program(source), queries)
            except ProgramError as error:
                click.echo(f"{name[:12]} is left out: {str(error).partition(chr(10))[0]}", err=True)
                continue
            whole.append(metrics)
            recall.append(found.metrics["recall@100"])
            ndcg.append(found.metrics["ndcg@10"])
            deep.append(recall_at(found.rankings, part, max(1, round(DEPTH * share))))
    best = max(metrics["recall@100"] for metrics in whole)
    return {
        "sample": len(part.documents),
        "tau recall": tau(recall, [metrics["recall@100"] for metrics in whole]),
        "tau deep": tau(deep, [metrics["recall@100"] for metrics in whole]),
        "tau ndcg": tau(ndcg, [metrics["ndcg@10"] for metrics in whole]),
        "lost": best - whole[int(np.argmax(deep))]["recall@100"],
    }


def recall_at(rankings: dict[str, Any], part: Collection, depth: int) -> float:
    """Mean recall of rankings of document ids at a depth."""
    values = []
    for query, ranking in rankings.items():
        relevant = {name for name, grade in part.qrels[query].items() if grade > 0}
        values.append(len(relevant.intersection([hit[0] for hit in ranking[:depth]])) / len(relevant))
    return statistics.mean(values)


def tau(one: list[float], other: list[float]) -> float:
    """Kendall's tau-b; 0 where a side has no order."""
    value = float(kendalltau(one, other).statistic)
    return 0.0 if np.isnan(value) else value


def row(found: dict[str, Any]) -> str:
    """A row of the table."""
    cells = (
        found["collection"],
        f"{found['documents']:,}",
        f"{found['sample']:,.0f} ({found['share']:.0%})",
        *(f"{found[name]:.2f}" for name in ("tau recall", "tau deep", "tau ndcg")),
        f"{found['lost']:.3f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
