from dataclasses import replace

import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.simple import (
    bootstrap,
    copies,
    even_rows,
    independent_columns,
    jitter,
)
from tabtap.table.schema import Kind


@pytest.fixture
def uneven(build_table, rng):
    """Nine rows of class 0, two of class 2, none of class 1."""
    label = np.array([0] * 9 + [2] * 2)
    return build_table(label, rng.normal(size=11), label + rng.integers(2, size=11))


def test_classes_present_and_rows_within_them_are_used_evenly(uneven, rng):
    rows = even_rows(uneven, 41, rng)

    counts = np.bincount(rows, minlength=11)
    assert sorted([counts[:9].sum(), counts[9:].sum()]) == [20, 21]
    assert np.ptp(counts[:9]) <= 1
    assert np.ptp(counts[9:]) <= 1


def test_fewer_rows_than_classes_can_be_drawn(uneven, rng):
    assert len(even_rows(uneven, 1, rng)) == 1
    assert len(even_rows(uneven, 0, rng)) == 0


def test_target_bins_are_used_evenly_in_regression(build_table, rng):
    target = np.array([0.0] * 8 + [10.0, 11.0])
    table = build_table(target, rng.normal(size=10), edges=(5.0,))

    rows = even_rows(table, 30, rng)

    assert (target[rows] > 5).sum() == 15


def test_nothing_can_be_drawn_from_an_empty_table(uneven, rng):
    with pytest.raises(UserInputError, match="no rows to draw from"):
        even_rows(uneven.empty(), 3, rng)


def test_copies_are_real_rows_that_know_their_origin(uneven, rng):
    made = copies(uneven, 20, rng)

    assert made.cells[0].tolist() == uneven.cells[0][made.origin].tolist()
    assert made.target.tolist() == uneven.target[made.origin].tolist()


def test_jitter_moves_numbers_by_a_share_of_their_deviation(build_table, rng):
    table = build_table(np.arange(50) % 2, 100.0 * rng.normal(size=50))

    made = jitter(table, 20_000, rng, scale=0.3)

    moved = made.numeric - table.numeric[made.origin]
    assert moved.std() == pytest.approx(0.3 * table.numeric.std(), rel=0.03)


def test_jitter_leaves_categories_holes_and_targets_alone(build_table, rng):
    table = build_table([0, 1, 0], [1.0, np.nan, 3.0], np.array([0, -1, 1]))
    table = replace(table, missing=table.missing * 2)  # the column's second marker

    made = jitter(table, 30, rng)

    assert made.categorical.tolist() == table.categorical[made.origin].tolist()
    assert made.missing.tolist() == table.missing[made.origin].tolist()
    assert made.target.tolist() == table.target[made.origin].tolist()


def test_jitter_keeps_whole_numbers_whole(build_table, rng):
    table = build_table([0, 1], [0.0, 90.0])
    whole = replace(table.schema.features[0], kind=Kind.INTEGER, dtype="int64")
    table = replace(
        table,
        schema=replace(table.schema, features=(whole,)),
        cells=(table.cells[0].astype(np.int64),),
    )

    made = jitter(table, 40, rng)

    assert made.cells[0].dtype == np.int64
    assert len(set(made.cells[0].tolist())) > 2


def test_a_bootstrap_draws_whole_real_rows(uneven, rng):
    made = bootstrap(uneven, 500, rng)

    assert made.cells[0].tolist() == uneven.cells[0][made.origin].tolist()
    assert set(made.origin) == set(range(11))
    # In proportion to the real classes, unlike copies.
    assert (made.target == 0).mean() == pytest.approx(9 / 11, abs=0.08)


def test_independent_columns_keep_marginals_and_lose_relations(build_table, rng):
    code = np.arange(1000) % 2
    table = build_table(code, np.where(code == 1, np.nan, 7.0), code)

    made = independent_columns(table, 4000, rng)

    hole = made.missing[:, 0] > 0
    assert hole.mean() == pytest.approx(0.5, abs=0.05)
    assert (made.cells[0][~hole] == 7.0).all()
    assert abs(np.corrcoef(made.cells[1], made.target)[0, 1]) < 0.1
    assert abs(np.corrcoef(made.cells[1], hole)[0, 1]) < 0.1
    assert set(made.origin) == {-1}
