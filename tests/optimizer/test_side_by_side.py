"""Work side by side: results in the order of the work, and nothing goes on after an error or Ctrl-C."""

import threading
import time

import pytest

from autoindex_haystack.evaluation.calibrations import Calibrations
from autoindex_haystack.optimizer.side_by_side import side_by_side

SECONDS = 30


@pytest.mark.parametrize("jobs", [1, 2, 5, 20])
def test_results_come_in_the_order_of_the_work_whichever_ends_first(jobs):
    ended = [threading.Event() for _ in range(6)]

    def work(i, cancelled):
        if jobs > 1 and i % 2 == 0:
            ended[i + 1].wait(SECONDS)
        ended[i].set()
        return i

    taken = []
    side_by_side([lambda c, i=i: work(i, c) for i in range(6)], jobs, lambda *result: taken.append(result))
    assert taken == [(i, i) for i in range(6)]


def test_no_more_than_the_jobs_are_at_work_at_a_time():
    lock, at_work, most = threading.Lock(), set(), []
    both = threading.Barrier(2)

    def work(i, cancelled):
        with lock:
            at_work.add(i)
            most.append(len(at_work))
        both.wait(SECONDS)
        with lock:
            at_work.discard(i)

    side_by_side([lambda c, i=i: work(i, c) for i in range(8)], 2, lambda *_: None)
    assert max(most) == 2


def test_a_piece_that_waits_for_another_lets_a_third_begin_and_goes_on_before_a_fourth():
    known, learning, third, begun = Calibrations(), threading.Event(), threading.Event(), []

    def learn():
        learning.set()
        assert third.wait(SECONDS)
        # Were there a place for it, the fourth would begin now.
        time.sleep(0.2)
        begun.append("learned")
        return {"n": 1}

    def work(i, cancelled):
        if i == 1:
            assert learning.wait(SECONDS)
        if i < 2:
            found = known.learn("key", learn, cancelled).state["n"]
            begun.append(f"{i} goes on")
            time.sleep(0.1)
            return found
        begun.append(i)
        third.set()
        while "1 goes on" not in begun:
            assert i == 2
            time.sleep(0.01)
        return i

    taken = []
    side_by_side([lambda c, i=i: work(i, c) for i in range(4)], 2, lambda *result: taken.append(result))
    assert taken == [(0, 1), (1, 1), (2, 2), (3, 3)]
    assert begun[:2] == [2, "learned"]
    assert begun.index("1 goes on") < begun.index(3)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("where", ["work", "take"])
def test_after_an_error_work_is_called_off_and_has_ended(error, where):
    begun, ended = threading.Event(), []

    def fails(cancelled):
        begun.wait(SECONDS)
        if where == "work":
            raise error

    def goes_on(cancelled):
        begun.set()
        while not cancelled():
            pass
        ended.append(threading.current_thread())

    def take(*_):
        raise error

    never = [lambda _: ended.append("begun")] * 3
    with pytest.raises(error):
        side_by_side([fails, goes_on, *never], 2, take)
    # A thread that was free before the others were called off may have begun one more.
    assert any(isinstance(thread, threading.Thread) for thread in ended)
    assert len(ended) < 5
