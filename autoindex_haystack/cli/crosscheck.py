"""``autoindex crosscheck``: do both engines find the same documents with the same scores?"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress

if TYPE_CHECKING:
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.retrieval.parity import Parity, ScoreDifference
    from autoindex_haystack.sandbox import Limits

ENGINES = ("bm25s", "lucene")


@options.command(
    "crosscheck",
    "autoindex crosscheck my_collection",
    "autoindex crosscheck my_collection --program my_run/frozen --json",
)
@options.collection_argument
@options.program_option
@options.bm25_options()
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.json_option
def command(
    collection: Path,
    program: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    as_json: bool,
) -> None:
    """Index the same chunks of COLLECTION with bm25s and with Lucene, ask both all queries and compare.

    Shows how many of the first 10 and 100 documents both engines share, both engines' metrics, and the largest
    difference between their scores of a shared document.
    """
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.evaluation import Evaluator, resolve_program
    from autoindex_haystack.evaluation.reachable import check_reachable, documents_with_token
    from autoindex_haystack.retrieval import get_backend
    from autoindex_haystack.retrieval.parity import compare_indexes

    began = time.monotonic()
    first, second = (get_backend(name) for name in ENGINES)
    resolved = resolve_program(program)
    settings = bm25(resolved.settings.bm25)
    fields = dict.fromkeys((*resolved.settings.metadata_fields, *metadata_fields))
    imports = (*resolved.settings.allowed_imports, *allowed_imports)
    with progress() as show:
        loaded = load_collection(collection, metadata_fields=fields, progress=show.documents)
        queries = list(loaded.queries)
        with Evaluator(loaded, settings, limits=limits, workers=workers, allowed_imports=imports) as evaluator:
            chunks, state = evaluator.run(resolved.program, state=resolved.state, progress=show)
            reachable = documents_with_token(loaded.documents, settings.analyzer)
            unreachable = check_reachable(reachable, chunks, settings.analyzer, limits.unreachable)
            show("indexing with both engines")
            with first.build(chunks, settings) as one, second.build(chunks, settings) as other:
                show("searching with both engines")
                parity = compare_indexes(one, other, loaded.queries)
                metrics = {
                    name: evaluator.score(resolved.program, index, chunks, queries, state, unreachable, {}).metrics
                    for name, index in zip(ENGINES, (one, other), strict=True)
                }
    summary = {
        "collection": loaded.name,
        "queries": len(queries),
        "documents": len(loaded.documents),
        "chunks": len(chunks),
        "unreachable": len(unreachable),
        "program_sha256": resolved.program.sha256,
        "bm25": settings.model_dump(mode="json"),
        **_parity(parity),
        "metrics": metrics,
        "seconds": time.monotonic() - began,
        "notes": loaded.notes(),
    }
    if as_json:
        print_json(summary)
        return
    print_notes(loaded.notes())
    _print(summary)


def _parity(parity: "Parity") -> dict[str, Any]:
    from autoindex_haystack.retrieval.parity import DEPTHS

    return {
        "overlap": {
            f"@{depth}": {"mean": parity.mean_overlap(depth), "min": parity.min_overlap(depth)} for depth in DEPTHS
        },
        "largest_difference": {
            "absolute": _difference(parity.largest_absolute),
            "relative": _difference(parity.largest_relative),
        },
    }


def _difference(found: "tuple[str, ScoreDifference] | None") -> dict[str, Any] | None:
    if found is None:
        return None
    query, difference = found
    return {
        "query": query,
        "document": difference.document_id,
        **dict(zip(ENGINES, (difference.first, difference.second), strict=True)),
        "absolute": difference.absolute,
        "relative": difference.relative,
    }


def _print(summary: dict[str, Any]) -> None:
    """Print the comparison for people."""
    click.echo(
        f"{summary['collection']}: {summary['chunks']:,} chunks of {summary['documents']:,} documents, "
        f"{summary['queries']:,} queries, {summary['seconds']:.1f} seconds"
    )
    rows = [[f"overlap{depth}", f"{o['mean']:.4f}", f"{o['min']:.4f}"] for depth, o in summary["overlap"].items()]
    print_table(["shared documents", "mean", "least"], rows)
    one, other = (summary["metrics"][name] for name in ENGINES)
    print_table(["metric", *ENGINES], [[name, f"{one[name]:.4f}", f"{other[name]:.4f}"] for name in one])
    for kind, found in summary["largest_difference"].items():
        if found:
            click.echo(
                f"largest {kind} score difference: {found[kind]:.2g} (query {found['query']}, document "
                f"{found['document']}: bm25s {found['bm25s']:.4f}, lucene {found['lucene']:.4f})"
            )
