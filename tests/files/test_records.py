"""Lines that do not fit are all reported, and quotes that do not close are found."""

import pytest

from tabtap.files.delimited import cut_records, join_cells, quoted_cells, split_lines
from tabtap.files.formats import Dialect

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
