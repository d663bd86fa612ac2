"""Columns that follow from others: found where they do, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.table import read_frame, write_frame
from tabtap.table.computed import compute, find_formulas, target_formulas, with_sources


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def base(rng, n=40):
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(
        rng.integers(0, 15000, n), unit="D"
    )
    came = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 900, n), unit="D"
    )
    return pd.DataFrame(
        {
            "weight": rng.normal(78, 12, n).round(1),
            "height": rng.normal(172, 9, n).round(0) + 0.5,
            "price": rng.lognormal(3, 1, n).round(2),
            "count": rng.integers(1, 6, n),
            "born": born,
            "came": came,
        }
    )


def whole_years(born, came):
    early = (came.dt.month * 100 + came.dt.day) < (born.dt.month * 100 + born.dt.day)
    return came.dt.year - born.dt.year - early


MADE = {
    "sum": (lambda f: (f["weight"] + f["price"]).round(2), "weight + price"),
    "difference": (lambda f: (f["height"] - f["weight"]).round(1), "height - weight"),
    "product": (lambda f: (f["price"] * f["count"]).round(2), "price * count"),
    "ratio": (lambda f: (f["weight"] / f["price"]).round(3), "weight / price"),
    "percent": (
        lambda f: (100 * f["weight"] / f["height"]).round(2),
        "100 * weight / height",
    ),
    "bmi": (
        lambda f: (f["weight"] / (f["height"] / 100) ** 2).round(1),
        "10000 * weight / height^2",
    ),
    "age": (
        lambda f: whole_years(f["born"], f["came"]),
        "whole years from born to came",
    ),
    "stay": (lambda f: (f["came"] - f["born"]).dt.days, "days from born to came"),
    "pounds": (lambda f: (f["weight"] * 2.2046).round(1), None),
}


@pytest.mark.parametrize("name", MADE)
def test_a_column_that_is_computed_is_found_with_its_formula(rng, name):
    make, text = MADE[name]
    frame = base(rng)
    table = read_frame(frame.assign(**{name: make(frame)}))

    found = {
        table.schema.features[f.position].name: f.text(table)
        for f in find_formulas(table)
    }

    assert set(found) == {name}
    if text is not None:
        assert found[name] == text


def test_long_sums_are_found(rng):
    answers = pd.DataFrame(rng.integers(1, 6, (60, 5)), columns=list("abcde"))
    table = read_frame(answers.assign(score=answers.sum(axis=1)))

    (formula,) = find_formulas(table)

    assert formula.text(table) == "a + b + c + d + e"


@pytest.mark.parametrize("seed", range(12))
def test_noise_gives_no_formula(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 80))
    frame = pd.DataFrame(
        {
            **{f"n{i}": rng.normal(0, 1, n).round(i % 3) for i in range(6)},
            **{f"i{i}": rng.integers(0, int(rng.integers(3, 40)), n) for i in range(6)},
            **{f"p{i}": rng.lognormal(0, 1, n).round(1) for i in range(6)},
            "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), unit="D"),
        }
    )  # fmt: skip
    noisy = frame["p0"] * frame["p1"] + rng.normal(0, 0.2, n)

    table = read_frame(frame.assign(nearly=noisy.round(1)))

    assert find_formulas(table) == ()


def test_one_row_that_differs_is_enough_to_draw_the_column(rng):
    frame = base(rng)
    total = (frame["price"] * frame["count"]).round(2)
    total.iloc[7] += 0.5

    assert find_formulas(read_frame(frame.assign(total=total))) == ()


def test_what_does_not_vary_explains_nothing(rng):
    frame = base(rng)[["price", "weight"]].assign(bonus=0.0)
    frame.loc[[1, 2], "bonus"] = [5.25, 6.5]  # too few to tell

    table = read_frame(frame.assign(total=frame["price"] + frame["bonus"]))

    assert find_formulas(table) == ()


def test_of_columns_that_give_each_other_one_is_computed(rng):
    frame = base(rng)[["weight", "price"]]
    frame.insert(0, "total", (frame["weight"] + frame["price"]).round(2))

    table = read_frame(frame)

    (formula,) = find_formulas(table)
    assert table.schema.features[formula.position].name == "total"


def test_new_rows_are_computed_from_their_own_cells(rng):
    frame = base(rng)
    frame["bmi"] = MADE["bmi"][0](frame)
    frame["double"] = frame["bmi"] * 2
    table = read_frame(frame)
    formulas = find_formulas(table)
    mixed = table.take(np.arange(40))
    cells = list(mixed.cells)
    cells[0] = cells[0][::-1].copy()  # other weights
    mixed = type(table)(table.schema, tuple(cells), *[
        getattr(table, name) for name in ("missing", "target", "origin", "unseen_fold")
    ])  # fmt: skip
    masks = np.zeros(table.missing.shape, dtype=bool)
    masks[:20, 0] = True

    where = with_sources(masks, formulas)
    made = write_frame(compute(mixed, formulas, where))

    assert where[:20, [6, 7]].all()
    assert not where[20:].any()
    wanted = MADE["bmi"][0](made)
    assert np.allclose(made["bmi"][:20], wanted[:20])
    assert np.allclose(made["double"], made["bmi"] * 2)
    assert (made["bmi"][20:] == frame["bmi"][20:]).all()


def test_a_missing_part_of_a_sum_counts_as_nothing_if_the_rows_say_so(rng):
    frame = base(rng)[["weight", "price"]]
    frame.loc[::3, "price"] = np.nan
    frame["total"] = frame["weight"] + frame["price"].fillna(0)
    other = frame.assign(total=frame["total"].where(frame["price"].notna()))

    (zero,) = find_formulas(read_frame(frame.round(2)))
    (empty,) = find_formulas(read_frame(other.round(2)))

    assert (zero.holes, empty.holes) == ("zero", "empty")


def test_columns_can_be_named_and_left_alone(rng):
    frame = base(rng)
    frame["bmi"] = MADE["bmi"][0](frame)
    frame["total"] = MADE["product"][0](frame)
    table = read_frame(frame)

    assert find_formulas(table, "none") == ()
    assert [f.position for f in find_formulas(table, ["total"])] == [7]
    with pytest.raises(UserInputError, match="weight"):
        find_formulas(table, ["weight"])
    with pytest.raises(UserInputError, match="spelling"):
        find_formulas(table, ["weihgt"])


def test_a_feature_made_from_the_target_is_told(rng):
    frame = base(rng)[["weight", "height"]]
    frame["price"] = rng.lognormal(11, 0.5, 40).round(0)
    frame["per metre"] = (frame["price"] / frame["height"]).round(1)

    table = read_frame(frame, "price")

    assert target_formulas(table) == [("per metre", "price / height")]
    assert find_formulas(table) == ()


# ---- Many rows: a sample refuses, all rows confirm.


@pytest.fixture
def many(rng):
    """A frame of more rows than are looked at before a formula is believed."""
    n_rows = 25_000
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(3), columns=list("abcd"))
    frame["sum"] = (frame["a"] + frame["b"]).round(3)
    frame["inches"] = (frame["c"] / 2.54).round(4)
    frame["long"] = (frame["a"] - frame["c"] + frame["d"]).round(3)
    return frame


def texts(frame):
    table = read_frame(frame)
    return {
        str(table.schema.features[formula.position].name): formula.text(table)
        for formula in find_formulas(table)
    }


def test_formulas_are_found_in_many_rows(many):
    found = texts(many)

    assert found["sum"] == "a + b"
    assert found["long"] == "a - c + d"
    assert found["inches"].endswith("* c")


@pytest.mark.parametrize("column", ["sum", "long"])
def test_a_single_row_of_many_speaks_against_a_formula(many, column):
    many.loc[12_346, column] += 0.5

    assert column not in texts(many)


def test_a_column_that_is_zero_wherever_no_other_is_missing_spoils_no_search(rng):
    frame = pd.DataFrame(rng.normal(size=(60, 4)).round(3), columns=list("abcd"))
    frame["long"] = (frame["a"] - frame["c"] + frame["d"]).round(3)
    frame["late"] = np.where(np.arange(60) < 20, rng.integers(1, 90, 60), 0)
    frame.loc[frame["late"] > 0, "b"] = np.nan

    assert texts(frame)["long"] == "a - c + d"
