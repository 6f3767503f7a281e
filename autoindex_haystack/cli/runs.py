"""``autoindex runs``: the run folders in a place, and how far each of them is."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_table

if TYPE_CHECKING:
    from autoindex_haystack.runs.status import RunSummary


@options.command("runs", "autoindex runs", "autoindex runs my_run --json")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.json_option
def command(folder: Path, as_json: bool) -> None:
    """List the runs in DIR and in the folders within it: finished, running or interrupted, and how far they are.

    `autoindex optimize --resume RUN` goes on with an interrupted one.
    """
    from autoindex_haystack.runs.status import list_runs

    found = list_runs(folder)
    if as_json:
        print_json({"runs": [summary.model_dump(mode="json") for summary in found]})
        return
    if not found:
        click.echo(f"no runs in {folder}")
        return
    headings = ["run", "state", "collection", "proposer", "iteration", "best on validation", "held-out", "gain"]
    print_table(headings, [_row(summary) for summary in found])


def _row(summary: "RunSummary") -> list[str]:
    status = summary.status
    iteration = f"{status.iteration} of {status.iterations}" if status else ""
    best = f"{status.best:.4f}" if status and status.best is not None else ""
    learned = "" if summary.learned is None else f"{summary.learned:.4f}"
    gain = "" if summary.held_out_gain is None else f"{summary.held_out_gain:+.4f}"
    return [summary.run, summary.state, summary.collection, summary.proposer, iteration, best, learned, gain]
