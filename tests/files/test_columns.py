"""Cells as people write them are read as what they are, and written back the same."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabtap.errors import UserInputError
from tabtap.files import write_table
from tabtap.files.cells import format_column
from tabtap.files.columns import read_column, settle_columns


def settled(cells, separator=","):
    return settle_columns([read_column("a", cells)], separator)[0]


# ---- What is read, and that it is written again as it was.


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["12.5%", "7.0%"], [12.5, 7.0]),
        (["12 %", "7 %"], [12, 7]),
        (["$1,200.50", "-$980.00"], [1200.5, -980.0]),
        (["EUR 1.200,50", "EUR 980,00"], [1200.5, 980.0]),
        (["1 200,50 \u20ac", "980,00 \u20ac"], [1200.5, 980.0]),
        (["\u20ac -5,00", "\u20ac 1,00"], [-5.0, 1.0]),
        (["22.8 kg/m2", "30.1 kg/m2"], [22.8, 30.1]),
        (["1.72 m", "1.80 m"], [1.72, 1.8]),
        (["37.5\u00b0C", "36.9\u00b0C"], [37.5, 36.9]),
        (["5mg", "10mg"], [5, 10]),
        (["4 x10^9/L", "11 x10^9/L"], [4, 11]),
        (["1,234,567", "12"], [1234567, 12]),
        (["1'234.5", "12.0"], [1234.5, 12.0]),
        (["1.234,5", "12,5"], [1234.5, 12.5]),
        (["<0.01", "0.20", "1.50"], [0.01, 0.2, 1.5]),
        (["31.12.2020", "01.02.2021"], ["2020-12-31", "2021-02-01"]),
        (["31.12.2020 10:30", "01.02.2021 09:00"], ["2020-12-31T10:30",
         "2021-02-01T09:00"]),
        (["12/31/2020", "02/01/2021"], ["2020-12-31", "2021-02-01"]),
        (["31-Dec-2020", "01-Feb-2021"], ["2020-12-31", "2021-02-01"]),
    ],
)  # fmt: skip
def test_cells_are_read_as_what_they_are_and_written_as_they_were(cells, values):
    column = settled(cells)

    if column.style.kind == "time":
        assert column.series.tolist() == [pd.Timestamp(value) for value in values]
    else:
        assert column.series.tolist() == values
    assert format_column(column.series, column.style) == cells
    assert column.question is None
    assert len(column.notes) == 1


@pytest.mark.parametrize(
    "cells",
    [
        ["12a", "13b"],
        ["12 Elm", "7 Oak"],
        ["007 kg", "123 kg"],
        ["1.2.10", "1.3.2"],
        ["12%", "north"],
        ["<18", ">65"],
        ["30.02.2020", "01.02.2020"],
    ],
)
def test_what_only_looks_like_a_number_stays_text(cells):
    column = settled(cells)

    assert column.series.tolist() == cells
    assert column.question is None


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["25:07", "9:30"], 1507),
        (["08:05", "17:30"], 485),
        (["1:02:03", "0:59:59"], 3723),
        (["5'11\"", "6'0\""], 71),
    ],
)
def test_counts_in_parts_are_numbers_and_are_written_back(cells, first):
    column = settled(cells)

    assert column.series.tolist()[0] == first
    assert format_column(column.series, column.style) == cells


AMOUNTS = st.decimals(-(10**9), 10**9, places=2, allow_nan=False)
DAYS = st.dates(dt.date(1583, 1, 1), dt.date(9999, 12, 31))
WRITERS = {
    "percent": (AMOUNTS, lambda value: f"{value:.2f} %"),
    "dollars": (AMOUNTS, lambda value: f"{'-' * (value < 0)}${abs(value):,.2f}"),
    "euros": (
        AMOUNTS,
        lambda value: f"{value:,.2f} \u20ac".translate(str.maketrans(",.", ".,")),
    ),
    "grams": (AMOUNTS, lambda value: f"{value:.2f} mg/dL"),
    "whole": (st.integers(-(10**12), 10**12), lambda value: f"{value:,} kr"),
    "german": (DAYS, lambda day: f"{day:%d.%m.}{day.year:04}"),
    "short": (DAYS, lambda day: f"{day.day}.{day.month}.{day.year:04}"),
}


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_cell_that_is_read_and_written_again_is_the_same_text(data):
    values, write = WRITERS[data.draw(st.sampled_from(sorted(WRITERS)))]
    some = data.draw(st.lists(values, min_size=1, max_size=6))
    cells = [write(0 if value == 0 else value) for value in some]

    column = settled(cells, ";")

    assert column.style.kind in ("integer", "float", "time")
    assert format_column(column.series, column.style) == cells


# ---- What is in doubt is settled by the rest of the file, or asked for.


def test_a_sign_before_three_digits_is_asked_for_where_semicolons_part_cells(read):
    asked = read("a;b\n" + "".join(f"{i}.{i}00;x\n" for i in range(1, 10)))
    told = read(
        "a;b\n" + "".join(f"{i}.{i}00;x\n" for i in range(1, 10)), decimal={"a": ","}
    )

    (question,) = asked.questions
    assert asked.frame["a"][0] == "1.100"
    assert question.text == "holds '1.100', which is 1.1 or 1100"
    assert question.option == "--decimal a=. or --decimal a=,"
    assert told.frame["a"].tolist()[:2] == [1100, 2200]
    assert told.questions == ()


def test_a_sign_before_three_digits_is_a_decimal_point_where_commas_part_cells(read):
    table = read("a,b\n" + "".join(f"{i}.{i}00,x\n" for i in range(1, 10)))

    assert table.frame["a"].tolist()[:2] == [1.1, 2.2]
    assert table.questions == ()


def test_thousands_in_quotes_are_asked_for_or_settled_by_another_column(read):
    rows = range(1, 10)
    alone = read("a,b\n" + "".join(f'"{i},{i}00",x\n' for i in rows))
    beside = read("a,b\n" + "".join(f'"{i},{i}00",0.5\n' for i in rows))
    told = read("a,b\n" + "".join(f'"{i},{i}00",x\n' for i in rows), thousands=",")

    assert [asked.column for asked in alone.questions] == ["a"]
    assert beside.frame["a"].tolist()[0] == 1100
    assert told.frame["a"].tolist()[0] == 1100


def test_day_and_month_are_asked_for_unless_a_date_or_a_column_tells(read):
    rows = range(1, 10)
    doubtful = "".join(f"0{i}/0{i}/2020,x\n" for i in rows)
    asked = read("d,b\n" + doubtful)
    told = read("d,b\n" + doubtful, date_format="%m/%d/%Y")
    beside = read("d,b\n" + doubtful.replace(",x", ",31/12/2020"))

    (question,) = asked.questions
    assert question.option == "--date-format d=%d/%m/%Y or --date-format d=%m/%d/%Y"
    assert told.frame["d"].dtype == "datetime64[s]"
    assert beside.frame["d"].dtype == "datetime64[s]"


def test_a_year_of_two_digits_is_asked_for(read):
    rows = "".join(f"{i}.12.{i}5,x\n" for i in range(1, 10))
    asked = read("d,b\n" + rows)
    told = read("d,b\n" + rows, date_format={"d": "%d.%m.%y"})

    assert "of this century or of the last" in asked.questions[0].text
    assert told.frame["d"][8] == pd.Timestamp("1995-12-09")


def test_a_unit_that_some_cells_lack_is_asked_for(read):
    rows = "".join(f"{i} kg,x\n{i + 20},y\n" for i in range(1, 10))

    (question,) = read("w,b\n" + rows).questions

    assert question.text.startswith("holds numbers with 'kg' and with none")
    assert question.option == "--kind 'w=as written'"


# ---- Pairs, words in several spellings, codes for missing values.


def test_two_numbers_in_a_cell_are_two_columns_and_one_again_when_written(put, read):
    text = "bp,y\n120/80,1\n,0\n95/60,1\n"
    table = read(text)
    new = pd.DataFrame({"bp[1]": [130, None], "bp[2]": [85, 70], "y": [0, 1]})
    both = pd.concat([table.frame, new.astype(table.frame.dtypes)], ignore_index=True)
    out = put("", "out.csv")

    write_table(both, out, n_real=3, like=table, force=True)

    assert list(table.frame) == ["bp[1]", "bp[2]", "y"]
    assert table.frame["bp[1]"].tolist()[::2] == [120, 95]
    assert out.read_text() == text + "130/85,0\n,1\n"
    assert read(text, reading={"bp": "as written"}).frame["bp"][0] == "120/80"


def test_two_small_numbers_may_be_a_date_and_are_asked_for(read):
    rows = "".join(f"{i}/{i + 1},x\n" for i in range(1, 12))

    (question,) = read("a,b\n" + rows).questions
    told = read("a,b\n" + rows, reading={"a": "two numbers"})

    assert "two numbers or a day and a month" in question.text
    assert told.frame["a[2]"][0] == 2


def test_words_that_differ_in_spaces_and_capitals_are_one(put, read):
    text = "sex,y\nmale,1\nMale,0\nMALE ,1\nmale,0\nfemale,1\nfemale,1\n"
    table = read(text)
    out = put("", "out.csv")

    write_table(table.frame.iloc[[0, 1, 2]], out, n_real=3, like=table, force=True)

    assert set(table.frame["sex"]) == {"male", "female"}
    assert table.notes == ("column 'sex': 'Male', 'MALE ' taken for 'male'",)
    assert out.read_text() == "sex,y\nmale,1\nMale,0\nMALE ,1\n"
    kept = read(text, reading={"sex": "as written"})
    assert kept.frame["sex"].nunique() == 4


def test_a_code_that_is_named_is_a_missing_value_and_stays_so_written(put, read):
    table = read("age,y\n31,1\n999,0\n45,1\n", missing={"age": ["999"]})
    both = pd.concat([table.frame, table.frame.iloc[[1]]], ignore_index=True)
    out = put("", "out.csv")

    write_table(both, out, n_real=3, like=table, force=True)

    assert table.frame["age"].isna().tolist() == [False, True, False]
    assert out.read_text().endswith("45,1\n999,0\n")


def test_a_value_at_a_limit_is_written_as_that_limit():
    column = settled(["<0.01", "0.20", "1.50", "0.30"])

    written = format_column(pd.Series([0.01, 0.02, np.nan]), column.style)

    assert written == ["<0.01", "0.02", ""]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"decimal": "x"}, "decimal='x' is not usable"),
        ({"thousands": ".", "decimal": "."}, "differ from the decimal sign"),
        ({"date_format": "%d.%Q.%Y"}, "have day, month and year"),
        ({"date_format": {"a": "%d.%m.%Y"}}, "Column 'a' holds '1', which is no date"),
        ({"decimal": {"z": ","}}, "has no column 'z'"),
        ({"reading": {"a": "prose"}}, "reading='prose' is not usable"),
        ({"reading": {"a": "two numbers"}}, "was called two numbers"),
    ],
)
def test_what_cannot_be_is_said_with_the_way_out(read, told, said):
    with pytest.raises(UserInputError, match=said.replace(".", r"\.")):
        read("a,b\n1,x\n2,y\n", **told)
