import numpy as np
import pytest

from tabtap.table.table import NumberScale


def test_numbers_are_measured_in_deviations_of_the_fitted_rows():
    scale = NumberScale.of(np.array([[1.0], [3.0]]))

    assert scale.standardise(np.array([[4.0]])).tolist() == [[2.0]]
    assert scale.deviation.tolist() == [1.0]


def test_holes_stay_holes_and_do_not_count():
    numbers = np.array([[1.0], [np.nan], [3.0]])

    found = NumberScale.of(numbers).standardise(numbers)

    np.testing.assert_array_equal(found, [[-1.0], [np.nan], [1.0]])


@pytest.mark.parametrize("value", [0.1, 0.0, 1e300])
def test_a_column_without_spread_is_always_zero(value):
    # The computed mean of many 0.1 differs from 0.1 by rounding.
    scale = NumberScale.of(np.full((997, 1), value))

    assert scale.deviation.tolist() == [0.0]
    assert scale.standardise(np.array([[value], [5.0]])).tolist() == [[0.0], [0.0]]


def test_a_column_of_holes_has_no_spread():
    scale = NumberScale.of(np.full((3, 1), np.nan))

    assert scale.deviation.tolist() == [0.0]


@pytest.mark.parametrize("size", [1e-300, 1e308])
def test_numbers_of_any_size_are_standardised_alike(size):
    numbers = size * np.array([[-1.0], [1.0]])

    found = NumberScale.of(numbers).standardise(numbers)

    assert found == pytest.approx(np.array([[-1.0], [1.0]]))
