import numpy as np
import pytest

from tabtap.rivals.matrices import FlatColumns

NAN = np.nan


@pytest.fixture
def mixed(build_table):
    """Give a number with a hole, one without, and a category with a hole."""
    return build_table(
        [0, 1, 1, 0],
        np.array([1.0, NAN, 3.0, 5.0]),
        np.array([0.0, 1.0, 2.0, 3.0]),
        np.array([0, 2, -1, 2]),
    )


def test_rows_and_their_holes_come_back_as_they_were(mixed):
    columns = FlatColumns.of(mixed)

    back = columns.table(columns.rows(mixed))

    assert np.array_equal(back.numeric, mixed.numeric, equal_nan=True)
    assert np.array_equal(back.categorical, mixed.categorical)
    assert np.array_equal(back.target, mixed.target)
    assert back.target.dtype == mixed.target.dtype
    assert back.origin.tolist() == [-1] * 4


def test_a_missing_number_stands_at_the_mean_with_a_flag_beside_it(mixed):
    rows = FlatColumns.of(mixed).rows(mixed)

    assert rows.numbers[1, 0] == 3.0  # the mean of 1, 3 and 5
    assert rows.codes[:, 1].tolist() == [0, 1, 0, 0]


def test_only_levels_of_the_training_rows_are_known(mixed):
    columns = FlatColumns.of(mixed)

    # Level 1 of three is in no row, and a hole is a level; then a flag and two classes.
    assert columns.sizes == (3, 2, 2)


def test_a_label_may_be_kept_apart(mixed):
    columns = FlatColumns.of(mixed, joint_label=False)
    labels = np.array([1, 1, 1, 0])

    back = columns.table(columns.rows(mixed), labels)

    assert columns.sizes == (3, 2)
    assert back.target.tolist() == labels.tolist()


def test_a_regression_target_is_the_last_number(build_table):
    table = build_table(np.array([7.0, 8.0]), np.array([1.0, 2.0]), edges=(7.5,))
    columns = FlatColumns.of(table)

    rows = columns.rows(table)

    assert rows.numbers.tolist() == [[1.0, 7.0], [2.0, 8.0]]
    assert columns.table(rows).target.tolist() == [7.0, 8.0]


def test_a_column_without_any_value_stays_without(build_table):
    table = build_table([0, 1], np.array([NAN, NAN]))
    columns = FlatColumns.of(table)

    back = columns.table(columns.rows(table))

    assert np.isnan(back.numeric).all()
