"""Where tasks run: in processes of this machine, or on a Ray cluster."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from autoindex_haystack.distributed.tasks import Task
from autoindex_haystack.errors import BackendError

_task: Task | None = None
"""The task of this process, if it is one of the pool."""


class Engine(Protocol):
    """Runs tasks."""

    workers: int
    """How many run side by side."""

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Do a task for each of many items.

        :param task: The task.
        :param items: The items.
        :returns: What came of them, in the order in which they are finished.
        :raises AutoIndexError: What the task raised.
        """

    def close(self) -> None:
        """Release everything."""


class LocalEngine:
    """Processes of this machine.

    :param workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Do a task for each item; see :class:`Engine`."""
        if min(self.workers, len(items)) <= 1:
            yield from _in_this_process(task, items)
            return
        workers = min(self.workers, len(items))
        pool: Executor
        do: Callable[[Any], dict[str, Any]]
        if task.waits:
            pool, do = ThreadPoolExecutor(workers), task
        else:
            # Never forked: this process may have threads, or a Java machine.
            spawn = multiprocessing.get_context("spawn")
            pool, do = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin, initargs=(task,)), _do
        try:
            for future in as_completed([pool.submit(do, item) for item in items]):
                yield future.result()
        except BrokenProcessPool as error:
            msg = "a worker process was killed, maybe for lack of memory; run the command again, and it goes on"
            raise BackendError(msg) from error
        finally:
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Nothing is kept between calls."""


def _in_this_process(task: Task, items: Sequence[Any]) -> Iterator[dict[str, Any]]:
    if not items:
        return
    task.start()
    try:
        for item in items:
            yield task(item)
    finally:
        task.close()


def _begin(task: Task) -> None:
    global _task  # noqa: PLW0603 - one a process
    _task = task


def _do(item: Any) -> dict[str, Any]:
    assert _task is not None
    _task.start()  # Here and not when the process begins: an error there would say nothing.
    return _task(item)
