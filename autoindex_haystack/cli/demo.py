"""``autoindex demo``: the main job from end to end on a collection that is always at hand."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.optimize import print_result
from autoindex_haystack.cli.output import Progress, print_json, print_table, progress
from autoindex_haystack.cli.places import check_outputs
from autoindex_haystack.cli.report_page import add_report

if TYPE_CHECKING:
    from autoindex_haystack.collection import Collection
    from autoindex_haystack.experiments.demo.ask import Comparison
    from autoindex_haystack.optimizer import SearchSettings
    from autoindex_haystack.runs import RunResult
    from autoindex_haystack.sandbox import Isolation

_SHOWN = 3
"""Answers that are shown for each question."""

_METRICS = ("recall@100", "ndcg@10", "mrr@10")

Comparisons = Mapping[str, Sequence["Comparison"]]
"""For each engine the comparisons of all held-out questions."""


@options.command("demo", "autoindex demo", "autoindex demo --out my_demo --force")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("autoindex-demo"),
    show_default=True,
    metavar="DIR",
    help="The folder to write.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the proposer.")
@options.workers_option
@options.sandbox_option
@options.force_option
@options.json_option
def command(out: Path, seed: int, workers: int, isolation: "Isolation", force: bool, as_json: bool) -> None:
    """Learn on the documentation of Python, freeze, index with bm25s and with Lucene, and ask both.

    The collection is built on the spot: a document for each module, class and function of this Python's standard
    library, with questions written as people ask them and judged by hand. A program is learned for it and frozen; its
    Haystack pipelines then index the documents and answer the held-out questions, beside those of the baseline. No
    network is used. Takes about two minutes.
    """
    from autoindex_haystack.cli.checks import LEAN_LUCENE, OK, check_engine
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.experiments.demo import write_collection
    from autoindex_haystack.optimizer import SearchSettings

    began = time.monotonic()
    check_outputs(out, force=force)
    with progress() as show, _whole_or_nothing(out):
        show("building the collection")
        write_collection(out / "collection")
        collection = load_collection(out / "collection")
        if not as_json:
            show.say(
                f"{len(collection.documents):,} documents, {len(collection.queries)} questions in {out}/collection"
            )
        # Fewer candidates than by default: a demo is not to take long.
        settings = SearchSettings(iterations=5, candidates=4, seed=seed, workers=workers, isolation=isolation)
        result = _learn(collection, out, settings, show, quiet=as_json)
        page = add_report(out / "run")
        lucene = check_engine("lucene", LEAN_LUCENE, required=False)
        engines = ("bm25s", "lucene") if lucene.status == OK else ("bm25s",)
        answers = {engine: _ask(collection, out, Path(result.frozen), engine, isolation, show) for engine in engines}
    missing = "" if lucene.status == OK else f"Lucene is left out ({lucene.detail}); mend it with: {lucene.mend}"
    if as_json:
        print_json(
            {
                "out": str(out.resolve()),
                "result": result.model_dump(mode="json"),
                "engines": {engine: _as_json(found) for engine, found in answers.items()},
                "lucene": missing or OK,
                "seconds": time.monotonic() - began,
            }
        )
        return
    print_result(result)
    _print_answers(answers)
    if missing:
        click.echo(missing)
    if page:
        click.echo(f"\nreport for people: {page}")
    index = f"{out}/run/frozen/index-{engines[-1]}"
    click.echo(f'\n{time.monotonic() - began:.0f} seconds. Ask more: autoindex search {index} "run a command"')


def _learn(
    collection: "Collection", out: Path, settings: "SearchSettings", show: Progress, *, quiet: bool
) -> "RunResult":
    """Search with default settings, and freeze the baseline to compare with."""
    from autoindex_haystack.cli.search_log import SearchLog
    from autoindex_haystack.frozen.freeze import freeze_program
    from autoindex_haystack.optimizer import optimize
    from autoindex_haystack.program import builtin_program

    result = optimize(collection, out / "run", settings=settings, listener=SearchLog(show, quiet=quiet))
    baseline = builtin_program("full_document")
    freeze_program(baseline, collection.documents, out / "baseline", isolation=settings.isolation)
    return result


def _ask(
    collection: "Collection", out: Path, frozen: Path, engine: str, isolation: "Isolation", show: Progress
) -> "list[Comparison]":
    """Index with the pipelines of the baseline and of the learned component, and ask both the held-out questions."""
    from autoindex_haystack.cli.stores import haystack_documents
    from autoindex_haystack.collection import load_split
    from autoindex_haystack.experiments.demo.ask import compare, index_documents

    held_out = load_split(out / "run", collection).held_out
    for component in (out / "baseline", frozen):
        show(f"indexing with {engine}")
        index_documents(component, engine, haystack_documents(collection.documents), isolation)
    show(f"asking {engine}")
    queries = {query: collection.queries[query] for query in held_out}
    return compare(out / "baseline", frozen, engine, queries, collection.qrels)


def _figures(comparisons: "Sequence[Comparison]") -> tuple[dict[str, float], dict[str, float]]:
    """The metrics of the answers before and after."""
    from autoindex_haystack.evaluation import means, score_queries

    qrels = {comparison.query_id: dict(comparison.relevant) for comparison in comparisons}
    before = score_queries({comparison.query_id: comparison.before for comparison in comparisons}, qrels)
    after = score_queries({comparison.query_id: comparison.after for comparison in comparisons}, qrels)
    return means(before), means(after)


def _print_answers(answers: Comparisons) -> None:
    """Print the figures of each engine and a few questions with the answers of all engines."""
    from autoindex_haystack.experiments.demo.ask import most_telling

    click.echo("\nAll held-out questions asked through the emitted Haystack pipelines, full document → learned:")
    figures = {engine: _figures(found) for engine, found in answers.items()}
    rows = [
        [engine, *(f"{before[metric]:.4f} → {after[metric]:.4f}" for metric in _METRICS)]
        for engine, (before, after) in figures.items()
    ]
    print_table(["engine", *_METRICS], rows)
    click.echo("\nThe questions whose first right answer (*) moved most, up and down:")
    for chosen in most_telling(answers["bm25s"]):
        click.echo(f"\n{chosen.question}?")
        for engine, found in answers.items():
            [same] = [comparison for comparison in found if comparison.query_id == chosen.query_id]
            click.echo(f"  {engine:7} full document: {_answers(same, same.before, same.rank_before)}")
            click.echo(f"  {'':7} learned:       {_answers(same, same.after, same.rank_after)}")


def _answers(comparison: "Comparison", found: Sequence[str], rank: int | None) -> str:
    """The first answers, right ones marked, and where the first right one stands."""
    named = [f"{document}*" if document in comparison.relevant else document for document in found[:_SHOWN]]
    return f"{' · '.join(named) or 'nothing'} (first right answer: {rank or 'not found'})"


def _as_json(comparisons: "Sequence[Comparison]") -> dict[str, object]:
    from autoindex_haystack.experiments.demo.ask import most_telling

    before, after = _figures(comparisons)
    return {
        "before": before,
        "after": after,
        "questions": [
            {
                "query_id": chosen.query_id,
                "question": chosen.question,
                "relevant": dict(chosen.relevant),
                "before": list(chosen.before[:_SHOWN]),
                "after": list(chosen.after[:_SHOWN]),
                "rank_before": chosen.rank_before,
                "rank_after": chosen.rank_after,
            }
            for chosen in most_telling(comparisons)
        ],
    }


@contextmanager
def _whole_or_nothing(out: Path) -> Iterator[None]:
    """Take away what was there, and what was made of the demo if it does not reach its end."""
    from autoindex_haystack.files import remove

    remove(out)
    try:
        yield
    except BaseException:
        remove(out)
        raise
