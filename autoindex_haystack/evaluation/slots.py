"""How many threads are at work at a time; one that only waits for another one gives its place to a third."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()
"""``slots``: those of which this thread has one."""


class Slots:
    """Places for threads at work.

    :param count: How many there are.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a place and have it for this thread.

        :returns: A context manager.
        """
        with self._free:
            _here.slots = self
            try:
                yield
            finally:
                _here.slots = None

    @contextmanager
    def _given_back(self) -> Iterator[None]:
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()


@contextmanager
def slot_given_back() -> Iterator[None]:
    """Let another thread work while this one waits, if it has a place; it has one again before it goes on.

    :returns: A context manager.
    """
    slots: Slots | None = getattr(_here, "slots", None)
    if slots is None:
        yield
        return
    with slots._given_back():
        yield
