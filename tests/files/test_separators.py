"""The separator is the one that cuts every line alike."""

import pytest


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
