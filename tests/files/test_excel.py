"""The values of one sheet."""

import datetime as dt
import io
import sys

import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.files import check_destination, read_table, write_table

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")


def book(**sheets):
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    packed = io.BytesIO()
    workbook.save(packed)
    return packed.getvalue()


ROWS = [
    ["n", "x", "when", "text", "ok", "code"],
    [1, 0.5, dt.datetime(2020, 1, 1), "a", True, "007"],
    [None, 2, dt.datetime(2020, 5, 1), None, False, "=1+1"],
]


def test_values_come_in_their_types(read):
    table = read(book(one=ROWS[:2]), "t.xlsx")

    assert table.sheet == "one"
    assert [str(dtype) for dtype in table.frame.dtypes[:3]] == [
        "int64",
        "float64",
        "datetime64[us]",
    ]
    assert table.frame["code"].tolist() == ["007"]
    assert table.frame["ok"].dtype == bool


def test_rows_come_back_with_new_ones_and_a_mark(read, tmp_path):
    table = read(book(one=ROWS[:2], two=[["z"], [1]]), "t.xlsx")
    added = table.frame.assign(n=pd.array([None], dtype="Int64"), text="=1+1")
    frame = pd.concat([table.frame.astype({"n": "Int64"}), added], ignore_index=True)

    write_table(frame, tmp_path / "o.xlsx", n_real=1, like=table, mark="new")

    again = read_table(tmp_path / "o.xlsx")
    assert again.sheet == "one"
    assert again.frame["new"].tolist() == [0, 1]
    assert again.frame["text"].tolist() == ["a", "=1+1"]
    assert again.frame["n"].tolist() == [1, pd.NA]
    assert again.frame["when"].tolist() == [pd.Timestamp("2020-01-01")] * 2


def test_without_new_rows_the_workbook_is_the_same(read, tmp_path):
    content = book(one=ROWS[:2], two=[["z"], [1]])
    table = read(content, "t.xlsx")

    write_table(table.frame, tmp_path / "o.xlsx", n_real=1, like=table)

    assert (tmp_path / "o.xlsx").read_bytes() == content


def test_the_first_sheet_is_read_and_the_others_are_noted(read):
    content = book(one=[["a"], [1]], two=[["b"], [2]])

    assert read(content, "t.xlsx").notes == ("sheet 'one', one of 2",)
    assert read(content, "t.xlsx", sheet="two").frame.columns.tolist() == ["b"]
    assert read(content, "t.xlsx", sheet=1).sheet == "two"


def test_a_sheet_that_is_not_there_is_refused_with_those_that_are(refusal):
    content = book(one=[["a"], [1]], two=[["b"], [2]])

    assert "has no sheet 'three'. It has: 'one', 'two'" in refusal(
        content, "t.xlsx", sheet="three"
    )


def test_words_for_missing_among_numbers_are_missing(read):
    table = read(book(one=[["a", "b"], [1, "NA"], ["#DIV/0!", "x"]]), "t.xlsx")

    assert table.frame["a"].isna().tolist() == [False, True]
    assert table.notes == ("'#DIV/0!' read as missing in column 'a'",)


def test_a_column_of_mixed_types_is_text_and_noted(read):
    table = read(book(one=[["a"], [1], ["x"]]), "t.xlsx")

    assert table.frame["a"].tolist() == ["1", "x"]
    assert table.notes == ("column 'a' mixes int and str; read as text",)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["a", "b"]], "has a header and no rows"),
        ([[]], "has no cells"),
        ([["a", "a"], [1, 2]], "columns of the same name: 'a'"),
    ],
)
def test_a_sheet_without_a_table_is_refused(refusal, rows, words):
    assert words in refusal(book(one=rows), "t.xlsx")


def test_a_damaged_workbook_is_refused(refusal):
    assert "cannot be read as an Excel workbook" in refusal(
        book(one=ROWS)[:500], "t.xlsx"
    )


def test_a_control_character_is_refused_when_writing(tmp_path):
    with pytest.raises(UserInputError, match="control character"):
        write_table(pd.DataFrame({"a": ["\x07"]}), tmp_path / "o.xlsx", n_real=1)


def test_without_openpyxl_the_way_to_get_it_is_said(refusal, monkeypatch, tmp_path):
    content = book(one=ROWS[:2])
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    assert 'pip install "tabtap[excel]"' in refusal(content, "t.xlsx")
    with pytest.raises(UserInputError, match="need openpyxl"):
        check_destination(tmp_path / "o.xlsx")
