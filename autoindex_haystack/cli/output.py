"""Where commands write: results to stdout as text or one JSON object, progress and notes to stderr."""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli.text import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 1.0
"""Seconds after which progress is shown."""


def print_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout."""
    ascii_only = "utf" not in (sys.stdout.encoding or "utf-8").lower()
    click.echo(json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=1))


def print_notes(notes: Sequence[str]) -> None:
    """Write what a user should know about the input to stderr."""
    for note in notes:
        click.echo(f"Note: {one_line(note)}", err=True)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a small table to stdout: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    for row in (headings, *rows):
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  " + "   ".join([row[0].ljust(widths[0]), *padded[1:]]).rstrip())


class Progress:
    """What a command is doing, shown on a terminal once it takes longer than a second."""

    def __init__(self, bar: "Bar | None" = None) -> None:
        self._bar = bar
        self._phase = ""
        self._task: TaskID | None = None
        self._shown = False
        self._lock = threading.Lock()

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Say what is being done.

        :param phase: What it is.
        :param done: How much is done.
        :param total: How much there is; 0 when it is not known.
        """
        if self._bar is None:
            return
        if phase != self._phase or self._task is None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._phase, self._task = phase, self._bar.add_task(phase, total=total or None, count="")
        self._bar.update(self._task, completed=done, count=f"{done:,}" if done and not total else "")

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
def progress() -> Iterator[Progress]:
    """Show progress on stderr while the body runs; quiet when stderr is no terminal."""
    if not sys.stderr.isatty():
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
    bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    shown = Progress(bar)
    timer = threading.Timer(PATIENCE, shown.show)
    timer.daemon = True
    timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        shown.hide()
