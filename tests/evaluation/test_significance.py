"""The paired comparison, against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from autoindex_haystack.evaluation import paired_difference, sign_flip_p_value

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


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.25, 0.5, 1.0]), min_size=1, max_size=9), st.integers(0, 20))
def test_the_permutation_test_counts_the_changes_of_sign_that_give_as_much(differences, unchanged):
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(differences))).reshape(len(differences), -1)
    sums = np.abs(np.array(differences) @ signs)
    expected = (sums >= abs(sum(differences)) - 1e-9).mean()
    found = sign_flip_p_value([*differences, *[0.5] * unchanged], [*[0.0] * len(differences), *[0.5] * unchanged])
    assert found == pytest.approx(expected)
    assert sign_flip_p_value([0.5] * unchanged, [0.5] * unchanged) == 1.0
