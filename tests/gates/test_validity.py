from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import GateContext
from tabtap.gates import InRange, ValidTypes
from tabtap.table import Kind, read_frame

PAPER = (0.01, 0.99)
NO_ORIGIN = -1


def context_of(real):
    return GateContext(real, kept=real.empty())


def orphans(table):
    """Return the rows as ones that descend from no real row."""
    return replace(table, origin=np.full(len(table), NO_ORIGIN))


def with_cells(table, place, cells):
    stored = np.array(cells, dtype=table.cells[place].dtype)
    changed = [stored if i == place else c for i, c in enumerate(table.cells)]
    return orphans(replace(table, cells=tuple(changed)))


@pytest.fixture
def wards():
    frame = pd.DataFrame(
        {
            "ward": ["a", "b", "c", None] * 4,
            "pulse": np.arange(50, 82, 2),
            "dose": [0.25, 0.5, 1.0, np.nan] * 4,
            "site": "Ulm",
            "patient": [f"p{k}" for k in range(16)],
            "label": ["ill", "well"] * 8,
        }
    )
    kinds = {"patient": "identifier", "ward": "category"}
    return read_frame(frame, "label", kinds=kinds)


def test_real_rows_are_valid(wards):
    assert ValidTypes().passes(wards, context_of(wards)).all()


def test_a_level_that_no_row_at_hand_has_is_refused(wards):
    without_c = wards.take(wards.cells[0] != 2)

    verdict = ValidTypes().passes(wards, context_of(without_c))

    ward_c = (wards.cells[0] == 2) & (wards.missing[:, 0] == 0)
    assert np.array_equal(verdict, ~ward_c)


@pytest.mark.parametrize("code", [-1, 3, 99])
def test_a_code_that_stands_for_no_level_is_refused(wards, code):
    row = wards.take(np.array([0]))

    verdict = ValidTypes().passes(with_cells(row, 0, [code]), context_of(wards))

    assert verdict.tolist() == [False]


@pytest.mark.parametrize(
    ("column", "allowed"),
    [("ward", True), ("dose", True), ("pulse", False), ("site", False)],
)
def test_holes_are_allowed_where_the_real_column_has_them(wards, column, allowed):
    names = [feature.name for feature in wards.schema.features]
    row = wards.take(np.array([0]))
    missing = row.missing.copy()
    missing[0, names.index(column)] = 1

    verdict = ValidTypes().passes(replace(row, missing=missing), context_of(wards))

    assert verdict.tolist() == [allowed]


def test_a_hole_is_refused_if_no_row_at_hand_has_one(wards):
    full = wards.take((wards.missing[:, [0, 2]] == 0).all(axis=1))

    verdict = ValidTypes().passes(wards, context_of(full))

    assert np.array_equal(verdict, (wards.missing == 0).all(axis=1))
    assert not verdict.all()


def test_an_identifier_may_be_empty(wards):
    place = [c.kind for c in wards.schema.features].index(Kind.IDENTIFIER)
    missing = wards.missing.copy()
    missing[:, place] = 1

    verdict = ValidTypes().passes(replace(wards, missing=missing), context_of(wards))

    assert verdict.all()


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_a_number_that_is_not_finite_is_refused(wards, number):
    row = wards.take(np.array([0]))

    verdict = ValidTypes().passes(with_cells(row, 2, [number]), context_of(wards))

    assert verdict.tolist() == [False]


def test_a_label_that_no_row_at_hand_has_is_refused(wards):
    ill = wards.take(wards.target == 0)

    verdict = ValidTypes().passes(wards, context_of(ill))

    assert np.array_equal(verdict, wards.target == 0)


def test_a_regression_target_must_be_finite_and_of_a_bin_that_was_seen(build_table):
    real = build_table([1.0, 2.0, 9.0], np.zeros(3), edges=[5.0, 7.0])
    asked = build_table([1.5, 6.0, 9.5, np.nan, np.inf], np.zeros(5), edges=[5.0, 7.0])

    verdict = ValidTypes().passes(asked, context_of(real))

    assert verdict.tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("cell", "admitted"),
    [
        (50.0, True),
        (1.0, True),
        (99.0, True),
        (0.5, False),
        (99.5, False),
        (np.inf, False),
        (-np.inf, False),
        (np.nan, True),
    ],
    ids=["inside", "q01", "q99", "below", "above", "inf", "-inf", "a hole"],
)
def test_in_range_judges_a_row_by_its_numbers(make_table, cell, admitted):
    real = make_table(np.arange(101))  # so that q01 = 1 and q99 = 99
    candidate = orphans(make_table([0.0], numeric=[[cell]]))

    verdict = InRange(PAPER).passes(candidate, context_of(real))

    assert verdict.tolist() == [admitted]


