import numpy as np
import pytest
from pages import (
    Count,
    clustered_share,
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


def test_a_count_tells_its_share():
    assert str(Count(1, 4)) == "1 of 4 (25 %)"
    assert str(Count(0, 0)) == "0 of 0"


def test_equal_cases_of_one_cell_count_once_in_the_error():
    once = clustered_share([True, False, True], ["a", "b", "c"])
    thrice = clustered_share([True, False, True] * 3, ["a", "b", "c"] * 3)

    # Cells of one case each: the deviation over the root of their number.
    assert once.error == pytest.approx(np.std([1, 0, 1], ddof=1) / np.sqrt(3))
    assert thrice.error == pytest.approx(once.error)
    assert (thrice.n, thrice.n_cells) == (9, 3)


def test_one_cell_tells_nothing_of_the_error():
    assert np.isnan(clustered_share([True, False], ["a", "a"]).error)
    assert np.isnan(clustered_share([], []).share)
