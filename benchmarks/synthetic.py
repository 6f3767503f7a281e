"""How well judgments that `autoindex make-queries` makes (without a model) rank programs, against those of people.

    .venv/bin/python benchmarks/synthetic.py ../shared/datasets --runs runs --results synthetic --out table.md

Ten programs (the full documents, passages, and eight learned ones of ``benchmarks/held_out.py``, each recalibrated) are
scored on each collection's own queries and on synthetic ones made of its corpus. Told are Kendall's tau-b between the
two rankings of programs with its p-value, how many pairs of programs the queries of people tell apart (paired t-test,
p < 0.05), what share of these the synthetic ones put the same way round, and, on the queries of people, the best
program, the one that is best on synthetic queries, and the full documents.
"""

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import click
from commands import run_json
from scipy import stats

from autoindex_haystack.collection import load_collection
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.evaluation import Evaluator, PerQuery, paired_difference, resolve_program
from autoindex_haystack.evaluation.metrics import TITLES

METRICS = ("recall@100", "ndcg@10")
LEVEL = 0.05
LEARNED = (
    "cranfield-0 cranfield-1 npl_vaswani-0 npl_vaswani-1 medquad_liveqa-0 medquad_liveqa-1 debian_blends-0 "
    "mdn_webfeatures-0"
).split()
HEAD = (
    "| collection | metric | queries | synthetic | tau | p | pairs that differ | the same way round | best program | "
    "chosen by synthetic | full document |\n|---|---|---|---|---|---|---|---|---|---|---|"
)

Scores = dict[str, PerQuery]
"""Program to the figures of each query."""


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--runs", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--results", required=True, type=click.Path(file_okay=False, path_type=Path), help="Keeps the scores.")
@click.option("--collection", "names", multiple=True, default=("cranfield", "theoremqa", "npl_vaswani"))
@click.option("--learned", multiple=True, default=LEARNED, help="Runs whose programs are ranked; repeatable.")
@click.option("--number", default=300, show_default=True, help="Synthetic queries.")
@click.option("--seed", default=0, show_default=True, help="Their seed.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
def main(
    datasets: Path,
    runs: Path,
    results: Path,
    names: tuple[str, ...],
    learned: tuple[str, ...],
    number: int,
    seed: int,
    out: Path | None,
) -> None:
    """Rank programs by synthetic judgments and by those of people."""
    results.mkdir(parents=True, exist_ok=True)
    programs = ["builtin:full_document", "builtin:passages", *(str(runs / run / "frozen") for run in learned)]
    lines = [HEAD]
    for name in names:
        human = scored(datasets / name, programs, results / f"{name}-people.json")
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / name
            run_json("make-queries", datasets / name, "--out", made, "--number", number, "--seed", seed)
            synthetic = scored(made, programs, results / f"{name}-synthetic.json")
        lines += [row(name, metric, human, synthetic) for metric in METRICS]
        click.echo("\n".join(lines[-2:]), err=True)
    text = "\n".join(lines) + "\n"
    click.echo(text)
    if out:
        out.write_text(text, encoding="utf-8")


def scored(folder: Path, programs: list[str], kept: Path) -> Scores:
    """Score each program on all queries of a collection; those that fail there are left out."""
    if kept.is_file():
        known: Scores = json.loads(kept.read_text(encoding="utf-8"))
        return known
    collection = load_collection(folder)
    found: Scores = {}
    with Evaluator(collection, evaluations=len(programs)) as evaluator:
        for given in programs:
            try:
                scores = evaluator.evaluate(resolve_program(given).program, collection.queries).scores
            except ProgramError as error:
                click.echo(f"{given} fails on {collection.name}: {error}", err=True)
                continue
            found[given] = {query: {metric: values[metric] for metric in METRICS} for query, values in scores.items()}
            click.echo(f"{collection.name}: {given}", err=True)
    kept.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def row(name: str, metric: str, human: Scores, synthetic: Scores) -> str:
    """One line of the table."""
    programs = [program for program in human if program in synthetic]
    by_people, by_machine = ({p: mean(scores[p], metric) for p in programs} for scores in (human, synthetic))
    found: Any = stats.kendalltau([by_people[p] for p in programs], [by_machine[p] for p in programs])
    told = [
        (a, b)
        for a, b in itertools.combinations(programs, 2)
        if paired_difference(values(human[a], metric), values(human[b], metric)).p_value < LEVEL
    ]
    same = sum((by_people[a] - by_people[b]) * (by_machine[a] - by_machine[b]) > 0 for a, b in told)
    chosen = max(programs, key=by_machine.__getitem__)
    counts = [str(len(next(iter(scores.values())))) for scores in (human, synthetic)]
    cells = [name, TITLES[metric], *counts, f"{found.statistic:.2f}", f"{found.pvalue:.2g}", str(len(told))]
    cells += [f"{same / len(told):.0%}" if told else "–", f"{max(by_people.values()):.3f}", f"{by_people[chosen]:.3f}"]
    return f"| {' | '.join([*cells, f'{by_people[programs[0]]:.3f}'])} |"


def values(scores: PerQuery, metric: str) -> list[float]:
    """A metric query by query."""
    return [found[metric] for _, found in sorted(scores.items())]


def mean(scores: PerQuery, metric: str) -> float:
    """A metric's mean over queries."""
    return sum(values(scores, metric)) / len(scores)


if __name__ == "__main__":
    main()
