"""``autoindex optimize``: the search, its log on the terminal, its result."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.optimizer.objective import Objective
    from autoindex_haystack.optimizer.settings import AcceptanceName
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.runs import RunResult
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command("optimize", "autoindex optimize my_collection --out my_run")
@options.collection_argument
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="RUN", help="The run folder to write.")
@click.option("--iterations", type=click.IntRange(min=0), default=10, show_default=True, help="Rounds of proposals.")
@click.option("--candidates", type=click.IntRange(min=1), default=8, show_default=True, help="Candidates a round.")
@click.option(
    "--objective",
    type=click.Choice(["recall@100", "ndcg@10", "weighted"]),
    default="recall@100",
    show_default=True,
    help="What is maximized on the validation queries; weighted is the mean of the two.",
)
@click.option(
    "--acceptance",
    type=click.Choice(["guarded", "paper"]),
    default="guarded",
    show_default=True,
    help="What is adopted. guarded: what is better by more than luck, counting everything that was tried, without "
    "losing nDCG@10. paper: any gain.",
)
@click.option(
    "--max-growth",
    type=options.Number(min=0, min_open=True),
    metavar="FACTOR",
    default=3,
    show_default=True,
    help="guarded: how many times the corpus the index text may be.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the proposer.")
@options.split_options
@options.backend_option
@options.bm25_options(frozen=False)
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.jobs_option
@options.sandbox_option
@options.force_option
@options.json_option
def command(
    collection: Path,
    out: Path,
    iterations: int,
    candidates: int,
    objective: "Objective",
    acceptance: "AcceptanceName",
    max_growth: float,
    seed: int,
    split: Path | None,
    split_seed: int,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    jobs: int,
    isolation: "Isolation",
    force: bool,
    as_json: bool,
) -> None:
    """Search for the representation program that makes retrieval best on COLLECTION, with BM25 held fixed.

    Candidates are compared on the validation queries; the held-out queries are scored once, at the end. The run folder
    gets settings, journal, every program, result.json and the frozen component with its Haystack pipelines. No LLM is
    called.
    """
    from autoindex_haystack.cli.search_log import SearchLog
    from autoindex_haystack.optimizer import SearchSettings, optimize

    check_outputs(out, inputs=[collection], force=force)
    settings = SearchSettings(
        iterations=iterations,
        candidates=candidates,
        objective=objective,
        acceptance=acceptance,
        max_growth=max_growth,
        seed=seed,
        bm25=bm25(None),
        backend=backend,
        limits=limits,
        workers=workers,
        jobs=jobs,
        isolation=isolation,
        allowed_imports=allowed_imports,
    )
    with progress() as show:
        result = optimize(
            collection,
            out,
            settings=settings,
            split=split,
            split_seed=split_seed,
            metadata_fields=metadata_fields,
            force=force,
            listener=SearchLog(show, objective=objective, quiet=as_json),
        )
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    print_notes(result.notes)
    print_result(result)


def print_result(result: "RunResult") -> None:
    """Print the figures of a search before and after, for people."""
    rows = []
    for metric, before in result.baseline.held_out.items():
        after, difference = result.learned.held_out[metric], result.differences[metric]
        interval = f"{difference.low:+.4f} to {difference.high:+.4f}"
        rows.append([metric, f"{before:.4f}", f"{after:.4f}", f"{difference.mean:+.4f}", interval])
    print_table(["held-out", "full document", "learned", "difference", "95 % interval"], rows)
    click.echo(
        f"{result.adopted} programs adopted of {result.tried} tried, {result.failed} failed; "
        f"index text {result.growth:.2f} times the corpus"
    )
    spent = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in result.seconds.items() if phase != "total")
    click.echo(
        f"{result.seconds['total']:.1f} seconds, {result.candidates_per_minute:.1f} candidates per minute "
        f"(time by phase, added up over candidates side by side: {spent})"
    )
    click.echo(f"frozen component {result.component_sha256[:12]} in {result.frozen}")
