"""The journal of a run: one record a line, checksummed, on disk before it counts; read again when the run goes on.

A resumed search does everything anew from its beginning, but what the journal knows is not done again: it is
recalled. What the search then writes must be what is there already, up to the point where it was interrupted; so the
order of the records means something, and must not depend on what is at work side by side.
"""

import json
import os
import re
from collections import deque
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from autoindex_haystack.errors import RunError
from autoindex_haystack.wording import counted

Record = dict[str, Any]

JOURNAL = "journal.jsonl"
"""The file in a run folder."""

_SEAL, _NOTHING = b', "xxh3": "%s"}\n', b"0" * 16

_TIMES = re.compile("at|(.*_)?seconds")
"""Members that may be others when a run is repeated."""

_ASIDE = "evidence"
"""Records for people, of which nothing comes back."""


class Journal:
    """The journal of a run that is being written.

    :param run: The run folder.
    :param records: What is in it already, to be recalled; see :meth:`reopened`.
    :param notes: What a user should know about the state in which it was found.
    """

    def __init__(self, run: Path, records: list[Record] | None = None, *, notes: tuple[str, ...] = ()) -> None:
        self._run = run
        self._path = run / JOURNAL
        self._known = deque(records or ())
        self.known = len(self._known)
        """How many records were in it already."""
        self.notes = notes
        self.seconds = float(records[-1].get("at", 0.0)) if records else 0.0
        """How long the run had taken by the last record that is known."""
        self.begun_at = float(records[0].get("at", 0.0)) if records else None
        """The same by the first record; None when there is none."""

    @classmethod
    def reopened(cls, run: Path) -> "Journal":
        """Open the journal of an interrupted run; a last record that was not written whole is cut off.

        :param run: The run folder.
        :returns: The journal.
        :raises RunError: If a record before the last one is damaged, or the file cannot be read or written.
        """
        path = run / JOURNAL
        if not path.exists():
            return cls(run)
        records, whole, damaged = _read(path)
        notes: list[str] = []
        if damaged:
            lost = counted(damaged, "record was", "records were")
            notes.append(f"The end of {path} was not written whole: {lost} cut off after record {len(records)}.")
            try:
                os.truncate(path, whole)
            except OSError as error:
                msg = f"{path} cannot be written ({error.strerror}); make it writable, or copy the folder elsewhere"
                raise RunError(msg) from error
        return cls(run, records, notes=tuple(notes))

    def recall(self, kind: str) -> Record | None:
        """Take the next record, if it is known.

        :param kind: What it must be.
        :returns: The record; None when the search was interrupted before it.
        """
        for place, record in enumerate(self._known):
            if record["record"] == kind:
                for _ in range(place + 1):
                    self._known.popleft()
                return record
            if record["record"] != _ASIDE:
                break
        return None

    def ahead(self, kinds: tuple[str, ...], program: str, until: tuple[str, ...]) -> Record | None:
        """Look for a record that the search will come to.

        :param kinds: What it may be.
        :param program: The hash of the program that it is about.
        :param until: The kinds of records beyond which it is another matter.
        :returns: The record; None when there is none.
        """
        for record in self._known:
            if record["record"] in until:
                break
            if record["record"] in kinds and record.get("program") == program:
                return record
        return None

    def append(self, record: Record, at: float = 0.0) -> None:
        """Add a record and see that it is on disk before it is used; one that is known must be the same.

        :param record: A JSON object.
        :param at: Seconds that the run has taken.
        :raises OSError: If it cannot be written.
        :raises RunError: If a resumed search comes to another record than it did before.
        """
        if self.begun_at is None:
            self.begun_at = at
        body = json.dumps(record | {"at": round(at, 3)}, allow_nan=False)
        if self._known:
            self._compare(json.loads(body))
            return
        size = None
        try:
            with self._path.open("ab") as file:
                size = file.tell()
                # In ASCII: whatever a model wrote, half a surrogate pair or another sign for a line's end, is one line.
                file.write(_sealed(body.encode("ascii")))
                file.flush()
                os.fsync(file.fileno())
            if not size:
                sync_folder(self._run)
        except OSError:
            self._cut(size)
            raise

    def _cut(self, size: int | None) -> None:
        """Take off half a record, so that the next one can follow."""
        try:
            if size is not None:
                os.truncate(self._path, size)
        except OSError:
            pass  # Whoever goes on with the run cuts it off.

    def _compare(self, record: Record) -> None:
        known = self._known[0]
        if known["record"] == record["record"] == _ASIDE or _plain(known) == _plain(record):
            self._known.popleft()
            return
        msg = (
            f"{self._run} cannot be resumed: its journal goes on with {_about(known)} where the search now has "
            f"{_about(record)}; resume it with the versions it was begun with, or begin a new run"
        )
        raise RunError(msg)


def read_journal(run: Path) -> list[Record]:
    """Read what a search wrote down, record by record; also while it is being written.

    :param run: The run folder.
    :returns: The records, oldest first, without the time at which they were written; a last one that is not there
        whole is left out.
    :raises RunError: If the folder has no journal, or it is damaged.
    """
    records, _, damaged = _read(run / JOURNAL)
    if damaged > 1 and not records:
        msg = f"{run / JOURNAL} is damaged, or of an earlier version; search again"
        raise RunError(msg)
    for record in records:
        del record["at"]
    return records


def candidate_label(record: Record) -> str:
    """Returns what people call a candidate: its iteration and its number in it, such as ``2.1``.

    :param record: The record of kind ``candidate``.
    """
    return f"{record['iteration']}.{record['number']}"


def sync_folder(folder: Path) -> None:
    """See that the names in a folder are on disk.

    :param folder: The folder.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> tuple[list[Record], int, int]:
    """The records, how many bytes they take, and how many lines after them are damaged."""
    try:
        lines = re.findall(rb"[^\n]*\n|[^\n]+$", path.read_bytes())
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); give the folder of a run"
        raise RunError(msg) from error
    found = [_opened(line) for line in lines]
    last = max((number for number, record in enumerate(found, start=1) if record is not None), default=0)
    records: list[Record] = []
    for number, record in enumerate(found[:last], start=1):
        if record is None:
            msg = (
                f"record {number} of {path} is damaged, with whole ones after it; put the file back from a "
                f"backup, or keep its first {number - 1} lines alone and resume the run, which does the rest again"
            )
            raise RunError(msg)
        records.append(record)
    return records, sum(map(len, lines[:last])), len(lines) - last


def _sealed(body: bytes) -> bytes:
    """Put the checksum of a JSON object into it, as its last member, and end the line."""
    return body[:-1] + _SEAL % xxh3_64_hexdigest(body).encode("ascii")


def _opened(line: bytes) -> Record | None:
    """The record of a line; None when it is not as it was written."""
    body = line[: -len(_SEAL % _NOTHING)] + b"}"
    if _sealed(body) != line:
        return None
    record = json.loads(body)
    return record if isinstance(record, dict) else None


def _plain(record: Record) -> Record:
    return {name: value for name, value in record.items() if not _TIMES.fullmatch(name)}


def _about(record: Record) -> str:
    program = str(record.get("program") or "")[:12]
    return f"`{record['record']}`" + (f" of program {program}" if program else "")
