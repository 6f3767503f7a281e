"""Where commands may write: output places are refused before any work is done, not after it."""

import os
from collections.abc import Sequence
from pathlib import Path

from autoindex_haystack.errors import RunError
from autoindex_haystack.files import refuse_existing


def check_outputs(*paths: Path | None, inputs: Sequence[Path] = (), force: bool = False) -> None:
    """Refuse output places before any work is done.

    :param paths: Files or folders to be written; None for those that were not asked for.
    :param inputs: What the command reads: an output may neither be one of these nor hold one.
    :param force: Whether existing outputs may be replaced.
    :raises RunError: If a place is taken, cannot be written or would destroy an input.
    """
    kept = [Path.cwd(), *(path.resolve() for path in inputs if path.exists())]
    for path in paths:
        if path is None:
            continue
        place = path.resolve()
        if held := next((p for p in kept if p == place or place in p.parents), None):
            msg = f"writing {path} would replace {held}; choose another place"
            raise RunError(msg)
        refuse_existing(path, force=force)
        _check_writable(path)
        kept.append(place)


def _check_writable(path: Path) -> None:
    parent = next(p for p in path.resolve().parents if p.exists())
    if not parent.is_dir():
        msg = f"cannot write {path}: {parent} is no folder; choose another place"
        raise RunError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"cannot write {path}: {parent} is read-only; choose another place"
        raise RunError(msg)
