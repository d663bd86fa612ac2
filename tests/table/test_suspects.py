from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.errors import BadTableError
from tabtap.table import read_frame
from tabtap.table.suspects import (
    CHANCE,
    copy_groups,
    lost_columns,
    row_numbers,
    target_copies,
)

# ---- Copies of rows, whatever their order and whatever marks them.


def measured(n_rows, rng=0):
    """Rows of three numbers and a class: no two are equal by chance."""
    rng = np.random.default_rng(rng)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    return frame.assign(y=rng.choice(["u", "v"], n_rows))


def read(frame, **settings):
    return read_frame(frame.reset_index(drop=True), "y", **settings)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=30))
@settings(max_examples=50, deadline=None)
def test_rows_share_a_number_exactly_if_they_are_equal(rows):
    columns = list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    numbers = row_numbers(columns, len(rows))

    seen = list(dict.fromkeys(rows))  # in the order in which they appear
    assert numbers.tolist() == [seen.index(row) for row in rows]


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


# ---- Columns that copy the target.


CODES = [0, 1, 2, 1] * 5
WORDS = ["no", "yes", "maybe", "yes"] * 5
NUMBERS = (np.arange(20) ** 1.5).tolist()


def copies_of(target, feature, **settings):
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "told": feature})
    return target_copies(read_frame(frame, y=pd.Series(target, name="y"), **settings))


@pytest.mark.parametrize(
    ("target", "feature"),
    [
        (CODES, CODES),
        (CODES, [float(code) for code in CODES]),
        (WORDS, WORDS),
        (WORDS, pd.Categorical(WORDS, categories=["yes", "no", "maybe"])),
        ([code == 1 for code in CODES], [int(code == 1) for code in CODES]),
        (NUMBERS, NUMBERS),
        (list(range(40, 80, 2)), np.arange(40.0, 80, 2)),
    ],
    ids=["codes", "as floats", "words", "categories", "flags", "numbers", "integers"],
)
def test_a_feature_that_equals_the_target_is_found_however_it_is_stored(
    target, feature
):
    assert copies_of(target, feature) == ["told"]


@pytest.mark.parametrize(
    ("target", "feature"),
    [
        (CODES, [*CODES[:-1], 0]),
        (CODES, [code + 1 for code in CODES]),
        (CODES, [*CODES[:-1], None]),
        (WORDS, CODES),
        (WORDS, [word.upper() for word in WORDS]),
        (NUMBERS, [number * 2 for number in NUMBERS]),
        (CODES, pd.to_datetime(CODES)),
        (list(range(20)), list(range(20))),
    ],
    ids=[
        "but for one row",
        "other codes",
        "a hole",
        "codes of words",
        "other words",
        "another unit",
        "times",
        "row numbers, which are not learned",
    ],
)
def test_a_feature_that_only_tells_the_target_is_not_a_copy(target, feature):
    assert copies_of(target, feature) == []


def test_a_table_without_a_target_has_no_copies():
    assert target_copies(read_frame(pd.DataFrame({"a": NUMBERS}))) == []


def test_the_target_left_among_the_features_is_a_problem():
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "sick": WORDS})

    with pytest.raises(BadTableError, match="equals y in every row") as raised:
        read_frame(frame, y=frame["sick"])

    (problem,) = raised.value.problems
    assert problem.column == "sick"
    assert problem.fix == "Drop it: frame.drop(columns=['sick'])"


def test_another_column_of_the_same_name_is_no_problem():
    frame = pd.DataFrame({"dose": np.linspace(0, 1, 20), "sick": CODES})

    table = read_frame(frame, y=pd.Series(WORDS, name="sick"))

    assert [column.name for column in table.schema.features] == ["dose", "sick"]


# ---- Columns that would stay empty in new rows.


RATES = [f"{i}.5%" for i in range(40)]


def frame_with(cells, name="rate"):
    dose = [0.5, 1.25, 3.0, 2.0] * (len(cells) // 4)
    return pd.DataFrame({"dose": dose, name: cells})


def test_a_column_that_stays_empty_is_named_with_a_cell_and_the_fix():
    (lost,) = lost_columns(read_frame(frame_with(RATES)))

    assert str(lost) == (
        "Column 'rate' holds percentages as text, such as '0.5%', so it is not learned "
        "and is empty in new rows. Convert it: frame['rate'] = "
        r"pd.to_numeric(frame['rate'].str.replace(r'[^\d.-]', '', regex=True)), or say "
        "that it is meant: kinds={'rate': 'identifier'}."
    )


def test_a_column_of_too_many_levels_is_lost_too():
    (lost,) = lost_columns(read_frame(frame_with(RATES[:38] + RATES[:2])))

    assert "each of its 38 values is learned as a word by itself" in lost.found
    assert str(lost).endswith("kinds={'rate': 'category'}.")


def test_the_fix_mends_the_column():
    frame = frame_with(RATES)
    (lost,) = lost_columns(read_frame(frame))

    mended = eval(lost.code, {"pd": pd, "frame": frame})

    assert mended.tolist() == [i + 0.5 for i in range(40)]
    assert lost_columns(read_frame(frame.assign(rate=mended))) == []


@pytest.mark.parametrize(
    "cells",
    [
        [f"person {i}" for i in range(40)],
        [f"{i:05}" for i in range(40)],
        ["5%", "10%", "20%", "25%"] * 10,
        [f"{hour}:00" for hour in range(8, 20)] * 5,
        pd.Categorical(RATES),
    ],
    ids=["names", "codes", "few levels", "levels that come back", "declared"],
)
def test_what_is_rightly_a_name_or_a_level_is_not_lost(cells):
    table = read_frame(frame_with(cells[: len(cells) // 4 * 4]))

    assert lost_columns(table) == []


def test_a_column_that_is_named_an_identifier_is_one():
    assert lost_columns(read_frame(frame_with(RATES, name="rate_id"))) == []


@pytest.mark.parametrize("kind", ["identifier", "category"])
def test_who_names_the_kind_of_a_column_means_it(kind):
    kinds = {"rate": kind}
    table = read_frame(frame_with(RATES), kinds=kinds)

    assert lost_columns(table, declared=kinds) == []
    assert [lost.name for lost in lost_columns(table)] == ["rate"]


@pytest.mark.parametrize(
    "make",
    [
        lambda cells: frame_with(pd.Series(cells, dtype=object)),
        lambda cells: frame_with(pd.Series(cells, dtype="string")),
        lambda cells: pl.from_pandas(frame_with(cells)),
        lambda cells: frame_with([*cells[:-4], *[None] * 4]),
    ],
    ids=["objects", "strings", "polars", "holes"],
)
def test_it_does_not_matter_how_texts_are_stored(make):
    table = read_frame(make(RATES))

    assert [lost.name for lost in lost_columns(table)] == ["rate"]
