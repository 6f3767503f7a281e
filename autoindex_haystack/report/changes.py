"""What changed from one program of a run to another, as a unified diff."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import RunError
from autoindex_haystack.report.programs import Tried, read_programs
from autoindex_haystack.runs import read_info

_SHORTEST = 6
"""Digits of a hash that name a program."""


@dataclass(frozen=True)
class Change:
    """Two programs and the lines that differ.

    :param program: The one.
    :param against: What it is compared with.
    :param lines: The unified diff, without line ends; empty when both are the same.
    """

    program: Tried
    against: Tried
    lines: list[str]


def find_change(run: Path, program: str | None = None, *, best: bool = False, against: str | None = None) -> Change:
    """Compare two programs of a run.

    :param run: The run folder; the run need not be finished.
    :param program: The program's label, such as ``3.2``, or six or more digits of its hash; the one that was adopted
        last when not given.
    :param best: Take the program with the best objective on the validation queries, adopted or not.
    :param against: What to compare with: ``parent``, ``baseline`` or another program. When not given, the parent of a
        program that was named and of the best one, otherwise the baseline.
    :returns: The change.
    :raises RunError: If the run has no such program, or it has no parent.
    """
    objective: Any = read_info(run).settings.objective
    programs = read_programs(run, objective)
    if program is not None:
        chosen = _find(programs, program, run)
    elif best:
        evaluated = [tried for tried in programs if tried.metrics]
        chosen = max(evaluated, key=lambda tried: tried.value or 0.0)
    else:
        chosen = next((tried for tried in reversed(programs) if tried.fate == "adopted"), programs[0])
    wanted = against or ("parent" if program is not None or best else "baseline")
    if wanted == "baseline":
        other = programs[0]
    elif wanted == "parent":
        other = _parent(programs, chosen, run)
    else:
        other = _find(programs, wanted, run)
    old, new = other.source.splitlines(), chosen.source.splitlines()
    before, after = (f"{tried.label} ({tried.sha256[:12]})" for tried in (other, chosen))
    return Change(chosen, other, list(unified_diff(old, new, before, after, lineterm="")))


def _parent(programs: Sequence[Tried], chosen: Tried, run: Path) -> Tried:
    found = next((tried for parent in chosen.parents for tried in programs if tried.sha256 == parent), None)
    if found is None:
        msg = f"program {chosen.label} of {run} has no parent; name a program to compare with by --against"
        raise RunError(msg)
    return found


def _find(programs: Sequence[Tried], name: str, run: Path) -> Tried:
    named = [tried for tried in programs if tried.label == name]
    if not named and len(name) >= _SHORTEST:
        # Suggested twice, it is one program.
        named = list({t.sha256: t for t in reversed(programs) if t.sha256.startswith(name.lower())}.values())
    if len(named) != 1:
        what = f"{_SHORTEST} or more digits of a single hash are needed" if named else f"{run} has no such program"
        msg = f"program {name!r} is not clear: {what}; give a label such as 2.1 or a hash from the report of the run"
        raise RunError(msg)
    return named[0]
