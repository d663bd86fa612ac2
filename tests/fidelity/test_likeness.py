from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from tabtap.fidelity import copy_share, shape_error, shape_errors, trend_error
from tabtap.rivals.simple import bootstrap, copies, independent_columns
from tabtap.table import Kind
from tabtap.table.distance import DistanceScale


@pytest.fixture
def related(build_table, rng):
    """A number, a code and the label that all follow each other."""
    label = rng.integers(3, size=400)
    number = label + 0.1 * rng.normal(size=400)
    return build_table(label, number, label, number**2)


def test_a_table_is_without_error_against_itself(related):
    assert shape_error(related, related) == 0.0
    assert trend_error(related, related) == 0.0


def test_numbers_are_compared_by_kolmogorov_and_smirnov(build_table, rng):
    left, right = rng.normal(size=37), np.round(rng.normal(0.4, 2.0, size=53), 1)
    real = build_table(np.zeros(37, dtype=int), left)
    synthetic = build_table(np.zeros(53, dtype=int), right)

    error = shape_error(real, synthetic)

    # The label, the second column, has a single level and no error.
    assert error == pytest.approx(ks_2samp(left, right).statistic / 2)


def test_a_missing_number_counts_as_smaller_than_any(build_table):
    left = np.array([np.nan, np.nan, -1.0, 2.0])
    right = np.array([-1.0, 2.0, -1.0, 2.0])
    real = build_table(np.zeros(4), left)
    synthetic = build_table(np.zeros(4), right)

    error = shape_error(real, synthetic)

    expected = ks_2samp(np.nan_to_num(left, nan=-9.0), right).statistic
    assert expected == 0.5
    assert error == pytest.approx(expected / 2)


def test_categories_are_compared_by_total_variation(build_table):
    # Shares of (missing, 0, 1): (1, 1, 2) / 4 against (0, 3, 1) / 4.
    real = build_table(np.zeros(4), np.array([-1, 0, 1, 1]))
    synthetic = build_table(np.zeros(4), np.array([0, 0, 0, 1]))

    assert shape_error(real, synthetic) == pytest.approx((0.5 + 0.0) / 2)


def test_two_numbers_are_compared_by_half_the_difference_of_correlations(
    build_table, rng
):
    real = build_table(rng.normal(size=60), rng.normal(size=60))
    x = rng.normal(size=80)
    synthetic = build_table(2.0 * x + rng.normal(size=80), x)

    error = trend_error(real, synthetic)

    correlation = [
        np.corrcoef(t.numeric[:, 0], t.target)[0, 1] for t in (real, synthetic)
    ]
    assert error == pytest.approx(abs(correlation[0] - correlation[1]) / 2)


def test_correlations_are_taken_over_rows_that_have_both(build_table, rng):
    x, y = rng.normal(size=(2, 50))
    x[:7] = np.nan
    real = build_table(y, x)
    synthetic = build_table(y, -np.nan_to_num(x, nan=3.0))

    error = trend_error(real, synthetic)

    left = np.corrcoef(x[7:], y[7:])[0, 1]
    right = np.corrcoef(synthetic.numeric[:, 0], y)[0, 1]
    assert error == pytest.approx(abs(left - right) / 2)


def test_a_constant_column_has_no_correlation(build_table):
    real = build_table(np.arange(5.0), np.arange(5.0))
    synthetic = build_table(np.arange(5.0), np.full(5, 0.1))

    assert trend_error(real, synthetic) == pytest.approx(0.5)


def test_two_categories_are_compared_by_their_contingency_table(build_table):
    # Pairs (code, label): always equal against always different.
    real = build_table([0, 1, 0, 1], np.array([0, 1, 0, 1]))
    synthetic = build_table([0, 1, 0, 1], np.array([1, 0, 0, 1]))

    # Half of the synthetic mass sits where no real mass is.
    assert shape_error(real, synthetic) == 0.0
    assert trend_error(real, synthetic) == pytest.approx(0.5)


def test_a_number_and_a_category_are_compared_in_quantile_bins(build_table):
    x = np.arange(20.0)
    label = (x >= 10).astype(int)
    real, synthetic = build_table(label, x), build_table(label[::-1], x)

    assert trend_error(real, synthetic) == pytest.approx(1.0)


def test_a_hole_is_a_bin_of_its_own(build_table):
    label = np.arange(20) % 2
    real = build_table(label, np.where(label == 1, np.nan, 5.0))
    synthetic = build_table(label, np.where(label == 0, np.nan, 5.0))

    assert shape_error(real, synthetic) == 0.0
    assert trend_error(real, synthetic) == pytest.approx(1.0)


def test_one_column_has_no_trend(build_table):
    table = build_table(np.zeros(5))

    assert trend_error(table, table) == 0.0


def test_independent_columns_lose_the_trend_and_a_bootstrap_keeps_it(related, rng):
    apart = independent_columns(related, 400, rng)
    together = bootstrap(related, 400, rng)

    assert shape_error(related, apart) < 0.1
    assert trend_error(related, apart) > 0.4
    assert trend_error(related, together) < 0.1


def test_copies_are_counted_exactly(related, rng):
    scale = DistanceScale.of(related)

    assert copy_share(related, copies(related, 50, rng), scale).exact == 1.0
    assert copy_share(related, independent_columns(related, 50, rng), scale).exact == 0


def test_a_hole_is_copied_only_by_a_hole(build_table):
    train = build_table([0, 1, 0], [np.nan, 1.0, 5.0])
    synthetic = build_table([1, 1], [np.nan, 0.0])

    assert copy_share(train, synthetic, DistanceScale.of(train)).exact == 0.5


def test_a_row_within_a_tenth_of_the_usual_gap_is_nearly_a_copy(build_table):
    train = build_table([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0])  # every gap is 1
    synthetic = build_table([0, 0, 0, 0], [1.0, 1.09, 1.11, 1.5])

    share = copy_share(train, synthetic, DistanceScale.of(train))

    assert (share.exact, share.near) == (0.25, 0.5)


def test_exact_copies_are_near_even_where_real_rows_repeat(build_table):
    train = build_table([0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0])  # every gap is 0
    synthetic = build_table([0, 0], [1.0, 1.5])

    share = copy_share(train, synthetic, DistanceScale.of(train))

    assert (share.exact, share.near) == (0.5, 0.5)


def test_no_rows_are_no_copies(related):
    share = copy_share(related, related.empty(), DistanceScale.of(related))

    assert (share.exact, share.near) == (0.0, 0.0)


def test_errors_by_column_average_to_the_shape_error(build_table, rng):
    real = build_table(
        rng.integers(2, size=30), rng.normal(size=30), rng.integers(3, size=30)
    )
    synthetic = build_table(
        rng.integers(2, size=50), rng.normal(size=50) + 1, rng.integers(3, size=50)
    )

    errors = shape_errors(real, synthetic)

    expected = ks_2samp(real.numeric[:, 0], synthetic.numeric[:, 0]).statistic
    assert errors[0] == pytest.approx(expected)
    assert errors.shape == (3,)
    assert errors.mean() == pytest.approx(shape_error(real, synthetic))


def test_columns_that_are_not_generated_have_no_error(build_table):
    real = build_table(np.zeros(5), np.arange(5.0), np.arange(5) % 2)
    fixed = replace(real.schema.features[0], kind=Kind.CONSTANT)
    schema = replace(real.schema, features=(fixed, real.schema.features[1]))
    real = replace(real, schema=replace(schema, target=None))

    assert np.isnan(shape_errors(real, real)).tolist() == [True, False, True]
