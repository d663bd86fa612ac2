import numpy as np
import pandas as pd
import pytest

from tabtap.files import read_table, write_table
from tabtap.files.cells import MISSING, UNUSUAL
from tabtap.files.delimited import cut_records, join_cells, quoted_cells, split_lines
from tabtap.files.formats import Dialect

# ---- A delimited file as a frame, with notes on what was assumed.


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


# ---- Lines that do not fit are all reported, and quotes that do not close are found.


COMMA = Dialect()


def test_records_know_their_lines():
    lines = split_lines('a,b\r\n1,"x\ny"\r\r2,z')

    cut = cut_records(lines, COMMA, "t")

    assert "".join(cut.lines) == 'a,b\r\n1,"x\ny"\r\r2,z'
    assert [record[1:] for record in cut.records] == [(0, 1), (1, 3), (4, 5)]
    assert cut.records[1].cells == ["1", "x\ny"]
    assert cut.n_blank == 1


def test_quotes_are_told_apart_from_bare_cells():
    lines = split_lines('"a ""b""",c,"","d,e",5"\n')
    record = cut_records(lines, COMMA, "t").records[0]

    flags = quoted_cells(record, lines, COMMA)

    assert flags == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        (["a", "b c"], "a,b c"),
        (["a,b", 'c"d'], '"a,b","c""d"'),
        (["a\nb", "\r"], '"a\nb","\r"'),
        ([""], '""'),
        (["", ""], ","),
    ],
)
def test_cells_are_quoted_where_they_must_be(cells, line):
    assert join_cells(cells, COMMA) == line


def test_broken_lines_are_reported_together(refusal):
    said = refusal('a,b,c\n1,2,3\n4,5\n"x\ny",2,3\n1,2,3,4\n')

    assert "has 4 lines under its header, of which 2 do not fit it" in said
    assert "The header has 3 cells separated by ','; line 3 has 2, line 6 has 4" in said


def test_only_the_first_few_broken_lines_are_listed(refusal):
    said = refusal("a,b\n" + "1,2\n" + "1\n" * 40)

    assert "line 7 has 1 and 35 more" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;b\n1;2\n3,4\n5,6\n", "These lines are separated by ','"),
        ("a,b\nr1,1,2\nr2,3,4\n", "as in files written by R"),
        ("a,b\n1,2,\n3,4,\n", "Each line ends in a separator"),
        ("a,b\n1,2\n1,2,3\n", "must stand in quotes"),
    ],
    ids=["mixed", "row names", "trailing", "stray"],
)
def test_the_likely_cause_of_broken_lines_is_said(refusal, text, words):
    assert words in refusal(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a,b\n1,2\n3,"x\n5,6\n', "opened in line 3 and never closed"),
        ('a,b\n1,"x\n' + "5,6\n" * 40_000, "opened in line 2 and never closed"),
        ('a,b\n1,"x\n2,y\n3,"z"\n', "quote in line 2 that is not closed before"),
        ('a,b\n1,"5\\" wide"\n', "write each quote twice"),
    ],
    ids=["to the end", "very long", "closed by another", "backslash"],
)
def test_a_quote_that_does_not_close_is_found(refusal, text, words):
    assert words in refusal(text)


def test_two_columns_of_one_name_are_refused(refusal):
    said = refusal("a,b,a,b \n1,2,3,4\n")

    assert (
        "columns of the same name: 'a', 'b'. Give each its own name in line 1" in said
    )


# ---- The separator is the one that cuts every line alike.


@pytest.mark.parametrize(
    ("text", "separator", "first_row"),
    [
        ("a,b\nx;y,2\n", ",", ["x;y", 2]),
        ("a;b\n1,5;2,5\n", ";", [1.5, 2.5]),
        ("a\tb\nx, y\t2\n", "\t", ["x, y", 2]),
        ("a|b|c\nx,y|2|3\n", "|", ["x,y", 2, 3]),
        ('a,b\n"x\ny;z",2\n', ",", ["x\ny;z", 2]),
        ("sep=;\na;b\nx;2\n", ";", ["x", 2]),
        ("a, b\nx, 2\n", ",", ["x", 2]),
        ('a, b\n1, "x, y"\n', ",", [1, "x, y"]),
    ],
    ids=["comma", "semicolon", "tab", "bar", "quoted", "sep line", "space", "space 2"],
)
def test_each_separator_is_found_among_the_others(read, text, separator, first_row):
    table = read(text)

    assert table.dialect.separator == separator
    assert table.frame.iloc[0].tolist() == first_row
    assert table.frame.columns.tolist() == ["a", "b", "c"][: len(first_row)]


def test_one_column_needs_no_separator(read):
    assert read("a\n1\n2\n").frame["a"].tolist() == [1, 2]


def test_a_separator_may_be_named(read):
    assert read("a b\n1 2\n", separator=" ").frame.shape == (1, 2)
    assert read("a:b\n1:2\n", separator=":").notes == ("separator ':'",)


def test_spaces_are_not_guessed_to_be_separators(refusal):
    assert "separated by spaces" in refusal("a b c\n1 2 3\n4 5 6\n")


def test_a_separator_of_two_signs_is_refused(refusal):
    assert "be one character" in refusal("a,b\n1,2\n", separator="::")


# ---- Real lines stay as they are; new rows are written as their columns are.


def written(table, added, path, **settings):
    """Return a file of a table's rows and of some rows added to them."""
    frame = pd.concat([table.frame, added], ignore_index=True)
    write_table(frame, path, n_real=len(table.frame), like=table, **settings)
    return path.read_bytes().decode(table.dialect.encoding)


