"""The sources of all programs in little space: they share most of their lines."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from autoindex_haystack.report.programs import Tried

_LONG = 4_000
"""Lines from which on frequent lines are no anchors of a diff: that would take minutes."""


def pack_sources(programs: Sequence[Tried]) -> dict[str, Any]:
    """Pack sources and diffs for the page's script.

    :param programs: The baseline and the candidates.
    :returns: ``lines``, every distinct line once; ``sources``, by hash the numbers of a program's lines; ``diffs``, for
        each program ``null`` or the number of its parent among the programs and the blocks that differ: beginning and
        end in the parent, beginning and end in the program.
    """
    numbers: dict[str, int] = {}
    packed: dict[str, list[int]] = {}
    for tried in programs:
        if tried.sha256 not in packed:
            packed[tried.sha256] = [numbers.setdefault(line, len(numbers)) for line in tried.source.splitlines()]
    first: dict[str, int] = {}
    for i, tried in enumerate(programs):
        first.setdefault(tried.sha256, i)
    known: dict[tuple[str, str], list[list[int]]] = {}
    diffs: list[list[Any] | None] = []
    for tried in programs:
        parent = next((p for p in tried.parents if p in packed and p != tried.sha256), None)
        if parent is None:
            diffs.append(None)
            continue
        key = (parent, tried.sha256)
        if key not in known:
            known[key] = _blocks(packed[parent], packed[tried.sha256])
        diffs.append([first[parent], known[key]])
    return {"lines": list(numbers), "sources": packed, "diffs": diffs}


def _blocks(old: list[int], new: list[int]) -> list[list[int]]:
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > _LONG)
    return [[i1, i2, j1, j2] for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
