"""Errors made of what is known of a worker: its report, its end, its clocks. What comes from it is untrusted text."""

import json
import time
import unicodedata
from collections.abc import Sequence

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.process import WorkerProcess

_MESSAGE, _TRACEBACK = 2_000, 20_000
"""Characters that are shown."""


class Clocks:
    """The deadline of a task and, for each worker, how long it has been at one document.

    :param limits: The limits.
    :param by_document: Whether the limit of one document counts.
    :param spent: Seconds that the task has had before.
    """

    def __init__(self, limits: Limits, *, by_document: bool, spent: float = 0.0) -> None:
        self._limits = limits
        self._by_document = by_document
        self._began = time.monotonic() - spent
        self._seen: dict[int, tuple[int | None, float]] = {}

    def expired(self, process: WorkerProcess) -> float | None:
        """Returns the limit in seconds that has passed, or None."""
        now = time.monotonic()
        if now - self._began > self._limits.seconds:
            return self._limits.seconds
        position, since = self._seen.get(process.pid, (None, now))
        if process.position != position:
            position, since = process.position, now
        self._seen[process.pid] = (position, since)
        if self._by_document and position is not None and now - since > self._limits.document_seconds:
            return self._limits.document_seconds
        return None


class Reports:
    """Makes errors that name the document.

    :param document_ids: The ids of all documents.
    """

    def __init__(self, document_ids: Sequence[str]) -> None:
        self._ids = document_ids

    def expired(self, process: WorkerProcess, seconds: float) -> ProgramError:
        """Returns the error for a program that took too long."""
        where, document_id = self._place(process)
        msg = f"the program ran longer than {seconds:g} seconds{where}; it was stopped"
        return ProgramError(msg, document_id=document_id)

    def failed(self, process: WorkerProcess, payload: bytes) -> ProgramError:
        """Returns the error that the worker reports."""
        try:
            report = json.loads(payload)
            message, trace = str(report["message"]), str(report["traceback"])
        except (ValueError, KeyError, TypeError, RecursionError):
            message, trace = "failed in an unknown way", ""
        where, document_id = self._place(process)
        msg = f"the program {printable(message[:_MESSAGE])}{where}"
        return ProgramError(msg, document_id=document_id, program_traceback=printable(trace[:_TRACEBACK]))

    def died(self, process: WorkerProcess) -> ProgramError:
        """Returns the error for a worker that is gone, with the end of what it printed."""
        where, document_id = self._place(process)
        process.drain_log()
        msg = f"the program's worker {process.ending()}{where}"
        trace = printable(process.log_text[-_TRACEBACK:])
        return ProgramError(msg, document_id=document_id, program_traceback=trace)

    def _place(self, process: WorkerProcess) -> tuple[str, str | None]:
        """The document at which a worker is: as the end of a sentence, and its id."""
        ordinal = process.position
        if ordinal is None or ordinal >= len(self._ids):
            return "", None
        return f" at document {self._ids[ordinal]}", self._ids[ordinal]


def printable(text: str) -> str:
    """Returns untrusted text as it may be shown and stored: no control characters, no halves of surrogate pairs."""
    harmless = ("\n", "\t")
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") and c not in harmless else c for c in text)
