"""Which questions the demo shows, and how an answer is ranked."""

from autoindex_haystack.experiments.demo.ask import Comparison, most_telling


def _comparison(name: str, before: list[str], after: list[str]) -> Comparison:
    return Comparison(name, f"question {name}", {"right": 2}, before, after)


def test_the_rank_is_that_of_the_first_right_answer():
    comparison = _comparison("q", ["a", "b", "right"], ["right", "a"])
    assert (comparison.rank_before, comparison.rank_after) == (3, 1)
    assert comparison.gain == 1 - 1 / 3
    assert _comparison("q", [], ["a"]).rank_after is None
    assert _comparison("q", [], ["a"]).gain == 0


def test_questions_that_lost_are_shown_too():
    up = [_comparison(f"up{i}", ["a"] * i + ["right"], ["right"]) for i in range(1, 5)]
    same = _comparison("same", ["right"], ["right"])
    down = _comparison("down", ["right"], ["a", "right"])
    chosen = most_telling([same, down, *up], better=2)
    assert [comparison.query_id for comparison in chosen] == ["up4", "up3", "down"]


def test_without_any_change_the_first_questions_are_shown():
    same = [_comparison(f"q{i}", ["right"], ["right"]) for i in range(5)]
    assert [comparison.query_id for comparison in most_telling(same, better=2)] == ["q0", "q1"]
