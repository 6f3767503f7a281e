"""What a frozen program says of itself."""

from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.optimizer.freezing import measured_gain

SCORES = {f"q{i}": {"recall@100": value} for i, value in enumerate((0.0, 0.5, 1.0, 0.25))}


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_gain_without_luck_is_never_larger_than_with_it(validation, luck):
    gain = measured_gain(
        "recall@100", "guarded", detectable=None, validation=validation, luck=luck, learned=SCORES, baseline=SCORES
    )
    assert gain.corrected == validation - max(0.0, luck) <= gain.validation
    assert gain.held_out == 0
