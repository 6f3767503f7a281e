"""``autoindex compare``: which of two components is better on a collection."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress
from autoindex_haystack.cli.text import one_line

if TYPE_CHECKING:
    from autoindex_haystack.evaluation import QuerySet
    from autoindex_haystack.evaluation.pairing import Pairing
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command(
    "compare",
    "autoindex compare builtin:full_document my_run/frozen my_collection --queries held-out --split my_run",
    "autoindex compare my_run/frozen moved/frozen my_collection --json",
)
@click.argument("first", type=options.ProgramName(), metavar="FROZEN_A")
@click.argument("second", type=options.ProgramName(), metavar="FROZEN_B")
@options.collection_argument
@options.queries_option
@options.split_options
@options.backend_option
@options.bm25_options()
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.sandbox_option
@options.json_option
def command(
    first: str,
    second: str,
    collection: Path,
    queries: "QuerySet",
    split: Path | None,
    split_seed: int,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    as_json: bool,
) -> None:
    """Compare the frozen components FROZEN_A and FROZEN_B on COLLECTION, query by query.

    Differences are B minus A, with 95 % intervals, a paired t-test and a paired permutation test. Each component is
    ranked with its own BM25 settings and what it learned. A Python file or builtin:NAME can stand in the place of a
    component; its program then calibrates on COLLECTION.
    """
    from autoindex_haystack.evaluation.pairing import compare_programs

    with progress() as show:
        found = compare_programs(
            collection,
            first,
            second,
            queries=queries,
            split=split,
            split_seed=split_seed,
            bm25=bm25,
            metadata_fields=metadata_fields,
            reading=show.documents,
            backend=backend,
            allowed_imports=allowed_imports,
            limits=limits,
            workers=workers,
            isolation=isolation,
            progress=show,
        )
    if as_json:
        print_json(
            {
                "a": {"program": first, "program_sha256": found.first.program_sha256, "growth": found.first.growth},
                "b": {"program": second, "program_sha256": found.second.program_sha256, "growth": found.second.growth},
                "queries": len(found.first.scores),
                "query_set": queries,
                "metrics": {
                    metric: asdict(pair) | {"difference": pair.difference.model_dump()}
                    for metric, pair in found.metrics.items()
                },
                "notes": found.notes,
            }
        )
        return
    print_notes(found.notes)
    _print(first, second, queries, found)


def _print(first: str, second: str, queries: str, found: "Pairing") -> None:
    """Print the comparison for people."""
    click.echo(f"{len(found.first.scores):,} queries ({queries}); the difference is B minus A")
    for letter, name, side in (("A", first, found.first), ("B", second, found.second)):
        click.echo(f"  {letter}: {one_line(name)} ({side.program_sha256[:12]}), {side.growth:.2f} times the corpus")
    rows = []
    for metric, pair in found.metrics.items():
        difference = pair.difference
        interval = f"{difference.low:+.4f} to {difference.high:+.4f}"
        figures = [f"{pair.first:.4f}", f"{pair.second:.4f}", f"{difference.mean:+.4f}", interval]
        p_values = [f"{difference.p_value:.2g}", f"{pair.p_sign_flip:.2g}"]
        rows.append([metric, *figures, *p_values, str(pair.better), str(pair.worse), str(pair.same)])
    headings = [
        "metric",
        "A",
        "B",
        "difference",
        "95 % interval",
        "p (t)",
        "p (permutation)",
        "better",
        "worse",
        "same",
    ]
    print_table(headings, rows)
