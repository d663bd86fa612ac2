import numpy as np
import pytest

from tabtap.diffusion.scaling import bandwidth_for, fit_smoothing


def test_the_bandwidth_falls_with_the_rows_and_ends_at_nothing():
    widths = [bandwidth_for(n, 8) for n in (12, 50, 100, 400, 1000, 5000, 200_000)]

    assert widths == sorted(widths, reverse=True)
    assert widths[0] == widths[1] > 0
    assert widths[-1] == 0


def test_the_bandwidth_grows_with_the_numbers_and_stays_below_one():
    widths = [bandwidth_for(12, n) for n in (1, 3, 8, 30, 300, 10_000)]

    assert widths == sorted(widths)
    assert widths[-1] < 1


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    condition = np.resize([0, 0, 0, 2], 4000)
    covariance = [[1.0, 0.7], [0.7, 2.0]]
    numbers = rng.multivariate_normal([0, 0], covariance, 4000)
    return numbers + np.array([[5.0, 0.0], [0, 0], [-5.0, 1.0]])[condition], condition


def test_smoothing_knows_the_covariance_within_conditions(rows):
    numbers, condition = rows

    smoothing = fit_smoothing(numbers, np.ones(numbers.shape, bool), condition, 0.5)

    found = smoothing.factor @ smoothing.factor.T
    assert np.allclose(found, [[1.0, 0.7], [0.7, 2.0]], atol=0.15)
    assert np.allclose(smoothing.means[[0, 2]], [[5.0, 0.0], [-5.0, 1.0]], atol=0.15)


def test_missing_numbers_do_not_move_the_means(rows):
    numbers, condition = rows
    observed = np.random.default_rng(1).random(numbers.shape) < 0.5
    filled = np.where(observed, numbers, 0.0)

    smoothing = fit_smoothing(filled, observed, condition, 0.5)

    assert np.allclose(smoothing.means[[0, 2]], [[5.0, 0.0], [-5.0, 1.0]], atol=0.15)


def test_a_condition_with_one_row_is_survived():
    numbers = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    observed = np.ones(numbers.shape, dtype=bool)

    smoothing = fit_smoothing(numbers, observed, np.array([0, 0, 1]), 0.5)

    assert np.isfinite(smoothing.factor).all()
    assert smoothing.means[1].tolist() == [5.0, 5.0]
