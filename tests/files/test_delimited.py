"""A delimited file as a frame, with notes on what was assumed."""

import numpy as np
import pandas as pd
import pytest

from tabtap.files.cells import MISSING, UNUSUAL


def test_a_plain_file_needs_no_notes(read):
    table = read("a,b\n1,x\n2,\n")

    assert table.notes == ()
    assert table.format == "csv"
    assert table.frame.index.tolist() == [0, 1]
    assert table.frame["b"].isna().tolist() == [False, True]


def test_the_frame_is_that_of_pandas(read):
    text = "a,b,c,d\n1,2.5,x,True\n2,NA,NA,False\n3,-1e5,z w,True\n"

    frame = read(text).frame

    theirs = pd.read_csv(pd.io.common.StringIO(text))
    pd.testing.assert_frame_equal(frame, theirs)


@pytest.mark.parametrize("spelling", sorted(MISSING))
def test_what_pandas_calls_missing_is_missing_among_text_and_numbers(read, spelling):
    table = read(f"a,b\nx,1\n{spelling},{spelling}\n")

    assert table.frame.isna().to_numpy().tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize("spelling", sorted(UNUSUAL))
def test_odd_spellings_are_missing_among_numbers_only(read, spelling):
    table = read(f"a,b\nx,1\n{spelling},{spelling}\n")

    assert table.frame["a"].tolist() == ["x", spelling]
    assert table.frame["b"].isna().tolist() == [False, True]
    assert table.notes == (
        f"{spelling!r} read as missing, among numbers: 1 cell of 'b'",
    )


def test_unusual_things_are_noted(read):
    table = read(",a,b,\n0,1,NA,\n\n1,2,NA,\n \n2,3,c,\n")

    assert table.notes == (
        "2 blank lines skipped",
        "first column is an unnamed index, called 'Unnamed: 0' here",
        "1 column without name and values left out",
        "'NA' read as missing: 2 cells of 'b'",
    )
    assert table.frame.columns.tolist() == ["Unnamed: 0", "a", "b"]


def test_a_header_of_numbers_is_noted(read):
    table = read("5.1,3.5,setosa\n4.9,3.0,setosa\n")

    assert "the first line is taken for names" in table.notes[0]


def test_blank_lines_alone_are_no_table(refusal):
    assert "is empty" in refusal("\n \n\n")


def test_an_empty_column_has_no_value(read):
    column = read("a,b\n1,\n2,NA\n").frame["b"]

    assert column.dtype == np.float64
    assert column.isna().all()


def test_a_sheet_of_a_text_file_is_refused(refusal):
    assert "is no Excel file" in refusal("a,b\n1,2\n", sheet="one")
