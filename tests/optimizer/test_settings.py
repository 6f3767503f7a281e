import pytest

from autoindex_haystack.optimizer import SearchSettings


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"iterations": -1}, "iterations must be a whole number of at least 0, but is -1"),
        ({"iterations": 1.5}, "iterations must be a whole number"),
        ({"candidates": 0}, "candidates must be a whole number of at least 1"),
        ({"candidates": True}, "candidates must be a whole number"),
        ({"seed": "x"}, "seed must be a whole number, but is 'x'"),
        ({"jobs": 0}, "jobs must be"),
        ({"stage_size": -5}, "stage_size must be a whole number of at least 0"),
        ({"max_growth": float("nan")}, "max_growth must be a number greater than 0"),
        ({"tolerance": "x"}, "tolerance must be a number greater than 0"),
        ({"objective": "mrr"}, "objective must be one of recall@100, ndcg@10, weighted, but is 'mrr'"),
        ({"allowed_imports": ("json", "no_such_module")}, "this Python has no module 'no_such_module'"),
        ({"acceptance": "papper"}, "acceptance must be one of guarded, paper"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(wrong, named):
    with pytest.raises(ValueError, match=named):
        SearchSettings(**wrong)
