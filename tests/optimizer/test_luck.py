"""Luck passes in few runs however many programs are tried; what is real passes; what passed costs nothing later."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from autoindex_haystack.optimizer.luck import ALPHA, LuckTest, spent

ROUNDS, EACH = 5, 6


def nothing(random, queries):
    """Differences of variants of a few ideas that change nothing on average: mostly 0, of a few sizes, alike."""
    ideas = random.choice([0, 0, 0, 0.25, 0.5, 1], (8, queries)) * random.choice([-1, 1], queries)
    mixed = ideas[random.integers(0, 8, ROUNDS * EACH)]
    return np.where(random.random(mixed.shape) < 0.8, mixed, 0.0).reshape(ROUNDS, EACH, queries)


def passes(rounds, seed=0, combine=False):
    test = LuckTest(rounds.shape[2], len(rounds), seed=seed, flips=400)
    for number, programs in enumerate(rounds, start=1):
        joint = programs[programs.mean(axis=1) > 0].sum(axis=0)
        tried = np.vstack([programs, joint]) if combine else programs
        if test.round(number, tried, [False] * len(programs) + [True] * combine).passed.any():
            return True
    return False


@pytest.mark.parametrize("queries", [15, 40])
@pytest.mark.parametrize("combine", [False, True])
def test_few_whole_runs_let_luck_pass(queries, combine):
    random = np.random.default_rng(1)
    runs = 150
    lucky = sum(passes(nothing(random, queries), seed, combine) for seed in range(runs))
    assert lucky <= stats.binom.ppf(0.999, runs, 0.05), "one in twenty, give or take chance"


def test_the_best_of_many_by_any_gain_is_mostly_luck():
    """What the test is for: without it nearly every such run would adopt something."""
    random = np.random.default_rng(2)
    lucky = sum(nothing(random, 40).mean(axis=2).max() > 0 for _ in range(50))
    assert lucky > 40


def test_a_real_gain_passes():
    random = np.random.default_rng(3)
    found = 0
    for seed in range(20):
        rounds = nothing(random, 60)
        rounds[1, 2] = random.choice([0, 0, 0.25, 0.5, -0.25], 60, p=[0.3, 0.2, 0.2, 0.2, 0.1])
        found += passes(rounds, seed)
    assert found >= 18


def test_one_program_is_tested_as_by_an_exact_sign_test():
    """Six gains of six queries are the best of 64 changes of sign: enough at 3 in 100, as four of four are not."""
    test = LuckTest(6, 1, flips=4_000).round(1, np.full((1, 6), 0.5))
    assert test.p_values[0] == pytest.approx(1 / 64, abs=0.006)
    assert test.passed.all()
    assert not LuckTest(4, 1, flips=4_000).round(1, np.full((1, 4), 0.5)).passed.any()


def test_variants_of_one_idea_count_as_one():
    random = np.random.default_rng(4)
    idea = random.normal(0.35, 1, 50)
    alone = LuckTest(50, 5).round(1, idea[None]).p_values[0]
    among_twins = LuckTest(50, 5).round(1, np.repeat(idea[None], 20, axis=0)).p_values[0]
    among_others = LuckTest(50, 5).round(1, np.vstack([idea, random.normal(0, 1, (19, 50))])).p_values[0]
    assert among_twins == alone
    assert among_others > 3 * alone


def test_what_passed_is_given_back_and_what_failed_is_not():
    random = np.random.default_rng(5)
    good, dull = random.normal(2, 1, (1, 50)), random.normal(0, 1, (6, 50))
    later = random.normal(0.4, 1, (1, 50))
    after_success, after_failure = LuckTest(50, 2), LuckTest(50, 2)
    assert after_success.round(1, good).passed.all()
    assert not after_failure.round(1, dull).passed.any()
    assert after_success.round(2, later).p_values[0] < after_failure.round(2, later).p_values[0]


def test_no_difference_speaks_for_nothing():
    test = LuckTest(30, 1).round(1, np.zeros((3, 30)))
    assert not test.passed.any()
    assert (test.p_values == 1).all()


@given(st.integers(1, 30), st.floats(0.001, 0.5))
def test_everything_is_spent_by_the_last_round_and_most_in_the_first(iterations, alpha):
    steps = np.diff([0.0, *(spent(i, iterations, alpha) for i in range(1, iterations + 1))])
    assert steps.sum() == pytest.approx(alpha)
    assert (np.diff(steps) <= 1e-12).all()
    assert spent(iterations + 1, iterations, alpha) == alpha


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 99))
def test_a_program_passes_exactly_when_it_exceeds_the_mark(queries, programs, seed):
    random = np.random.default_rng(seed)
    test = LuckTest(queries, 3, flips=300).round(1, random.normal(random.random(), 1, (programs, queries)))
    assert (test.passed == (test.statistics > test.mark)).all()
    assert test.allowed == spent(1, 3, ALPHA)
