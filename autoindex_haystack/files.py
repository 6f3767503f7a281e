"""Writing files and folders so that they are there whole or not at all, also when this process is killed.

What is unfinished lies beside its place under a name of its own and is locked as long as its process lives. The next
process that writes there finds what a killed one has left: it is no longer locked, whoever it belonged to.
"""

import fcntl
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from autoindex_haystack.errors import RunError

_NEW, _OLD = "new", "old"
"""Unfinished things; folders that hold what was put aside for them, to be put back unless something took its place."""

_OURS = re.compile(rf"\..+\.[a-z0-9_]+\.autoindex-({_NEW}|{_OLD})", re.DOTALL)
_NAME = 50
"""Characters of a place's name in the names beside it; a name has 255 bytes at most."""

_BUFFER = 1 << 20

_swept: set[tuple[int, int]] = set()
"""Folders, by device and inode, that this process has swept."""


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
        temporary, lock = _make_folder(folder, _NEW)
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
    finally:
        os.close(lock)


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a new file beside the final place and move it there at the end, replacing what was there.

    :param path: The final place.
    :returns: A context manager that gives the temporary path to write.
    :raises RunError: If the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary, lock = _make_file(path)
        os.fchmod(lock, 0o666 & ~_umask())
    except OSError as error:
        msg = f"cannot write {path} ({error.strerror}); choose another place"
        raise RunError(msg) from error
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    finally:
        os.close(lock)


class ScratchFolder:
    """A folder among the system's temporary files, which is removed when this object is closed or forgotten.

    :raises RunError: If the system's folder of temporary files cannot be written.
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir(), "scratch")
        try:
            self.path, lock = _make_folder(place, _NEW)
        except OSError as error:
            msg = f"cannot write to {place.parent} ({error.strerror}); set TMPDIR to a folder that can be written"
            raise RunError(msg) from error
        self._finalizer = weakref.finalize(self, _discard, self.path, lock, os.getpid())

    def close(self) -> None:
        """Remove the folder. Closing twice is fine."""
        self._finalizer()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def nameless_file() -> tuple[BinaryIO, int]:
    """Make a file without a name among the system's temporary files, of which nothing is left whatever happens.

    :returns: The file to write, and a descriptor that can only read it.
    :raises OSError: If the system's folder of temporary files cannot be written.
    """
    folder = Path(tempfile.gettempdir())
    sweep(folder)
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            reader = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            return os.fdopen(descriptor, "wb", _BUFFER), reader
        os.close(descriptor)
    path, descriptor = _make_file(folder / "scratch")
    try:
        return os.fdopen(descriptor, "wb", _BUFFER), os.open(path, os.O_RDONLY)
    finally:
        path.unlink()


def _discard(path: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has the object, too
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Refuse an output path that is taken.

    :param path: The output path.
    :param force: Whether the user allowed it to be replaced.
    :raises RunError: If something other than an empty folder is there and ``force`` was not given.
    """
    sweep(path.parent)  # a killed process may have put aside what belongs here
    taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if taken and not force:
        msg = f"{path} exists; choose another place or replace it with --force"
        raise RunError(msg)


@contextmanager
def replaced_at_the_end(path: Path) -> Iterator[Callable[[], None]]:
    """Put what is at a place aside while something new is made there.

    :param path: The place; nothing needs to be there.
    :returns: A context manager. When it ends well, what was there is removed; otherwise it is put back, and what was
        made in its place is removed, if there was something to put back. It gives a function that settles that what is
        made stays also when it does not end well. If this process is killed, what it has made stays; if that is
        nothing, what was there is put back.
    :raises RunError: If the place cannot be changed.
    """
    path = Path(os.path.abspath(path))
    sweep(path.parent)
    settled = threading.Event()
    if not path.exists():
        yield settled.set
        return
    try:
        aside = _Aside(path)
    except OSError as error:
        msg = f"{path} cannot be replaced ({error.strerror}); choose another place"
        raise RunError(msg) from error
    try:
        yield settled.set
    except BaseException:
        if not settled.is_set():
            aside.put_back()
        raise
    finally:
        aside.close()


def remove(path: Path) -> None:
    """Remove a file or a folder with all it holds, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Clean a folder of what killed processes left unfinished there; once a process is enough.

    :param folder: The folder. What a living process works at, whoever it belongs to, and what may not be removed stay.
    """
    with suppress(OSError):
        place = os.stat(folder)
        if (place.st_dev, place.st_ino) in _swept:
            return
        _swept.add((place.st_dev, place.st_ino))
        for name in os.listdir(folder):
            if _OURS.fullmatch(name):
                with suppress(OSError):
                    _take(folder, name)


def _take(folder: Path, name: str) -> None:
    """Remove what a process has left, if that process is gone."""
    path = folder / name
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not _lock(lock, path, wait=False):
            return
        # By the descriptor, so that nobody can have another folder emptied in a place that everyone may write.
        for kept in os.listdir(lock) if name.endswith(_OLD) else ():
            if not os.path.lexists(folder / kept):
                os.rename(kept, folder / kept, src_dir_fd=lock)
        remove(path)
    finally:
        os.close(lock)


class _Aside:
    """What is at a place, put aside in a folder beside it.

    :param place: The place.
    :raises OSError: If it cannot be moved.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._folder, self._lock = _make_folder(place, _OLD)
        self._kept = self._folder / place.name
        try:
            place.rename(self._kept)
        except BaseException:
            self.close()
            raise

    def put_back(self) -> None:
        """Put it where it was, in the place of what is there now."""
        remove(self._place)
        self._kept.rename(self._place)

    def close(self) -> None:
        """Remove it, unless it was put back."""
        try:
            remove(self._folder)
        finally:
            os.close(self._lock)


def _move_into_place(made: Path, place: Path) -> None:
    """Rename a folder; what was there is put aside before and removed after, so that it is never half gone."""
    try:
        if not os.path.lexists(place):
            made.rename(place)
            return
        aside = _Aside(place)
        try:
            made.rename(place)
        except BaseException:
            aside.put_back()
            raise
        finally:
            aside.close()
    except OSError as error:
        msg = f"{place} cannot be replaced ({error.strerror}); choose another output folder"
        raise RunError(msg) from error


def _make_folder(place: Path, kind: str) -> tuple[Path, int]:
    """Make a folder beside a place, for this user alone and locked; returns it and the descriptor that locks it."""
    sweep(place.parent)
    while True:
        path = Path(tempfile.mkdtemp(f".autoindex-{kind}", f".{place.name[:_NAME]}.", place.parent))
        # Another process may have swept it before it was locked.
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            if _lock(lock, path, wait=True):
                return path, lock
            os.close(lock)


def _make_file(place: Path) -> tuple[Path, int]:
    """Make a file beside a place, for this user alone and locked; returns it and the descriptor that locks it."""
    sweep(place.parent)
    while True:
        lock, name = tempfile.mkstemp(f".autoindex-{_NEW}", f".{place.name[:_NAME]}.", place.parent)
        if _lock(lock, Path(name), wait=True):
            return Path(name), lock
        os.close(lock)


def _lock(descriptor: int, path: Path, *, wait: bool) -> bool:
    """Lock what is open until it is closed or this process ends; whether that worked and it still has its name.

    Where a file system has no locks, what is made counts as locked: nobody else can lock it either.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if not wait:
            return False
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
