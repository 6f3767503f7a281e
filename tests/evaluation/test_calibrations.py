"""What one program has learned another one that can only learn the same is given; each is told its full cost."""

import threading
import time
from contextlib import suppress

import pytest

from autoindex_haystack.errors import Cancelled, ProgramError
from autoindex_haystack.evaluation import Evaluator, calibrations
from autoindex_haystack.evaluation.calibrations import Calibrations
from autoindex_haystack.optimizer.pareto import pareto_list
from autoindex_haystack.program import Program
from autoindex_haystack.sandbox import Limits, ProgramRunner

from .conftest import indexing

LEARNING = "def calibrate(self, docs): return {'n': sum(len(doc.text) for doc in docs), 'm': [1.5, None]}"


@pytest.fixture
def calibrated(monkeypatch):
    """The programs that really calibrate, as they do; each takes a while."""
    names = []
    calibrate = ProgramRunner.calibrate

    def slowly(runner):
        names.append(runner.program.source)
        time.sleep(0.2)
        return calibrate(runner)

    monkeypatch.setattr(ProgramRunner, "calibrate", slowly)
    return names


def test_programs_that_differ_elsewhere_learn_once(small, calibrated):
    one, two = indexing("doc.text", LEARNING), indexing("doc.text + str(self.state['n'])", LEARNING)
    with Evaluator(small) as evaluator, Evaluator(small) as other:
        first, second = evaluator.evaluate(one, ["q1"]), evaluator.evaluate(two, ["q1"])
        anew = other.evaluate(two, ["q1"])
    assert calibrated == [one.source, two.source]
    assert first.state == second.state == anew.state
    assert (second.scores, second.rankings, second.digests.tolist()) == (
        anew.scores,
        anew.rankings,
        anew.digests.tolist(),
    )


def test_the_cost_of_indexing_is_that_of_the_program_alone(small, calibrated):
    programs = [indexing("doc.text", LEARNING), indexing("doc.text + ' wing'", LEARNING)]
    with Evaluator(small) as evaluator:
        one, two = (evaluator.evaluate(program, ["q1"]) for program in programs)
    assert two.seconds["calibrate"] < 0.2 <= two.calibrate_seconds
    assert two.indexing_seconds >= two.calibrate_seconds == one.calibrate_seconds
    points = {point.program_sha256: point for point in pareto_list([one, two], {})}
    assert all(point.seconds >= 0.2 for point in points.values())


def test_programs_that_learn_differently_learn_each(small, calibrated):
    programs = [indexing("doc.text", LEARNING.replace("1.5", number)) for number in ("1", "1.0", "True")]
    with Evaluator(small) as evaluator:
        states = [evaluator.evaluate(program, ["q1"]).state["m"][0] for program in programs]
    assert list(map(repr, states)) == ["1", "1.0", "True"]


def test_a_failure_is_each_programs_own(small, calibrated):
    failing = "def calibrate(self, docs): return {'n': 1 // 0}"
    with Evaluator(small) as evaluator:
        for text in ("doc.text", "doc.text + 'x'"):
            with pytest.raises(ProgramError, match="ZeroDivisionError"):
                evaluator.evaluate(indexing(text, failing), ["q1"])
    assert len(calibrated) == 2


def learning(**things):
    lines = "".join(f"        self.state['{key}'] = {value}\n" for key, value in things.items())
    return indexing(
        "doc.text", f"def calibrate(self, docs):\n        docs = list(docs)\n{lines}        return self.state"
    )


def test_what_several_learn_among_other_things_is_learned_once(small, calibrated):
    length, number, none = "sum(len(doc.text) for doc in docs)", "len(docs)", "1 // (len(docs) - len(docs))"
    parts = {"length": learning(length=length), "number": learning(number=number), "none": learning(none=none)}
    named = {
        learning(length=length).source: ("length",),
        learning(length=length, number=number).source: ("length", "number"),
        learning(number=number, length=length).source: ("number", "length"),
        learning(number=number, none=none).source: ("number", "none"),
    }

    def learned_apart(source):
        return {key: parts[key].source for key in named[source]}

    *fine, failing = map(Program, named)
    with Evaluator(small, learned_apart=learned_apart) as evaluator, Evaluator(small) as plain:
        for program in fine:
            found = evaluator.evaluate(program, ["q1"])
            assert list(found.state) == sorted(named[program.source])
            assert found.calibrate_seconds >= 0.2 * len(found.state)
        assert calibrated == [parts["length"].source, parts["number"].source]
        assert [plain.evaluate(program, ["q1"]).state for program in fine][-1] == found.state
        # The message is of the program that was asked for.
        for _ in range(2):
            with pytest.raises(ProgramError, match="line 8, in calibrate"):
                evaluator.evaluate(failing, ["q1"])
    # What has failed by itself is not tried again.
    assert calibrated[-3:] == [parts["none"].source, failing.source, failing.source]


@pytest.mark.parametrize("limits", [Limits(state_bytes=100), Limits(seconds=0.3)])
def test_what_is_learned_apart_is_held_to_the_limits_of_a_program(small, calibrated, limits):
    one, two = "'x' * 70", "'y' * 70"
    parts = {"one": learning(one=one).source, "two": learning(two=two).source}
    whole = learning(one=one, two=two)
    with Evaluator(small, limits=limits, learned_apart=lambda _: parts) as evaluator, suppress(ProgramError):
        evaluator.evaluate(whole, ["q1"])
    assert calibrated == [*parts.values(), whole.source]


def test_those_who_ask_at_the_same_time_wait_for_one():
    known, done, counted = Calibrations(), [], []

    def calibrate():
        counted.append(1)
        time.sleep(0.1)
        return {"n": 1}

    def ask():
        done.append(known.learn("key", calibrate, lambda: False))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counted) == 1
    assert [learned.state for learned in done] == [{"n": 1}] * 4


def test_who_waits_takes_over_when_another_fails_and_can_be_called_off():
    known, begun = Calibrations(), threading.Event()

    def fail():
        begun.set()
        time.sleep(0.3)
        raise ProgramError("no")

    def ask():
        with pytest.raises(ProgramError):
            known.learn("key", fail, lambda: False)

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait()
    with pytest.raises(Cancelled):
        known.learn("key", dict, lambda: True)
    assert known.learn("key", lambda: {"n": 2}, lambda: False).state == {"n": 2}
    thread.join()


def test_memory_is_bounded_and_what_was_asked_for_last_is_kept(monkeypatch):
    monkeypatch.setattr(calibrations, "_MOST_BYTES", 30)
    known, counted = Calibrations(), []

    def learn(key):
        def calibrate():
            counted.append(key)
            return {"n": "12345"}

        return known.learn(key, calibrate, lambda: False)

    for key in "abacab":
        learn(key)
    assert counted == ["a", "b", "c", "b"]
