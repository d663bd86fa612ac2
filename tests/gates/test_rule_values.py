import datetime as dt

import numpy as np
import pandas as pd
import pytest

from tabtap.gates.rule_evaluation import (
    Numbers,
    Times,
    Truths,
    Words,
    column_values,
    find_column,
    parse_time,
)
from tabtap.table import read_frame


def read_column(values, kind=None):
    kinds = None if kind is None else {"x": kind}
    frame = pd.DataFrame({"x": values, "other": np.arange(len(values))})
    return column_values(*find_column(read_frame(frame, kinds=kinds), "x"))


DAYS = list(pd.date_range("2024-01-01", periods=3)) * 4


@pytest.mark.parametrize(
    ("values", "kind", "sort"),
    [
        (np.arange(12) / 4, None, Numbers),
        (np.arange(12) * 100, "integer", Numbers),
        ([1, 2, 3] * 4, "category", Numbers),
        ([0.5, 1.5] * 6, "category", Numbers),
        (pd.Categorical([1, 2] * 6), None, Numbers),
        (np.arange(12).astype("m8[h]").astype("m8[s]"), "datetime", Numbers),
        ([True, False] * 6, None, Truths),
        (pd.array([True, False, None] * 4, dtype="boolean"), None, Truths),
        (["a", "b"] * 6, "category", Words),
        ([5] * 12, None, Numbers),
        (["a"] * 12, None, Words),
        (DAYS, "datetime", Times),
        (DAYS, "category", Times),
        (pd.Categorical(DAYS), None, Times),
        (pd.Series(DAYS).dt.tz_localize("Asia/Tokyo"), "category", Times),
        ([dt.date(2024, 1, d) for d in (1, 2, 3)] * 4, "category", Times),
    ],
)
def test_every_kind_of_column_becomes_what_its_values_are(values, kind, sort):
    assert isinstance(read_column(values, kind), sort)


def test_the_values_are_those_the_user_gave():
    numbers = read_column([1, 2, None] * 4, "category")
    durations = read_column(pd.to_timedelta(np.arange(12) * 36, "h"), "datetime")
    days = read_column(pd.Categorical(DAYS))

    assert numbers.known.tolist() == [True, True, False] * 4
    assert numbers.cells[:2].tolist() == [1, 2]
    assert durations.cells[:3].tolist() == [0.0, 1.5, 3.0]
    assert days.cells[1] == np.datetime64("2024-01-02")


def test_the_largest_integers_stay_exact():
    top = 2**64 - 1
    values = np.array([top - 3 * k for k in range(12)], dtype=np.uint64)

    assert int(read_column(values, "integer").cells[0]) == top


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2024-07-01", None, "2024-07-01T00:00"),
        ("2024-07-01 18:30", None, "2024-07-01T18:30"),
        ("2024-07-01", "Europe/Berlin", "2024-06-30T22:00"),
        ("2024-07-01T00:00+05:00", "Europe/Berlin", "2024-06-30T19:00"),
        ("2024-07-01T00:00Z", "Europe/Berlin", "2024-07-01T00:00"),
        # Clocks were set forward from 2 to 3: half past two became three.
        ("2024-03-31 02:30", "Europe/Berlin", "2024-03-31T01:00"),
        # And back from 3 to 2: the first half past two is meant.
        ("2024-10-27 02:30", "Europe/Berlin", "2024-10-27T00:30"),
    ],
)
def test_a_time_without_an_offset_is_meant_where_the_column_is(text, zone, moment):
    assert parse_time(text, zone) == np.datetime64(moment)


@pytest.mark.parametrize("text", ["tomorrow", "01.02.2024", "5", "", "2024-13-01"])
def test_a_time_in_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_time(text, None)


def test_a_column_that_is_not_there_is_a_key_error():
    table = read_frame(pd.DataFrame({"x": np.arange(12.0)}))

    with pytest.raises(KeyError):
        find_column(table, "y")
