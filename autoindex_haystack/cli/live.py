"""The status of a run as a picture on a terminal: where it is, its candidates, the best so far, what is left."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoindex_haystack.cli.text import shortened
from autoindex_haystack.evaluation.objective import objective_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from autoindex_haystack.runs.status import RunStatus

_IDEA = 70


class LiveView:
    """Draws the status file of a run.

    :param run: The run folder.
    :param at_work: Whether it is drawn only while a process is at work on it: what is about to be replaced is not.
    """

    def __init__(self, run: Path, *, at_work: bool = False) -> None:
        self._run = run
        self._at_work = at_work
        self._limits: dict[str, Any] | None = None

    def __call__(self) -> "Iterable[RenderableType]":
        """Returns the picture; nothing before there is a status."""
        from autoindex_haystack.runs import is_at_work
        from autoindex_haystack.runs.status import read_status

        if self._at_work and not is_at_work(self._run):
            return
        if status := read_status(self._run):
            yield from self._picture(status)

    def lines(self, status: "RunStatus") -> list[str]:
        """Say the same in words.

        :param status: The status.
        """
        name = objective_name(status.objective)
        told = [f"iteration {status.iteration} of {status.iterations}, {_time(status.seconds)}{self._left(status)}"]
        if status.best is not None:
            gain = f", {status.gain:+.4f} ({status.low:+.4f} to {status.high:+.4f})" if status.adopted else ""
            told.append(f"best so far: validation {name} {status.best:.4f}{gain}")
        told.append(f"{status.tried} candidates tried, {status.adopted} adopted{self._spent(status)}")
        return told

    def _picture(self, status: "RunStatus") -> "Iterable[RenderableType]":
        from rich.table import Table
        from rich.text import Text

        for line in self.lines(status):
            yield Text(line, style="bold" if line.startswith("best") else "")
        table = Table.grid(padding=(0, 1))
        for candidate in status.candidates:
            gain = "" if candidate.gain is None else f"{candidate.gain:+.4f}"
            style = {"at work": "cyan", "failed": "red", "dropped": "dim", "tried": ""}.get(candidate.state, "dim")
            told = (f"{candidate.number}.", candidate.state, gain, shortened(candidate.idea, _IDEA))
            table.add_row(*(Text(part, style=style) for part in told))
        yield table

    def _left(self, status: "RunStatus") -> str:
        return "" if status.seconds_left is None else f", about {_time(status.seconds_left)} left"

    def _spent(self, status: "RunStatus") -> str:
        if not status.llm or "calls" not in status.llm:
            return ""
        limits, used = self._known_limits(), status.llm
        tokens = f" of {limits['tokens']:,}" if limits.get("tokens") else ""
        told = f"; language model: {used['calls']} calls, {used['tokens']:,}{tokens} tokens"
        if used.get("usd") is not None:
            told += f", {used['usd']:.4f}{' of ' + format(limits['usd'], 'g') if limits.get('usd') else ''} USD"
        if limits.get("seconds"):
            told += f", {_time(max(0.0, limits['seconds'] - status.seconds))} left to ask it"
        return told

    def _known_limits(self) -> dict[str, Any]:
        """The limits of the run's language model."""
        if self._limits is None:
            from autoindex_haystack.runs import read_info

            settings = read_info(self._run).settings.proposer_settings
            connection = settings.get("agents", settings).get("connection") or {}
            self._limits = dict(connection.get("limits") or {})
        return self._limits


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
