"""Several pieces of work at a time, whose results arrive in the order of the work."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TypeVar

from autoindex_haystack.evaluation.slots import Slots
from autoindex_haystack.sandbox import IsCancelled

T = TypeVar("T")

_MOST_THREADS = 64
"""Threads at work and waiting together, if there are no more jobs."""


def side_by_side(works: Sequence[Callable[[IsCancelled], T]], jobs: int, take: Callable[[int, T], None]) -> None:
    """Do pieces of work in threads and take their results in this thread, in the order of the work.

    A piece that only waits for another one lets a third begin (see :mod:`autoindex_haystack.evaluation.slots`).
    When one fails, ``take`` fails or Ctrl-C is pressed, no further piece is begun, those that run are told to end, and
    all have ended before the error goes on.

    :param works: The pieces; each is given what it has to ask several times a second whether it shall end.
    :param jobs: How many are done at a time; with 1 they are done in this thread.
    :param take: Called with the number of a piece, from 0, and its result, once those before it have been taken.
    """
    if jobs == 1 or len(works) == 1:
        for i, work in enumerate(works):
            take(i, work(lambda: False))
        return
    cancelled, slots = threading.Event(), Slots(jobs)

    def do(work: Callable[[IsCancelled], T]) -> T:
        with slots.taken():
            if cancelled.is_set():
                raise CancelledError
            return work(cancelled.is_set)

    with ThreadPoolExecutor(min(len(works), max(jobs, _MOST_THREADS)), thread_name_prefix="autoindex") as pool:
        futures = [pool.submit(do, work) for work in works]
        try:
            for i, future in enumerate(futures):
                take(i, future.result())
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
