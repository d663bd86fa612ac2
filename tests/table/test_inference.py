import numpy as np
import pandas as pd
import pytest

from tabtap.table import Kind, read_frame
from tabtap.table.kinds import names_an_identifier

RNG = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(60)]
DAYS = pd.date_range("2020-01-01", periods=60)


def kind_of(cells, name="column", **settings):
    frame = pd.DataFrame({name: pd.Series(cells)})
    return read_frame(frame, floor=1, **settings).schema.features[0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (RNG.normal(size=60), Kind.CONTINUOUS),
        (RNG.integers(0, 1000, 60), Kind.INTEGER),
        (RNG.permutation(60).astype(float), Kind.INTEGER),
        ([0, 1] * 30, Kind.CATEGORY),
        ([0.0, 1.0] * 30, Kind.CATEGORY),
        ([17, 400], Kind.CATEGORY),
        ([0.5, 1.5] * 30, Kind.CATEGORY),
        (list(range(10)) * 3, Kind.CATEGORY),
        ([1.0, 2.0, 3.0, np.nan] * 5, Kind.CATEGORY),
        (list(range(11)) * 5, Kind.INTEGER),
        (list(range(10)) * 2, Kind.INTEGER),
        ([0.5, 1.5, 2.5] * 20, Kind.CONTINUOUS),
        ([0.0, -0.0, 1.0] * 20, Kind.CONTINUOUS),
        ([2.0**60, 2.0**61, 3.5e20] * 20, Kind.CONTINUOUS),
        ([True, False] * 30, Kind.BOOLEAN),
        (["a", "b", None] * 20, Kind.CATEGORY),
        (pd.Categorical(WORDS), Kind.CATEGORY),
        (DAYS, Kind.DATETIME),
        ([DAYS[0], DAYS[1]] * 30, Kind.CATEGORY),
        (pd.to_timedelta(range(60), unit="h"), Kind.DATETIME),
        ([7] * 60, Kind.CONSTANT),
        (["same"] * 60, Kind.CONSTANT),
        (["same", None] * 30, Kind.CATEGORY),
        (WORDS, Kind.IDENTIFIER),
        (WORDS[:59] + WORDS[:1], Kind.CATEGORY),
        (WORDS[:11], Kind.CATEGORY),
        (range(60), Kind.IDENTIFIER),
        (range(1, 61), Kind.IDENTIFIER),
        (range(1001, 1041), Kind.IDENTIFIER),
        (range(-5, 7), Kind.IDENTIFIER),
        (np.arange(2**64 - 12, 2**64, dtype="uint64"), Kind.IDENTIFIER),
        (range(1001, 1012), Kind.INTEGER),
        (range(1040, 1000, -1), Kind.INTEGER),
        ([1001, 1002, 1004, *range(1005, 1020)], Kind.INTEGER),
        ([-(2**63), *range(20), 2**63 - 1], Kind.INTEGER),
        (range(1990, 2050), Kind.INTEGER),
        (np.arange(60.0), Kind.INTEGER),
        (RNG.choice(10**6, 20, replace=False), Kind.INTEGER),
        (["1", "2", "3"] * 20, Kind.CATEGORY),
        ([f"{i:05}" for i in range(60)], Kind.IDENTIFIER),
    ],
    ids=[
        "floats",
        "many integers",
        "whole floats",
        "0/1 flags",
        "0/1 floats",
        "two integers, however rare",
        "two floats",
        "ten values, three rows each",
        "few whole floats with holes",
        "eleven values",
        "ten values, two rows each",
        "few floats that are not whole",
        "negative zero",
        "whole but too large",
        "bools",
        "strings",
        "declared category, all distinct",
        "dates",
        "two dates",
        "durations",
        "one integer",
        "one string",
        "one string and holes",
        "distinct strings",
        "nearly distinct strings",
        "distinct strings, too few rows to tell",
        "row numbers from 0",
        "row numbers from 1",
        "row numbers from anywhere",
        "row numbers from below zero",
        "row numbers at the end of all numbers",
        "too few to be row numbers",
        "numbers that go down",
        "numbers with a gap",
        "numbers as far apart as can be",
        "years",
        "float row numbers",
        "distinct measurements",
        "few numbers as text",
        "zero-padded codes",
    ],
)
def test_a_kind_is_inferred_by_the_documented_rule(cells, kind):
    assert kind_of(cells).kind is kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (RNG.choice(10**6, 20, replace=False), Kind.IDENTIFIER),
        (RNG.choice(10**6, 20, replace=False).astype(float), Kind.IDENTIFIER),
        ([f"{i}" for i in range(100, 120)], Kind.IDENTIFIER),
        (list(range(1000, 1020)) * 2, Kind.CATEGORY),
        (np.linspace(0, 1, 20), Kind.CONTINUOUS),
    ],
    ids=["integers", "whole floats", "digits", "groups of rows", "fractions"],
)
def test_a_name_tells_an_identifier_from_a_number(cells, kind):
    assert kind_of(cells, name="patient_id").kind is kind


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("id", True),
        ("ID", True),
        ("customerId", True),
        ("row index", True),
        ("uuid4", True),
        ("Unnamed: 0", True),
        ("covid", False),
        ("width", False),
        ("idle", False),
        (0, False),
    ],
)
def test_names_of_identifiers_are_words_not_letters(name, claim):
    assert names_an_identifier(name) is claim


