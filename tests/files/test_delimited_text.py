"""Real lines stay as they are; new rows are written as their columns are."""

import pandas as pd
import pytest

from tabtap.files import read_table, write_table


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
