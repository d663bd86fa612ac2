"""The bar of a gain in squared error: as sure as the rows' own shares of it."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from tabtap.domain import Figure, Measured
from tabtap.domain.judgement import WIDENING, Bars, believed_part, gain_bound


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def squared(before, after, confidence=0.85, clusters=None):
    bars = Bars(WIDENING, is_squared=True)
    before, after = np.asarray(before), np.asarray(after)
    return gain_bound(before, after, confidence, bars, clusters)


def test_the_gain_is_the_mean_difference_and_the_bar_that_of_the_rows_shares(rng):
    before = 1 - rng.chisquare(1, 40)
    after = 1 - (1 - before) * rng.uniform(0.2, 1.0, 40)

    bound = squared(before, after)

    errors = 1 - before, 1 - after
    share = (errors[0] - errors[1]) / (errors[0] + errors[1])
    error = 1.5 * share.std(ddof=1) / np.sqrt(40)
    least = share.mean() - student.ppf(0.85, 39) * error
    assert bound.gain == pytest.approx((after - before).mean())
    assert bound.lower == pytest.approx(bound.gain * least / share.mean())


def test_one_row_that_is_far_off_does_not_hide_what_all_others_show(rng):
    errors = rng.chisquare(1, 50)
    errors[0] = 400.0
    after = 1 - 0.5 * errors * rng.uniform(0.9, 1.1, 50)

    assert squared(1 - errors, after).lower > 0


def test_one_row_that_is_far_off_does_not_show_what_no_other_does(rng):
    errors, after = rng.chisquare(1, 50), rng.chisquare(1, 50)
    errors[0], after[0] = 400.0, 1.0  # most of the mean, none of the evidence

    bound = squared(1 - errors, 1 - after)

    assert bound.gain > 5.0
    assert bound.lower <= 0.0


def test_rows_that_get_worse_on_the_whole_are_no_gain_of_the_mean():
    # Nine rows win a little of little, one loses much.
    before = 1 - np.array([0.1] * 9 + [1.0])
    after = 1 - np.array([0.01] * 9 + [4.0])

    bound = squared(before, after)

    assert bound.gain < 0
    assert bound.lower < 0


def test_rows_without_any_error_count_as_unchanged():
    bound = squared(np.ones(5), np.ones(5))

    assert bound.gain == 0.0 == bound.lower


def test_rows_of_a_group_count_as_one(rng):
    errors = rng.chisquare(1, 12)
    after = 1 - 0.7 * errors * rng.uniform(0.5, 1.3, 12)
    groups = np.repeat(np.arange(12), 3)

    single = squared(1 - errors, after)
    thrice = squared(1 - np.repeat(errors, 3), np.repeat(after, 3), clusters=groups)

    assert thrice.lower == pytest.approx(single.lower)


def test_where_nothing_is_gained_a_gain_is_seldom_shown(rng):
    # Errors that differ by luck only, with tails: at most the share that is claimed.
    shown = 0
    for _ in range(400):
        scale = rng.standard_t(3, 50) ** 2
        both = scale * rng.chisquare(1, (2, 50))
        shown += squared(1 - both[0], 1 - both[1]).lower > 0

    assert shown / 400 <= 0.15


def test_where_nobody_is_named_the_wider_of_both_bars_counts(rng):
    errors = rng.chisquare(1, 50)
    errors[0] = 400.0
    before, after = 1 - errors, 1 - 0.5 * errors * rng.uniform(0.9, 1.1, 50)
    loose, plain, strict = (
        gain_bound(before, after, 0.85, bars).margin
        for bars in (
            Bars(1.5, is_squared=True),
            Bars(1.5),
            Bars(1.5, is_squared=True, is_strict=True),
        )
    )

    assert strict == max(loose, plain) == plain


# ---- Gains that are drawn in, because of many pools the lucky ones are let in.


def test_a_drawn_in_gain_is_the_mean_of_what_is_likely_after_the_measurement(rng):
    before = rng.uniform(0.3, 0.8, 200)
    after = before + 0.05 + 0.4 * rng.normal(size=200)

    bound = gain_bound(before, after, 0.9, Bars(1.0, usual=0.12))

    # Independently: the prior times the likelihood, over a fine grid of true gains.
    gains = np.linspace(-1.0, 1.0, 200_001)
    error = (after - before).std(ddof=1) / np.sqrt(200)
    spread = 0.12 * np.mean(1 - before)
    likely = norm.pdf(gains, (after - before).mean(), error)
    weight = student.pdf(gains / spread, 2) * likely
    weight /= weight.sum()
    least = gains[np.searchsorted(weight.cumsum(), 0.1)]
    assert bound.gain == pytest.approx((weight * gains).sum(), rel=0.01)
    assert bound.lower == pytest.approx(least, abs=3e-4)


def believed(width, noise):
    before = np.full(40, 0.7)
    after = before + 0.1 + width * noise
    drawn_in = gain_bound(before, after, 0.9, Bars(WIDENING, usual=0.12))
    return believed_part(np.mean(after - before), drawn_in)


def test_the_wider_the_bar_the_less_of_a_gain_is_believed(rng):
    noise = rng.normal(size=40)
    noise -= noise.mean()

    parts = [believed(width, noise) for width in (0.01, 0.1, 0.3, 1.0)]

    assert parts[0] == pytest.approx(1.0, abs=0.01)
    assert parts == sorted(parts, reverse=True)
    assert parts[-1] < 0.2


def test_what_is_measured_without_an_error_is_believed_as_it_is():
    assert believed(0.0, np.zeros(40)) == pytest.approx(1.0)


def test_bounds_of_pools_let_in_hold_as_often_as_they_say_once_drawn_in(rng):
    loss, usual, n_rows = 0.3, 0.12, 30
    held = {0.0: [], usual: []}
    for _ in range(4000):
        true = usual * loss * rng.standard_t(2)
        before = np.full(n_rows, 1 - loss)
        after = before + true + 0.3 * rng.normal(size=n_rows)
        for asked, kept in held.items():
            lower = gain_bound(before, after, 0.85, Bars(1.0, usual=asked)).lower
            if lower > 0:
                kept.append(true >= lower)

    assert np.mean(held[0.0]) < 0.7  # the lucky ones
    assert np.mean(held[usual]) == pytest.approx(0.85, abs=0.05)


def test_a_figure_is_drawn_in_with_the_gain():
    plain = Measured(0.8, 0.05)
    figure = Figure(
        name="accuracy",
        larger_is_better=True,
        best_alone=plain,
        without=plain,
        with_rows=Measured(1.0, 0.02),
        change=Measured(0.2, 0.08),
    )

    drawn = figure.drawn_in(0.25)

    assert drawn.change == Measured(0.05, 0.04)
    assert drawn.with_rows == Measured(0.8 + 0.05, 0.04)
    assert drawn.best_alone == drawn.without == plain


@pytest.mark.parametrize("loss", [1e-9, 1e-3])
def test_a_loss_far_beyond_the_usual_is_a_loss_and_no_number_lost(loss, rng):
    before = np.full(40, 1 - loss)
    after = before - 0.5 + 0.001 * rng.normal(size=40)

    bound = gain_bound(before, after, 0.8, Bars(WIDENING, usual=0.12))

    assert np.isfinite(bound.margin)
    assert bound.lower < bound.gain < 0
