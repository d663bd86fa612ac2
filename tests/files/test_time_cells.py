"""Times are read only if they can be written back letter by letter."""

import pandas as pd
import pytest

from tabtap.files.cells import format_times, plain_style, read_times


@pytest.mark.parametrize(
    ("cells", "second"),
    [
        (["2020-01-31", "2024-02-29"], "2024-02-29"),
        (["2020/01/31", "2024/02/29"], "2024-02-29"),
        (["2020.1.31", "2024.12.5"], "2024-12-05"),
        (["2020-01-31 10:30", "2024-02-29 00:00"], "2024-02-29"),
        (["2020-01-31T10:30:05", "2024-02-29T23:59:59"], "2024-02-29T23:59:59"),
        (["2020-01-31 10:30:05.250", "2024-02-29 01:01:01.001"],
         "2024-02-29T01:01:01.001"),
        (["2020-01-31 10:30:05.1234567", "2024-02-29 01:01:01.0000001"],
         "2024-02-29T01:01:01.0000001"),
        (["2020-01-31T10:30Z", "2024-02-29T01:00Z"], "2024-02-29T01:00+00:00"),
        (["2020-01-31T10:30:00+02:00", "2024-02-29T01:00:00+02:00"],
         "2024-02-28T23:00+00:00"),
        (["2020-01-31 10:30:00-0530", "2024-02-29 01:00:00-0530"],
         "2024-02-29T06:30+00:00"),
        (["0001-01-01", "9999-12-31"], "9999-12-31"),
    ],
)  # fmt: skip
def test_times_are_read_and_written_back(cells, second):
    times, style = read_times(cells)

    assert times[1] == pd.Timestamp(second)
    assert format_times(times, style) == cells


@pytest.mark.parametrize(
    "cells",
    [
        ["03/04/2020", "05/06/2020"],
        ["2020-02-30", "2020-02-01"],
        ["2020-01-31", "2020-1-31"],
        ["2020-01-31", "2020/01/31"],
        ["2020-01-31", "2020-01-31 10:00"],
        ["2020-01-31T10:00Z", "2020-01-31T10:00+01:00"],
        ["2020-01-31 10:00:00", "2020-01-31 10:00:00.5"],
        ["2020-01-31 24:00", "2020-01-31 10:00"],
        ["0000-01-01", "2020-01-01"],
        ["20200131", "20200201"],
        ["2020", "2021"],
        ["10:30", "11:30"],
        ["2020-01-31", "soon"],
    ],
)
def test_what_could_not_be_written_back_is_no_time(cells):
    assert read_times(cells) is None


def test_a_column_of_dates_with_holes_is_a_column_of_times(read):
    table = read("when,b\n2020-01-31,1\nNA,2\n")

    assert table.frame["when"].dtype == "datetime64[s]"
    assert table.frame["when"].isna().tolist() == [False, True]


def test_the_plain_style_keeps_all_there_is():
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    hours = days + pd.Timedelta("1500us")

    assert format_times(days, plain_style(days)) == ["2020-01-01", "2020-01-02"]
    assert format_times(hours, plain_style(hours))[0] == "2020-01-01 00:00:00.001500"