@pytest.mark.parametrize(
    ("cells", "wanted", "kind", "ordered"),
    [
        ([1, 2, 3] * 20, "integer", Kind.INTEGER, False),
        ([1, 2, 3] * 20, Kind.IDENTIFIER, Kind.IDENTIFIER, False),
        ([0, 1] * 30, "boolean", Kind.BOOLEAN, False),
        (range(60), "integer", Kind.INTEGER, False),
        (["lo", "hi"] * 30, "ordered category", Kind.CATEGORY, True),
        (np.linspace(0, 1, 60), "category", Kind.CATEGORY, True),
        ([1.0, 2.0] * 30, "continuous", Kind.CONTINUOUS, False),
    ],
)
def test_the_user_has_the_last_word(cells, wanted, kind, ordered):
    column = kind_of(cells, kinds={"column": wanted})

    assert (column.kind, column.ordered) == (kind, ordered)


@pytest.mark.parametrize(
    ("cells", "ordered"),
    [
        ([1, 2, 3] * 20, True),
        ([0, 1] * 30, False),
        (["a", "b", "c"] * 20, False),
        (pd.Categorical(["a", "b"] * 30, ordered=True), True),
    ],
    ids=["numbers", "flag", "strings", "declared"],
)
def test_numbers_and_declared_categories_have_an_order(cells, ordered):
    assert kind_of(cells).ordered is ordered


def test_levels_are_sorted_whatever_the_rows():
    assert kind_of(["b", "c", "a"] * 20).levels == ("a", "b", "c")
    assert kind_of([30, 10, 20] * 20).levels == (10, 20, 30)


def test_levels_of_a_category_are_those_seen_and_the_others_are_remembered():
    cells = pd.Categorical(["b", "a"] * 6, categories=["z", "b", "a"])

    column = kind_of(cells)

    assert column.levels == ("b", "a")
    assert column.categories == ("z", "b", "a")


def test_prose_may_be_kept_as_an_identifier():
    prose = [f"a sentence of several words, number {i}" for i in range(20)]

    assert kind_of(prose, kinds={"column": "identifier"}).kind is Kind.IDENTIFIER


def test_the_most_frequent_form_of_a_hole_comes_first():
    cells = pd.Series(["a", None, float("nan"), float("nan")] * 3, dtype=object)

    assert kind_of(cells).markers == ("nan", "none")
