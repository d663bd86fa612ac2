"""Copies are told from coincidences, whatever their order and whatever marks them."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.table import read_frame
from tabtap.table.suspects import CHANCE, copy_groups


def measured(n_rows, rng=0):
    """Rows of three numbers and a class: no two are equal by chance."""
    rng = np.random.default_rng(rng)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    return frame.assign(y=rng.choice(["u", "v"], n_rows))


def read(frame, **settings):
    return read_frame(frame.reset_index(drop=True), "y", **settings)


def test_every_row_twice_is_numbered_in_pairs():
    frame = measured(20)

    groups = copy_groups(read(pd.concat([frame, frame])))

    assert groups.tolist() == [*range(20), *range(20)]


def test_rows_that_are_all_different_have_no_copies():
    assert copy_groups(read(measured(30))) is None


def test_a_single_copy_among_many_columns_is_found():
    frame = measured(20)

    groups = copy_groups(read(pd.concat([frame, frame.iloc[[7]]])))

    assert groups.tolist() == [*range(20), 7]


def test_the_same_features_with_another_target_are_no_copies():
    frame = measured(20)
    other = frame.assign(y=np.where(frame["y"] == "u", "v", "u"))

    assert copy_groups(read(pd.concat([frame, other]))) is None


def test_a_hole_equals_a_hole_and_nothing_else():
    frame = measured(20)
    frame.loc[:9, "a"] = np.nan
    filled = frame.iloc[:10].assign(a=0.0)

    groups = copy_groups(read(pd.concat([frame, frame.iloc[:10], filled])))

    assert groups.tolist() == [*range(20), *range(10), *range(20, 30)]


def test_two_forms_of_a_hole_are_the_same_hole():
    frame = measured(20).assign(d=pd.Series(["x", None] * 10, dtype=object))
    other = frame.assign(d=pd.Series(["x", np.nan] * 10, dtype=object))

    groups = copy_groups(read(pd.concat([frame, other])))

    assert groups.tolist() == [*range(20), *range(20)]


def test_a_row_number_does_not_hide_copies():
    frame = pd.concat([measured(20), measured(20)])
    frame["id"] = np.arange(1000, 1040)

    groups = copy_groups(read(frame, kinds={"id": "identifier"}))

    assert groups.tolist() == [*range(20), *range(20)]


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_equal_rows_of_few_levels_are_natural(n_columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(list("pq"), (60, n_columns)))
    frame.columns = [f"x{i}" for i in range(n_columns)]
    frame["y"] = rng.choice(["u", "v"], 60)

    assert copy_groups(read(frame)) is None


def test_a_regression_target_is_compared_too():
    frame = measured(20).assign(y=np.random.default_rng(1).normal(size=20))
    moved = frame.assign(y=frame["y"] + 1.0)

    assert copy_groups(read(pd.concat([frame, frame]))) is not None
    assert copy_groups(read(pd.concat([frame, moved]))) is None


tables = st.lists(
    st.tuples(*[st.integers(0, 3)] * 3, st.sampled_from("uv")), min_size=12, max_size=30
).filter(lambda rows: len({row[-1] for row in rows}) == 2)


def by_hand(rows):
    """Tell copies from coincidences pair by pair, in plain Python."""
    n_equal = sum(one == other for one, other in combinations(rows, 2))
    distinct = set(rows)
    by_chance = comb(len(rows), 2)
    for column in zip(*distinct, strict=True):
        counts = [column.count(value) for value in set(column)]
        by_chance *= sum((count / len(distinct)) ** 2 for count in counts)
    return n_equal > 0 and by_chance < CHANCE * n_equal


@settings(deadline=None, max_examples=60)
@given(rows=tables)
def test_the_rule_is_the_one_by_hand(rows):
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "y"])
    kinds = dict.fromkeys("abc", "category")

    groups = copy_groups(read(frame, kinds=kinds))

    assert (groups is not None) == by_hand(rows)


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(range(24)), n_copies=st.integers(1, 12))
def test_equal_numbers_mean_equal_rows_in_any_order(order, n_copies):
    frame = pd.concat([measured(24 - n_copies), measured(24 - n_copies)[:n_copies]])
    frame = frame.iloc[list(order)]
    rows = [tuple(row) for row in frame.to_numpy()]

    groups = copy_groups(read(frame))

    for one, other in combinations(range(24), 2):
        assert (groups[one] == groups[other]) == (rows[one] == rows[other])
