from dataclasses import replace

import numpy as np
import pytest

from tabtap.evaluate.learners import encode


def test_numbers_are_standardised_by_the_training_rows(build_table):
    train = build_table([0, 1], [1.0, 3.0])
    test = build_table([0], [5.0])

    seen, (unseen,) = encode(train, [test])

    assert seen.tolist() == [[-1.0], [1.0]]
    assert unseen.tolist() == [[3.0]]


def test_a_missing_number_is_the_training_mean(build_table):
    train = build_table([0, 1, 0], [1.0, 3.0, np.nan])
    test = build_table([0], [np.nan])

    seen, (unseen,) = encode(train, [test])

    assert seen[2].tolist() == unseen[0].tolist() == [0.0]


def test_categories_are_one_hot_with_a_column_for_missing(build_table):
    train = build_table([0, 1, 0], np.array([0, 1, -1]))

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_a_level_not_met_in_training_is_all_zeros(build_table):
    train = build_table([0, 1], np.array([0, 1]))
    test = build_table([0], np.array([2]))

    _, (unseen,) = encode(train, [test])

    assert unseen.tolist() == [[0.0, 0.0]]


def test_columns_without_any_value_or_any_spread_become_zeros(build_table):
    train = build_table([0, 1], [np.nan, np.nan], [4.0, 4.0])

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_largest_floats_stay_finite(build_table):
    train = build_table([0, 1], [1e308, -1e308])

    seen, _ = encode(train, [])

    assert seen.ravel().tolist() == [1.0, -1.0]


def test_a_table_without_usable_columns_becomes_one_column_of_zeros(build_table):
    train = build_table([0, 1])

    seen, _ = encode(train, [])

    assert seen.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("dtype", "levels"), [("int64", (2, 4)), ("boolean", (False, True))]
)
def test_categories_whose_values_are_numbers_are_read_as_numbers(
    build_table, dtype, levels
):
    table = build_table([0, 1, 0], np.array([0, 1, -1]))
    flag = replace(table.schema.features[0], dtype=dtype, levels=levels)
    table = replace(table, schema=replace(table.schema, features=(flag,)))

    seen, _ = encode(table, [])

    # The missing cell takes the mean, so the deviation is that of (-1, 1, 0).
    assert seen.ravel() == pytest.approx(np.array([-1.0, 1.0, 0.0]) * np.sqrt(1.5))


def test_a_table_without_rows_has_the_columns_of_the_training_rows(build_table):
    train = build_table([0, 1], [1.0, 3.0], np.array([0, 1]))

    _, (nothing,) = encode(train, [train.empty()])

    assert nothing.shape == (0, 3)
