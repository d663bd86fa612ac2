import pandas as pd
import polars as pl
import pytest

from tabtap.table import read_frame
from tabtap.table.suspects import lost_columns

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
