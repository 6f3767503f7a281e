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
        self._free, self._returning = count, 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a place and have it for this thread.

        :returns: A context manager.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._free and not self._returning)
            self._free -= 1
        _here.slots = self
        try:
            yield
        finally:
            _here.slots = None
            self._release()

    @contextmanager
    def _given_back(self) -> Iterator[None]:
        self._release()
        try:
            yield
        finally:
            # Before those who have not begun: results are wanted in the order of the work.
            with self._changed:
                self._returning += 1
                self._changed.wait_for(lambda: self._free)
                self._returning -= 1
                self._free -= 1
                self._changed.notify_all()

    def _release(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()


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
