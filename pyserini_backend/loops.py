"""Loops that run inside Java, over rows of texts that reach it in one string."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from pyserini_backend import handles
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import enter, java, java_class


def row_function(target: Handle, order: tuple[int, ...]) -> Handle:
    """Make a function of texts one of a row.

    :param target: The function; all its parameters are strings.
    :param order: For each parameter the column to take.
    :returns: The function of a list that holds row after row, and of the place where a row begins.
    """
    target = handles.as_kind(target, "void", *["String"] * len(order))
    for position, column in reversed(list(enumerate(order))):
        target = handles.feed(target, position, _item(column))
    return handles.arrange(target, (0, 1) * len(order), "List", "int")


class ParallelLoop:
    """Runs a function for all rows of a table on all cores; may be used from several threads.

    The function becomes one Java object for all calls: Java would compile each new one anew.

    :param function: What :func:`row_function` gives.
    :param width: How many columns there are.
    """

    def __init__(self, function: Handle, width: int) -> None:
        self._function, self._width = function, width
        self._free: list[_Lane] = []
        """Lanes not in use; taking one and giving it back are single steps."""
        self._as_list = handles.then(handles.split(), handles.static("Arrays", "asList", "List", "Object[]"))

    def run(self, columns: Sequence[Sequence[str]]) -> None:
        """Run the function for all rows; when one raises, others may have run or not.

        :param columns: The columns, as many as was said, of equal lengths.
        """
        self.stage(columns)()

    def stage(self, columns: Sequence[Sequence[str]]) -> Callable[[], None]:
        """Bring the rows to Java without running yet, so that this can be done while other rows are run over.

        :param columns: As for :meth:`run`.
        :returns: What runs the function for all rows, hardly holding Python's lock.
        """
        count = len(columns[0])
        if not count:
            return lambda: None
        enter()
        rows = columns[0] if self._width == 1 else list(chain.from_iterable(zip(*columns, strict=True)))
        return partial(self._run, handles.call(self._as_list, handles.joined(rows)), count)

    def _run(self, texts: Any, count: int) -> None:
        enter()
        lane = self._free.pop() if self._free else self._new_lane()
        try:
            handles.call(lane.put, texts)
            with java("the loop cannot be made"):
                every = handles.feed(lane.loop, 0, handles.constant("int", count))
            handles.call(every)
        finally:
            self._free.append(lane)

    def _new_lane(self) -> "_Lane":
        with java("the loop cannot be made"):
            kept = java_class("java.util.concurrent.atomic.AtomicReference")()
            get = handles.as_kind(handles.method("AtomicReference", "get", "Object").bindTo(kept), "List")
            row = handles.static("Math", "multiplyExact", "int", "int", "int")
            row = handles.feed(row, 1, handles.constant("int", self._width))
            one = handles.instance("IntConsumer", handles.feed(handles.feed(self._function, 1, row), 0, get))
            return _Lane(
                handles.method("AtomicReference", "set", "void", "Object").bindTo(kept),
                handles.feed(_for_each_parallel(), 1, one),
            )


class _Lane(NamedTuple):
    """A loop that one thread runs at a time.

    :param put: Takes the list to run over.
    :param loop: Runs over so many rows of it.
    """

    put: Handle
    loop: Handle


def _item(column: int) -> Handle:
    """Returns the function of a list and the place where a row begins that gives the text in a column."""
    item = handles.as_kind(handles.method("List", "get", "Object", "int"), "String", "List", "int")
    if not column:
        return item
    place = handles.static("Math", "addExact", "int", "int", "int")
    return handles.feed(item, 1, handles.feed(place, 1, handles.constant("int", column)))


def _for_each_parallel() -> Handle:
    """Returns the function (n, what) that does ``what`` for 0 to n - 1 on all cores."""
    numbers = handles.feed(
        handles.static("IntStream", "range", "IntStream", "int", "int"), 0, handles.constant("int", 0)
    )
    numbers = handles.then(numbers, handles.method("IntStream", "parallel", "IntStream"))
    return handles.feed(handles.method("IntStream", "forEach", "void", "IntConsumer"), 0, numbers)
