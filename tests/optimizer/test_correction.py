"""A gain is corrected for having been chosen, about as much as choosing deceives."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.correction import detectable_gain, luck_of_the_choice, luck_of_the_mark


def test_the_best_of_many_that_change_nothing_is_worth_about_nothing():
    random = np.random.default_rng(1)
    runs = [random.normal(0, 1, (20, 40)) for _ in range(60)]
    stated = [gains.mean(axis=1).max() for gains in runs]
    corrected = [best - luck_of_the_choice(gains) for best, gains in zip(stated, runs, strict=True)]
    assert np.mean(stated) > 0.25
    assert abs(np.mean(corrected)) < 0.05


def test_a_gain_that_nothing_rivals_is_left_nearly_as_it_is():
    random = np.random.default_rng(2)
    gains = random.normal(0, 1, (20, 40))
    gains[3] += 3
    assert luck_of_the_choice(gains) == pytest.approx(0, abs=0.1)
    assert luck_of_the_choice(gains[3:4]) == 0.0


def test_what_passes_a_mark_is_corrected_to_its_true_gain():
    random = np.random.default_rng(3)
    stated, corrected = [], []
    for _ in range(3_000):
        gains = random.normal(0.3, 1, 36)  # A true t of 1.8, where the mark is 2.5.
        statistic = gains.mean() / gains.std(ddof=1) * 6
        if statistic > 2.5:
            stated.append(gains.mean())
            corrected.append(stated[-1] - luck_of_the_mark(gains, gains, statistic, 2.5))
    assert np.mean(stated) > 0.45
    assert np.mean(corrected) == pytest.approx(0.3, abs=0.05)


@given(st.floats(0, 20), st.floats(2, 5))
def test_the_further_beyond_the_mark_the_less_is_taken_off(beyond, mark):
    evidence = np.array([0.0, 1.0, 2.0, 4.0])
    near, far = (luck_of_the_mark(evidence, evidence, mark + 0.1 + more, mark) for more in (beyond, beyond + 1))
    assert 0 <= far <= near + 1e-9
    assert near > 0 or beyond > 2


def test_the_smallest_gain_shrinks_with_more_queries_and_grows_with_more_candidates():
    def stated(queries, **options):
        scores = {str(i): {"smooth_recall": (i % 4) / 4} for i in range(queries)}
        return detectable_gain(SimpleNamespace(scores=scores), SearchSettings(**options))

    assert stated(1) == stated(4) == float("inf"), "four of four are no proof"
    assert stated(25) > stated(50) > stated(150) > 0
    assert stated(100) == pytest.approx(stated(25) / 2, rel=0.1)
    assert stated(50, candidates=32) > stated(50, candidates=8)
