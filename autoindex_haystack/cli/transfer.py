"""``autoindex transfer``: what programs that were learned elsewhere are worth on a collection."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.model import given
from autoindex_haystack.cli.output import print_json, print_notes, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.experiments.transfer import Transfer
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command(
    "transfer",
    "autoindex transfer my_run/frozen other_run/frozen my_collection",
    "autoindex transfer my_run/frozen my_collection --iterations 5 --runs my_transfer --csv",
)
@click.argument("programs", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FROZEN...")
@options.collection_argument
@click.option(
    "--iterations",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Rounds of proposals of each search; with 0 there is none.",
)
@click.option("--candidates", type=click.IntRange(min=1), default=8, show_default=True, help="Candidates a round.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the proposer.")
@click.option("--runs", type=click.Path(path_type=Path), metavar="DIR", help="Keep the run folders of the searches.")
@options.split_options
@options.backend_option
@options.bm25_options()
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.jobs_option
@options.sandbox_option
@click.option("--csv", "as_csv", is_flag=True, help="Print all figures unrounded, as CSV.")
@options.json_option
def command(
    programs: tuple[Path, ...],
    collection: Path,
    iterations: int,
    candidates: int,
    seed: int,
    runs: Path | None,
    split: Path | None,
    split_seed: int,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    jobs: int,
    isolation: "Isolation",
    as_csv: bool,
    as_json: bool,
) -> None:
    """Tell what FROZEN components, learned elsewhere, are worth on COLLECTION, as a Markdown table.

    Each is applied unchanged, then recalibrated (learning from this corpus anew), then as the start of a short search,
    beside a search that starts from the full documents. Held-out figures are compared with those of the full documents.
    A Python file can stand in place of a component.
    """
    from autoindex_haystack.experiments.transfer import common_settings, transfer
    from autoindex_haystack.optimizer import SearchSettings
    from autoindex_haystack.report.transfer import transfer_as_csv, transfer_as_markdown

    if as_csv and as_json:
        msg = "--csv and --json are two forms of the same; give one"
        raise click.UsageError(msg, click.get_current_context())
    check_outputs(runs, inputs=[collection, *programs])
    named = len(given(("k1", "b", "analyzer"))) == len(("k1", "b", "analyzer"))
    settings = SearchSettings(
        iterations=iterations,
        candidates=candidates,
        seed=seed,
        bm25=bm25(None if named else common_settings(programs)),
        backend=backend,
        limits=limits,
        allowed_imports=allowed_imports,
        workers=workers,
        jobs=jobs,
        isolation=isolation,
    )
    with progress() as show:
        found = transfer(
            programs, collection, search=settings, runs=runs, split=split, split_seed=split_seed, told=show
        )
    if as_json:
        print_json(_as_json(found))
        return
    print_notes(found.notes)
    click.echo(transfer_as_csv(found) if as_csv else transfer_as_markdown(found), nl=False)


def _as_json(found: "Transfer") -> dict[str, Any]:
    rows = [
        asdict(row) | {"differences": {metric: one.model_dump() for metric, one in row.differences.items()}}
        for row in found.rows
    ]
    return asdict(found) | {"rows": rows, "notes": list(found.notes)}
