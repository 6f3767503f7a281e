"""The paired comparison, against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from autoindex_haystack.evaluation import paired_difference

VALUES = st.floats(0, 1).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=50))
def test_interval_and_p_value_are_those_of_scipy(pairs):
    new, old = np.array(pairs).T
    if (new - old).std() < 1e-9:
        return
    expected = stats.ttest_rel(new, old)
    interval = expected.confidence_interval(0.95)
    found = paired_difference(new.tolist(), old.tolist())
    assert found.mean == pytest.approx((new - old).mean())
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("new", "old", "mean", "p_value"),
    [([0.5], [0.25], 0.25, 0.0), ([1, 1], [1, 1], 0.0, 1.0), ([1.0, 0.5], [0.5, 0.0], 0.5, 0.0), ([1], [1], 0.0, 1.0)],
)
def test_equal_differences_have_an_interval_of_no_width(new, old, mean, p_value):
    found = paired_difference(new, old)
    assert (found.mean, found.low, found.high, found.p_value) == (mean, mean, mean, p_value)


def test_a_comparison_survives_the_way_through_json():
    found = paired_difference([1, 0, 1, 1], [0, 0, 1, 0])
    assert type(found).model_validate_json(found.model_dump_json()) == found
