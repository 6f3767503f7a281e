"""A loop in Java does its work once for every row, also when several threads use it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from autoindex_haystack.errors import BackendError
from pyserini_backend import jvm
from pyserini_backend.handles import method, static
from pyserini_backend.loops import ParallelLoop, row_function


def test_every_row_is_done_once_with_its_columns() -> None:
    with jvm.java("no loop"):
        found = jvm.java_class("java.util.concurrent.ConcurrentHashMap")()
        put = method("Map", "put", "Object", "Object", "Object").bindTo(found)
        loop = ParallelLoop(row_function(put, (2, 0)), 3)

    def run(part: int) -> None:
        names = [f"{part} {n}" for n in range(500)]
        loop.run([names, ["unused"] * 500, [f"key {name}" for name in names]])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))
    assert found.size() == 4000
    assert found.get("key 3 14") == "3 14"
    loop.run([[], [], []])
    assert found.size() == 4000


def test_an_error_in_a_row_is_an_error_of_the_loop_which_stays_usable() -> None:
    with jvm.java("no loop"):
        loop = ParallelLoop(row_function(static("Long", "parseLong", "long", "String"), (0,)), 1)
    loop.run([["2", "3"]])
    with pytest.raises(BackendError, match=r'failed: .*NumberFormatException: .*"x"'), jvm.java_errors("failed"):
        loop.run([["2", "x", "3"]])
    loop.run([["4"]])
