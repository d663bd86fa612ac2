"""Intervals beside Student's, Dunnett's, and beside what they promise."""

import numpy as np
import pytest
from scipy import stats

from tabtap.compare.standings import CONFIDENCE, intervals


def test_a_single_interval_is_students():
    difference = np.array([0.0, 1.0, 0.0, 1.0, 1.0])

    (told,) = intervals(difference[:, None])

    reach = stats.t.interval(0.9, 4, loc=0.6, scale=stats.sem(difference))
    assert tuple(told) == pytest.approx((0.6, *reach))


def test_independent_columns_are_corrected_as_sidak_does(rng):
    table = rng.standard_normal((2000, 6))

    told = intervals(table)

    reach = (told[:, 2] - told[:, 0]) / stats.sem(table)
    sidak = stats.norm.ppf((1 + CONFIDENCE ** (1 / 6)) / 2)
    assert reach == pytest.approx(np.full(6, sidak), rel=0.02)


def test_columns_that_are_the_same_are_one(rng):
    column = rng.standard_normal((50, 1))

    assert intervals(np.repeat(column, 5, axis=1))[0] == pytest.approx(
        intervals(column)[0], rel=0.01
    )


def test_a_column_without_any_difference_widens_no_other(rng):
    column = rng.standard_normal((50, 1))

    beside, nothing = intervals(np.column_stack([column, np.zeros(50)]))

    assert beside.tolist() == intervals(column)[0].tolist()
    assert nothing.tolist() == [0.0, 0.0, 0.0]


def test_all_intervals_hold_together_as_often_as_they_promise(rng):
    """Seven methods that change nothing, and share half of their luck."""
    held = []
    for _ in range(400):
        luck = rng.standard_normal((40, 1))
        table = luck + rng.standard_normal((40, 7))
        low, high = intervals(table)[:, 1:].T
        held.append(bool((low <= 0).all() and (high >= 0).all()))

    # 0.9, and three standard errors of 400 trials; one by one they all hold in 0.56.
    assert np.mean(held) == pytest.approx(CONFIDENCE, abs=0.045)


def test_clusters_count_as_one_row_each(rng):
    totals = rng.standard_normal((30, 3))
    apart = np.repeat(totals, 4, axis=0)

    told = intervals(apart, np.repeat(np.arange(30), 4))

    assert told == pytest.approx(intervals(totals), rel=1e-9)


def test_one_row_tells_nothing():
    ((mean, low, high),) = intervals(np.array([[0.5]]))

    assert (mean, low, high) == (0.5, -np.inf, np.inf)


def test_rows_asked_by_turns_widen_all_intervals_alike(rng):
    table = rng.standard_normal((40, 3))

    plain, wide = intervals(table), intervals(table, n_folds=5)

    assert wide[:, 0].tolist() == plain[:, 0].tolist()
    assert wide[:, 0] - wide[:, 1] == pytest.approx(1.5 * (plain[:, 0] - plain[:, 1]))
