import numpy as np
import pandas as pd
import pytest

from tabtap.files.cells import format_number, format_times, plain_style, read_times
from tabtap.files.formats import ColumnStyle

# ---- Numbers are read as they were meant, and what only looks like one stays text.


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["1", "-2", "+3"], "int64", [1, -2, 3]),
        (["1", "", "3"], "Int64", [1, None, 3]),
        (["9223372036854775808", "1"], "uint64", [2**63, 1]),
        (["1.5", ".5", "2.", "1e-3"], "float64", [1.5, 0.5, 2.0, 0.001]),
        ([" 1 ", "2"], "int64", [1, 2]),
        (["0.1", "?", "-"], "float64", [0.1, None, None]),
        (["1", "2.50"], "float64", [1.0, 2.5]),
        (["1", "-inf"], "float64", [1.0, -np.inf]),
        (["True", "False", ""], "boolean", [True, False, None]),
        (["TRUE", "FALSE"], "bool", [True, False]),
    ],
)
def test_a_column_gets_the_narrowest_type_that_holds_it(read, cells, dtype, values):
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)

    column = read(text).frame["a"]

    assert column.dtype == dtype
    assert [None if v is None or v != v else v for v in column.astype(object)
            .where(column.notna(), None)] == values  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (["007", "123"], "column 'a' has leading zeros; read as text"),
        (["01067", "99999"], "column 'a' has leading zeros; read as text"),
        (["123456789012345678901234", "1"], "column 'a' has whole numbers beyond 64 "
         "bits; read as text"),
        (["1_000", "2"], None),
        (["0x1A", "2"], None),
        (["AA", "aa"], None),
        (["yes", "no"], None),
    ],
)  # fmt: skip
def test_what_is_no_plain_number_stays_text(read, cells, note):
    table = read("a;b\n" + "".join(f"{cell};x\n" for cell in cells))

    assert table.frame["a"].tolist() == cells
    assert table.notes[1:] == (() if note is None else (note,))


def test_a_decimal_comma_needs_another_separator(read):
    semicolon = read("a;b\n1,5;x\n2;y\n")
    tab = read("a\tb\n1,5\tx\n", "t.tsv")
    comma = read('a,b\n"1,5",x\n')

    assert semicolon.frame["a"].tolist() == [1.5, 2.0]
    assert semicolon.dialect.decimal == ","
    assert semicolon.notes == ("separator ';' and decimal comma",)
    assert tab.frame["a"].tolist() == [1.5]
    assert comma.frame["a"].tolist() == ["1,5"]


def test_a_decimal_comma_may_be_named(read):
    assert read('a,b\n"1,5",x\n', decimal=",").frame["a"].tolist() == [1.5]


def test_the_other_columns_say_what_a_sign_before_three_digits_is(read):
    table = read("a;b;c\n1.234;0,5;1.5\n2.500;1,25;2.5\n")
    german = read("a;b;c\n1.234;0,5;x\n2.500;1,25;y\n")

    assert table.questions[0].column == "a"  # for c has decimal points too
    assert german.frame["a"].tolist() == [1234, 2500]
    assert german.notes[-1] == "column 'a' holds numbers: '1.234' is read as 1234"


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (2.5, {"n_decimals": 2}, "2.50"),
        (2.125, {"n_decimals": 2}, "2.125"),  # nothing is lost for the sake of looks
        (2.5, {"decimal": ","}, "2,5"),
        (3.0, {}, "3.0"),
        (3.0, {"whole": True}, "3"),
        (1e-7, {"whole": True}, "1e-07"),
    ],
)
def test_a_number_is_written_as_its_column_writes_numbers(value, style, text):
    assert format_number(value, ColumnStyle(name="a", **style)) == text


# ---- Times are read only if they can be written back letter by letter.


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
