"""Who is at work on a run: one process at a time, known by its number."""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from autoindex_haystack.errors import RunError

_LOCK = ".lock"
_SECONDS = 0.5
"""How long to wait: who only looks whether a run is locked holds the lock for a moment."""


class RunLock:
    """The lock of a run folder; the system takes it from a process that is gone.

    :param run: The run folder.
    :raises RunError: If another process is at work on it; the message names it.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        # Any thread may release it, and threads of one process exclude each other too.
        self._lock = FileLock(run / _LOCK, timeout=_SECONDS, thread_local=False, is_singleton=False)
        try:
            self._lock.acquire()
            (run / _LOCK).write_text(f"{os.getpid()} {socket.gethostname()}\n", encoding="utf-8")
        except Timeout:
            raise _refusal(run) from None
        except OSError as error:
            self._lock.release()
            msg = f"the run folder {run} cannot be written ({error.strerror}); make it writable, or copy it elsewhere"
            raise RunError(msg) from error

    def release(self) -> None:
        """Let others at the run. Releasing twice is fine."""
        if self._lock.is_locked:
            with suppress(OSError):
                (self._run / _LOCK).unlink()
            self._lock.release()


def refuse_at_work(run: Path) -> None:
    """Refuse a run folder that a process is at work on.

    :param run: The run folder; nothing needs to be there.
    :raises RunError: If one is.
    """
    if is_at_work(run):
        raise _refusal(run)


def is_at_work(run: Path) -> bool:
    """Whether a process is at work on a run.

    :param run: The run folder.
    """
    with suppress(OSError):
        descriptor = os.open(run / _LOCK, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def _refusal(run: Path) -> RunError:
    msg = f"{_owner(run)} is at work on {run}; wait until it ends, or watch it with `autoindex watch {run}`"
    return RunError(msg)


def _owner(run: Path) -> str:
    with suppress(OSError, ValueError):
        process, host = (run / _LOCK).read_text(encoding="utf-8").split()
        elsewhere = "" if host == socket.gethostname() else f" on {host}"
        return f"process {process}{elsewhere}"
    return "another process"