ODD = [
    "a,b\n1,x\n2,y",
    "a,b\r\n1,x\r\n\r\n2,y\r\n\r\n\r\n",
    "\n\na,b\n1,x\n",
    '"a","b"\n"1","x\ny"\n"2","z ""q"""\n',
    "a;b;c\n1,50;x;01\n2,25;;02\n",
    "a,b,\n1,x,\n2,y,\n",
    "a\tb\r1\tx\r2\ty\r",
    "a , b \n 1 , x \n",
    "sep=;\na;b\n1;2\n",
    "a,b\n1.0,+5\n1e3,6\n",
]


@pytest.mark.parametrize("text", ODD)
def test_without_new_rows_the_output_is_the_input(read, tmp_path, text):
    table = read(text)

    write_table(table.frame, tmp_path / "out.csv", n_real=len(table.frame), like=table)

    assert (tmp_path / "out.csv").read_bytes() == text.encode()


@pytest.mark.parametrize("text", ODD)
def test_new_rows_leave_the_old_bytes_alone(read, tmp_path, text):
    table = read(text)

    out = written(table, table.frame.iloc[[0]], tmp_path / "out.csv")

    body = text.rstrip("\r\n")
    assert out.startswith(body)
    assert len(out) > len(text)
    again = read_table(tmp_path / "out.csv").frame
    pd.testing.assert_frame_equal(again.iloc[:-1], table.frame)
    pd.testing.assert_series_equal(again.iloc[-1], again.iloc[0], check_names=False)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a,b\n1,x\n", "a,b,new\n1,x,0\n1,x,1\n"),
        ("a;b\r\n1;x", "a;b;new\r\n1;x;0\r\n1;x;1"),
        ('"a","b"\n"1","x"\n', '"a","b","new"\n"1","x","0"\n"1","x","1"\n'),
        ('a,b\n1,"x\ny"\n', 'a,b,new\n1,"x\ny",0\n1,"x\ny",1\n'),
        ("a, b\n1, x\n", "a, b, new\n1, x, 0\n1, x, 1\n"),
        ("a,b\n1,x\n\n", "a,b,new\n1,x,0\n1,x,1\n\n"),
    ],
)
def test_a_mark_adds_one_field_and_changes_nothing_else(read, tmp_path, text, marked):
    table = read(text)

    out = written(table, table.frame.iloc[[0]], tmp_path / "out.csv", mark="new")

    assert out == marked


def test_new_cells_look_like_those_of_their_column(read, tmp_path):
    table = read(
        "price;when;code;ok;n;note;seen\n"
        '1,50;2020/01/31;007;TRUE;1;"a";NA\n'
        '22,25;2020/12/01;010;FALSE;?;"b";2020-01-01T10:00:00Z\n'
    )
    added = table.frame.iloc[[1, 0]].assign(price=[3.0, 0.125], code=["001", None])

    out = written(table, added, tmp_path / "out.csv")

    assert out.splitlines()[3:] == [
        '3,00;2020/12/01;001;FALSE;?;"b";2020-01-01T10:00:00Z',
        '0,125;2020/01/31;;TRUE;1;"a";NA',
    ]


def test_a_hole_in_a_column_of_whole_numbers_leaves_them_whole(read, tmp_path):
    table = read("a,b\n1,x\n2,y\n")
    added = pd.DataFrame({"a": pd.array([None, 7], dtype="Int64"), "b": ["x", None]})

    out = written(table, added, tmp_path / "out.csv")

    assert out == "a,b\n1,x\n2,y\n,x\n7,\n"


def test_another_separator_keeps_every_cell_as_it_was_written(read, tmp_path):
    table = read('a;b;c\r\n1,50;x y;"p;q"\r\n007;;NA\r\n')

    out = written(table, table.frame.iloc[[0]], tmp_path / "out.tsv", mark="new")

    assert out == (
        "a\tb\tc\tnew\r\n1,50\tx y\tp;q\t0\r\n007\t\tNA\t0\r\n1,50\tx y\tp;q\t1\r\n"
    )


def test_a_tsv_with_decimal_commas_becomes_a_csv_with_semicolons(read, tmp_path):
    table = read("a\tb\n1,5\tx\n", "t.tsv")

    out = written(table, table.frame, tmp_path / "out.csv")

    assert out == "a;b\n1,5;x\n1,5;x\n"


def test_rows_that_were_left_out_leave_the_others_as_they_were(read, tmp_path):
    table = read("a;b\n+1,50;x\n\n2,250;y\n 3;z")
    kept = table.frame.iloc[[2, 0, 1]]  # the last is new, whatever its label

    write_table(kept, tmp_path / "out.csv", n_real=2, like=table)

    assert (tmp_path / "out.csv").read_text() == "a;b\n 3;z\n+1,50;x\n2,25;y\n"


def test_rows_that_are_not_those_of_the_input_are_written_anew(read, tmp_path):
    table = read("a;b\n+1,50;x\n2,25;y\n3,00;z\n")
    moved = table.frame.iloc[[0, 2]].reset_index(drop=True)

    write_table(moved, tmp_path / "out.csv", n_real=2, like=table)

    assert (tmp_path / "out.csv").read_text() == "a;b\n1,50;x\n3,00;z\n"


def test_a_frame_without_a_model_is_written_plainly(tmp_path):
    frame = pd.DataFrame(
        {
            "f": [0.1, None],
            "i": pd.array([1, None], dtype="Int64"),
            "t": pd.to_datetime(["2020-01-01", None]),
            "c": pd.Categorical([True, False]),
            "s": ["a,b", 'c"d'],
        }
    )

    write_table(frame, tmp_path / "out.csv", n_real=1, mark="new")

    assert (tmp_path / "out.csv").read_text() == (
        'f,i,t,c,s,new\n0.1,1,2020-01-01,True,"a,b",0\n,,,False,"c""d",1\n'
    )
