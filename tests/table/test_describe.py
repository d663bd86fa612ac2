import numpy as np
import pandas as pd
import pytest

from tabtap.table import describe, read_frame


@pytest.fixture
def table():
    n_rows = 40
    frame = pd.DataFrame(
        {
            "id": range(n_rows),
            "a name\nthat is much too long for a line": np.linspace(0, 1, n_rows),
            "day": pd.date_range("2020-01-01", periods=n_rows),
            "colour": ["red", None, "blue", "green"] * 10,
            "city": [f"a rather long city name {i % 15}" for i in range(n_rows)],
            "site": "A",
            "price": np.arange(n_rows) * 0.25,
        }
    )
    return read_frame(frame, "price")


def line_of(text, start):
    return next(line for line in text.splitlines() if line.startswith(start))


def test_no_line_is_wider_than_80_characters(table):
    for text in (describe(table), describe(table.schema)):
        assert max(map(len, text.splitlines())) <= 80
        assert len(text.splitlines()) == 3 + 7


def test_the_task_that_was_chosen_is_said_first(table):
    summary = describe(table).splitlines()[0]

    assert summary == "40 rows, 6 features. Target price: regression, 7 bins."


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("id", ["identifier", "40 values", "left empty"]),
        ("day", ["datetime", "2020-01-01 to 2020-02-09", "steps of 1 d"]),
        ("colour", ["category", "blue, green, red", "25%", "levels"]),
        ("city", ["category", "15: a rather"]),
        ("site", ["constant", "A", "the same"]),
        ("price", ["target", "0.0 to 9.75", "asked for"]),
    ],
)
def test_each_column_says_what_was_seen_and_what_will_be_done(table, column, words):
    line = line_of(describe(table), column)

    assert [word for word in words if word not in line] == []


def test_values_of_identifiers_are_not_shown():
    frame = pd.DataFrame({"who": [f"patient-{i}" for i in range(12)]})

    assert "patient-" not in describe(read_frame(frame))


def test_a_table_without_a_target_or_rows_can_be_described(table):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 12)})

    assert describe(read_frame(frame)).startswith("12 rows, 1 feature. No target.")
    assert describe(table.empty()).startswith("0 rows, 6 features.")
