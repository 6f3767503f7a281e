"""Writing files and folders so that they are there whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autoindex_haystack.errors import RunError


@contextmanager
def atomic_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Fill a new folder beside the final place and move it there at the end.

    :param folder: The final place.
    :param force: Replace what is there; otherwise an existing file or non-empty folder is an error.
    :returns: A context manager that gives the temporary folder to fill.
    :raises RunError: If the place is taken or cannot be written.
    """
    folder = Path(os.path.abspath(folder))
    refuse_existing(folder, force=force)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        temporary.chmod(0o777 & ~_umask())
    except OSError as error:
        msg = f"cannot write to {folder.parent} ({error.strerror}); choose another output folder"
        raise RunError(msg) from error
    try:
        yield temporary
        _move_into_place(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a new file beside the final place and move it there at the end, replacing what was there.

    :param path: The final place.
    :returns: A context manager that gives the temporary path to write.
    :raises RunError: If the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.fchmod(handle, 0o666 & ~_umask())
        os.close(handle)
    except OSError as error:
        msg = f"cannot write {path} ({error.strerror}); choose another place"
        raise RunError(msg) from error
    temporary = Path(name)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Refuse an output path that is taken.

    :param path: The output path.
    :param force: Whether the user allowed it to be replaced.
    :raises RunError: If something other than an empty folder is there and ``force`` was not given.
    """
    taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if taken and not force:
        msg = f"{path} exists; choose another place or replace it with --force"
        raise RunError(msg)


@contextmanager
def replaced_at_the_end(path: Path) -> Iterator[None]:
    """Put what is at a place aside while something new is made there.

    :param path: The place; nothing needs to be there.
    :returns: A context manager. When it ends well, what was there is removed; otherwise it is put back, and what was
        made in its place is removed, if there was something to put back.
    :raises RunError: If the place cannot be changed.
    """
    if not path.exists():
        yield
        return
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.replaced.", dir=path.resolve().parent))
        path.rename(aside / path.name)
    except OSError as error:
        msg = f"{path} cannot be replaced ({error.strerror}); choose another place"
        raise RunError(msg) from error
    try:
        yield
    except BaseException:
        remove(path)
        (aside / path.name).rename(path)
        raise
    finally:
        remove(aside)


def remove(path: Path) -> None:
    """Remove a file or a folder with all it holds, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _move_into_place(made: Path, place: Path) -> None:
    """Rename a folder; what was there is put aside before and removed after, so that it is never half gone."""
    aside = made.with_name(f"{made.name}.old")
    try:
        with suppress(FileNotFoundError):
            place.rename(aside)
        made.rename(place)
    except OSError as error:
        if aside.exists():
            aside.rename(place)
        msg = f"{place} cannot be replaced ({error.strerror}); choose another output folder"
        raise RunError(msg) from error
    remove(aside)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
