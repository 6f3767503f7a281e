"""Ctrl-C during a search: the first one lets it finish its step, the second one ends it at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import Interrupted

_TOLD = b"Finishing the step; press Ctrl-C again to stop at once.\n"


@contextmanager
def resumable(run: Path) -> Iterator[Callable[[], bool]]:
    """Take Ctrl-C while a search runs.

    :param run: Its run folder.
    :returns: A context manager that gives the function which the search asks whether it shall stop.
    :raises Interrupted: In place of KeyboardInterrupt, if the run can be resumed.
    """
    asked = threading.Event()

    def interrupt(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        # Past every lock and buffer, which the interrupted code may hold.
        os.write(2, _TOLD)

    before = signal.getsignal(signal.SIGINT)
    takes = threading.current_thread() is threading.main_thread() and before is signal.default_int_handler
    if takes:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield asked.is_set
    except KeyboardInterrupt:
        if (run / "run.json").exists() and not (run / "result.json").exists():
            msg = f"interrupted; go on with `autoindex optimize --resume {run}`"
            raise Interrupted(msg) from None
        raise
    finally:
        if takes:
            signal.signal(signal.SIGINT, before)
