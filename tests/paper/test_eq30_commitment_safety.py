"""Equation 30 and theorem 3.1, by simulation: safe while the bars are calibrated."""

import numpy as np
import pytest
from scipy.stats import norm, t

from tabtap.domain.judgement import two_sided_fold_margin
from tabtap.study.theory import Pools, fold_bars, plug_in_error, simulate_rule

N_POOLS = 40_000


def test_equation_49_is_the_bar_that_the_rule_computes():
    gains = np.random.default_rng(0).normal(size=(20, 5))

    mean, margin = fold_bars(gains, 0.95)

    rule = [two_sided_fold_margin(row, 0.95) for row in gains]
    assert mean == pytest.approx(gains.mean(axis=1))
    assert margin == pytest.approx(rule)


def test_bars_of_independent_folds_hold_as_often_as_they_say():
    pools = Pools(true_gain=np.zeros(N_POOLS))

    found = simulate_rule(pools, np.random.default_rng(1))

    assert found.coverage == pytest.approx(0.95, abs=0.005)
    # A bar is left on either side equally often: half of 5 % is let in by bad luck.
    assert found.committed == pytest.approx(0.025, abs=0.003)


def test_equation_30_where_the_bar_holds_nothing_below_tau_is_let_in():
    true = np.random.default_rng(2).normal(0.2, 1.0, N_POOLS)

    found = simulate_rule(Pools(true_gain=true), np.random.default_rng(3), tau=0.1)

    # Whatever is let in below tau is a bar that did not hold: theorem 3.1.
    assert 0 < found.unsafe <= 1 - found.coverage
    assert found.unsafe < 0.025


def test_the_theorem_is_about_all_pools_and_not_about_those_let_in():
    true = np.where(np.arange(N_POOLS) % 50 == 0, 2.0, -0.001)

    found = simulate_rule(Pools(true_gain=true), np.random.default_rng(4))

    assert found.unsafe < 0.05
    assert found.unsafe_of_committed > 0.5


def test_correlated_folds_break_the_bar_by_a_known_share():
    pools = Pools(true_gain=np.zeros(N_POOLS), correlation=0.5)

    found = simulate_rule(pools, np.random.default_rng(5))

    # The mean varies by (1 + 4 c) / 5, folds seem to by (1 - c) / 5.
    stretched = t(4).ppf(0.975) * ((1 - 0.5) / (1 + 4 * 0.5)) ** 0.5
    assert found.coverage == pytest.approx(1 - 2 * t(4).sf(stretched), abs=0.01)
    assert found.coverage < 0.8


def test_a_flattering_generator_lets_useless_pools_in():
    pools = Pools(true_gain=np.full(N_POOLS, -1e-9), bias=2.0)

    found = simulate_rule(pools, np.random.default_rng(6))

    assert found.unsafe > 0.9
    assert found.coverage < 0.1


def test_equations_27_to_29_the_error_of_a_utility_is_that_of_two_losses():
    true, off = norm(0.5, 0.1).rvs((2, 6), random_state=0)
    pairs = [(0, 1), (1, 4), (2, 3)]

    found = plug_in_error(true + off, true, pairs)

    by_hand = [(off[a] - off[b]) for a, b in pairs]
    assert found.errors == pytest.approx(by_hand)
    assert found.bound == pytest.approx(2 * np.abs(off).max())
    assert found.holds