def test_one_number_out_of_range_is_enough(make_table):
    grid = np.arange(101.0)
    real = make_table(grid, numeric=np.stack([grid, 10 * grid], axis=1))
    cells = [[50, 500], [50, 5], [0, 500], [0, 5]]
    candidates = orphans(make_table(np.zeros(4), numeric=cells))

    verdict = InRange(PAPER).passes(candidates, context_of(real))

    assert verdict.tolist() == [True, False, False, False]


def test_a_number_kept_from_the_real_row_is_not_judged(make_table):
    real = make_table(np.arange(101))
    asked = make_table(np.zeros(3), numeric=[[0.0], [0.0], [0.25]])
    # The first two descend from row 0, which is 0, and from row 7, which is not.
    candidates = replace(asked, origin=np.array([0, 7, 0]))

    verdict = InRange(PAPER).passes(candidates, context_of(real))

    assert verdict.tolist() == [True, False, False]


def test_a_parent_that_the_lineage_has_not_seen_excuses_nothing(make_table):
    real = make_table(np.arange(101))
    candidate = make_table([0.0], numeric=[[0.0]])  # its origin is row 0

    verdict = InRange(PAPER).passes(candidate, context_of(real.take(np.arange(1, 101))))

    assert verdict.tolist() == [False]


def test_the_ends_are_rounded_as_the_column_is():
    # q01 = 0.0495 and q99 = 4.9005: a number drawn there is stored as 0 or as 4.9.
    frame = pd.DataFrame({"x": np.arange(0, 5, 0.05).round(1), "y": ["a", "b"] * 50})
    real = read_frame(frame, "y")
    assert real.schema.features[0].decimals == 1

    asked = with_cells(real.take(np.arange(3)), 0, [0.0, 4.9, 5.0])

    assert InRange(PAPER).passes(asked, context_of(real)).tolist() == [
        True,
        True,
        False,
    ]


def test_large_integers_and_times_are_compared_exactly():
    big = 2**62
    frame = pd.DataFrame(
        {
            "serial": [big + 3 * k for k in range(30)],
            "seen": pd.to_datetime(np.arange(30) * 3 + 1_700_000_000 * 10**9),
            "y": ["a", "b"] * 15,
        }
    )
    kinds = {"serial": "integer", "seen": "datetime"}
    real = read_frame(frame, "y", kinds=kinds)
    three = real.take(np.arange(3))
    gate, context = InRange((0.0, 1.0)), context_of(real)

    # A float cannot tell these ends from their neighbours.
    serial = gate.passes(with_cells(three, 0, [big - 1, big, big + 88]), context)
    first = 1_700_000_000 * 10**9
    seen = gate.passes(with_cells(three, 1, [first - 1, first, first + 88]), context)

    assert serial.tolist() == [False, True, False]
    assert seen.tolist() == [False, True, False]


def test_without_a_single_real_number_none_is_in_range(make_table):
    real = make_table(np.zeros(3), numeric=np.full((3, 1), np.nan))
    asked = orphans(make_table(np.zeros(2), numeric=[[1.0], [np.nan]]))

    verdict = InRange((0.0, 1.0)).passes(asked, context_of(real))

    assert verdict.tolist() == [False, True]


def test_without_real_rows_no_number_is_in_range(make_table):
    asked = make_table(np.zeros(2), numeric=[[1.0], [np.nan]])

    verdict = InRange(PAPER).passes(asked, context_of(asked.empty()))

    assert verdict.tolist() == [False, True]


def test_the_quantiles_are_those_of_the_numbers_that_are_there(make_table):
    grid = np.arange(201.0)
    with_holes = np.where(grid % 2, np.nan, grid)  # its q01 is 2, its q99 198
    real = make_table(grid, numeric=np.stack([grid, with_holes], axis=1))
    cells = [[100, 1.9], [100, 2.0], [100, 198.0], [100, 198.1], [1.9, 100]]

    verdict = InRange(PAPER).passes(
        orphans(make_table(np.zeros(5), numeric=cells)), context_of(real)
    )

    assert verdict.tolist() == [False, True, True, False, False]
