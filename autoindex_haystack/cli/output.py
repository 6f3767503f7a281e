"""Where commands write: results to stdout as text or one JSON object, progress and notes to stderr."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 1.0
"""Seconds after which progress is shown."""

_FIGURE = re.compile(r"[-+]?\d|-?$")
"""How a cell begins that is a figure, or stands for none."""


def print_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout."""
    ascii_only = "utf" not in (sys.stdout.encoding or "utf-8").lower()
    click.echo(json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=1))


def print_notes(notes: Sequence[str]) -> None:
    """Write what a user should know about the input to stderr."""
    for note in notes:
        click.echo(f"Note: {one_line(note)}", err=True)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a small table to stdout: figures to the right, the first column and other texts to the left."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    figures = [i > 0 and all(_FIGURE.match(row[i]) for row in rows) for i in range(len(headings))]
    for row in (headings, *rows):
        cells = zip(row, widths, figures, strict=True)
        padded = [cell.rjust(width) if figure else cell.ljust(width) for cell, width, figure in cells]
        click.echo("  " + "   ".join(padded).rstrip())


class Progress:
    """What a command is doing, shown on a terminal once it takes longer than a second."""

    def __init__(self, bar: "Bar | None" = None) -> None:
        self._bar = bar
        self._lanes: dict[int, tuple[str, TaskID]] = {}
        self._shown = False
        self._lock = threading.Lock()

    def __call__(self, phase: str, done: int = 0, total: int = 0, *, lane: int = 0) -> None:
        """Say what is being done.

        :param phase: What it is.
        :param done: How much is done.
        :param total: How much there is; 0 when it is not known.
        :param lane: Which of several things that go on side by side; each has a line. What goes on alone is in lane 0
            and ends when another lane begins.
        """
        if self._bar is None:
            return
        with self._lock:
            if lane:
                self._end(0)
            before, task = self._lanes.get(lane, ("", None))
            if task is None:
                task = self._bar.add_task(phase, total=total or None, count="")
            elif phase != before:
                # In its place: lines that jump cannot be read.
                self._bar.reset(task, description=phase)
                next(line for line in self._bar.tasks if line.id == task).total = total or None
            self._lanes[lane] = phase, task
            self._bar.update(task, completed=done, count=f"{done:,}" if done and not total else "")

    def end(self, lane: int) -> None:
        """Take the line of a lane away."""
        with self._lock:
            self._end(lane)

    def _end(self, lane: int) -> None:
        if self._bar is not None and lane in self._lanes:
            self._bar.remove_task(self._lanes.pop(lane)[1])

    def documents(self, done: int) -> None:
        """Say how many documents have been read."""
        self("reading documents", done)

    def say(self, text: str) -> None:
        """Write a line to stdout without disturbing the bar."""
        with self._lock:
            if self._bar is not None and self._shown:
                self._bar.stop()
            click.echo(text)
            if self._bar is not None and self._shown:
                self._bar.start()

    def show(self) -> None:
        """Begin to show the bar."""
        with self._lock:
            if self._bar is not None:
                self._shown = True
                self._bar.start()

    def hide(self) -> None:
        """Take the bar away."""
        with self._lock:
            if self._bar is not None and self._shown:
                self._shown = False
                self._bar.stop()


@contextmanager
def progress(
    above: "Callable[[], Iterable[RenderableType]] | None" = None, *, quiet: bool = False
) -> Iterator[Progress]:
    """Show progress on stderr while the body runs; quiet when stderr is no terminal.

    :param above: Gives what is shown above the bars.
    :param quiet: Whether nothing is shown at all.
    """
    if quiet or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[count]}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )

    class Headed(Bar):
        def get_renderables(self) -> "Iterable[RenderableType]":
            yield from above() if above else ()
            yield from super().get_renderables()

    bar = Headed(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    shown = Progress(bar)
    timer = threading.Timer(PATIENCE, shown.show)
    timer.daemon = True
    timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        shown.hide()
