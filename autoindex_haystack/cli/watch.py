"""``autoindex watch``: look on while another process searches."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json

if TYPE_CHECKING:
    from autoindex_haystack.cli.live import LiveView

_EVERY = 0.5
"""Seconds between two looks."""


@options.command("watch", "autoindex watch my_run")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.json_option
def command(run: Path, as_json: bool) -> None:
    """Show how far the search in RUN is, from another terminal, until it ends.

    On a terminal the picture is renewed as things go on; elsewhere there is a line for every change. With --json it
    waits for the end and tells how the run stands then.
    """
    from autoindex_haystack.cli.live import LiveView
    from autoindex_haystack.runs import is_at_work, read_info
    from autoindex_haystack.runs.status import state_of, summarize

    read_info(run)
    view = LiveView(run)
    if as_json:
        while is_at_work(run):
            time.sleep(_EVERY)
        print_json(summarize(run).model_dump(mode="json"))
        return
    if sys.stdout.isatty():
        _draw(run, view)
    else:
        _tell(run, view)
    if state_of(run) == "finished":
        click.echo(f"{run} is finished; read it with `autoindex report {run}`")
    else:
        click.echo(f"{run} is interrupted; go on with `autoindex optimize --resume {run}`")


def _draw(run: Path, view: "LiveView") -> None:
    from rich.console import Group
    from rich.live import Live

    from autoindex_haystack.runs import is_at_work

    with Live(refresh_per_second=4) as live:
        running = True
        while running:
            # Looked at before the last picture, which then shows the end.
            running = is_at_work(run)
            live.update(Group(*view()))
            if running:
                time.sleep(_EVERY)


def _tell(run: Path, view: "LiveView") -> None:
    from autoindex_haystack.runs import is_at_work
    from autoindex_haystack.runs.status import read_status

    told, running = "", True
    while running:
        running = is_at_work(run)
        if status := read_status(run):
            _, *lines = view.lines(status)
            line = f"iteration {status.iteration} of {status.iterations}: {'; '.join(lines)}"
            if line != told:
                click.echo(line)
                told = line
        if running:
            time.sleep(_EVERY)
