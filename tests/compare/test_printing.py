import csv
import io

import pytest

from tabtap.compare.printing import FORMATS, TextTable, as_csv, as_latex, as_text

TABLE = TextTable(
    "Scores, 100 % real",
    ("data_set", "n", "Real"),
    (("a|b", "20", "1.0 ± 0.1"), ("c", "5", "-")),
    ("A note.",),
    n_labels=1,
)


def test_text_is_aligned_labels_left_and_figures_right():
    assert FORMATS["text"](TABLE).splitlines() == [
        "Scores, 100 % real",
        "",
        "data_set   n       Real",
        "--------  --  ---------",
        "a|b       20  1.0 ± 0.1",
        "c          5          -",
        "A note.",
    ]


def test_columns_that_find_no_room_follow_below_with_their_labels():
    assert as_text(TABLE, width=15).splitlines() == [
        "Scores, 100 % real",
        "",
        "data_set   n",
        "--------  --",
        "a|b       20",
        "c          5",
        "",
        "data_set       Real",
        "--------  ---------",
        "a|b       1.0 ± 0.1",
        "c                 -",
        "A note.",
    ]


def test_markdown_keeps_a_bar_within_its_cell():
    lines = FORMATS["markdown"](TABLE).splitlines()

    assert lines[0] == "**Scores, 100 % real**"
    assert lines[3].startswith("| --------")
    assert all(line.count("|") - line.count(r"\|") == 4 for line in lines[2:6])
    assert lines[-1] == "- A note."


def test_csv_reads_back_as_the_cells():
    read = list(csv.reader(io.StringIO(as_csv(TABLE))))

    assert read == [list(TABLE.header), *map(list, TABLE.rows)]


def test_latex_escapes_what_it_would_misread():
    text = as_latex(TABLE)

    assert r"\caption{Scores, 100 \% real}" in text
    assert r"data\_set & n & Real \\" in text
    assert r"1.0 $\pm$ 0.1" in text
    assert r"\begin{tabular}{lrr}" in text


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_nothing_in_a_table_steers_the_terminal(form):
    odd = "a\x1b[31m\u202eb\x07"
    table = TextTable(odd, (odd, odd), ((odd, odd),), notes=(odd,))

    written = FORMATS[form](table)

    assert "a?[31m?b?" in written
    assert all(sign.isprintable() or sign == "\n" for sign in written)
