import numpy as np
import pytest
from pages import (
    in_percent,
    markdown_table,
    mean_and_error,
    page_of,
    provenance,
    read_notes,
    with_error,
)


def test_a_table_lines_up():
    text = markdown_table(["name", "x"], [["a", "1.0"], ["longer", "10.0"]])

    assert text.splitlines() == [
        "| name   |    x |",
        "| ------ | ---: |",
        "| a      |  1.0 |",
        "| longer | 10.0 |",
    ]


def test_the_error_of_a_mean_is_over_its_values():
    mean, error = mean_and_error([1.0, 3.0])

    assert mean == 2.0
    assert error == pytest.approx(1.0)  # deviation sqrt(2), two values


def test_one_value_has_no_error():
    mean, error = mean_and_error([4.0])

    assert mean == 4.0
    assert np.isnan(error)


@pytest.mark.parametrize(
    ("values", "told"), [([], "-"), ([2.0], "+2.0"), ([1.0, 3.0], "+2.0 ± 1.0")]
)
def test_a_mean_is_told_with_its_error_if_it_has_one(values, told):
    assert with_error(values) == told


def test_shares_are_told_in_per_cent():
    assert in_percent([0.2, 0.4]) == "30.0 ± 10.0"


def test_what_no_record_says_is_not_told():
    records = [{"seed": 10, "commit": "b"}, {"seed": 9, "commit": "a"}]

    lines = provenance(records, ["python x.py"]).splitlines()

    assert lines == ["- command: `python x.py`", "- seed: 9, 10", "- commit: a, b"]


def test_notes_end_a_page_if_there_are_any(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("It helps.\n\n", encoding="utf-8")

    assert page_of(["# A"], read_notes(file)) == "# A\n\n## Notes\n\nIt helps.\n"
    assert page_of(["# A"], read_notes(tmp_path / "absent")) == "# A\n"
