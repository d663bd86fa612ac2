from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tabtap.report.blocks import Figure, TableBlock, Text
from tabtap.report.likeness import closeness_section
from tabtap.table import read_frame


@pytest.fixture(scope="module")
def line(result_of):
    """Return results of 41 real rows: two pairs 0.12 apart, all others 1."""
    places = np.arange(41.0)
    # So that the third smallest distance, the 5 % quantile, is 0.12.
    places[[38, 40]] = [37.12, 39.12]

    def make(*new):
        x = np.concatenate([places, np.asarray(new, dtype=float)])
        frame = pd.DataFrame({"x": x + 0.001, "y": np.resize(["a", "b"], len(x))})
        both = read_frame(frame, "y")
        numbers = np.arange(len(x))
        return result_of(both.take(numbers < 41), both.take(numbers >= 41))

    return make


def _cells(section):
    table = next(b for b in section.blocks if isinstance(b, TableBlock))
    plain = [[text.replace("\u202f", " ") for text in row] for row in table.rows]
    return {row[0]: row[1:] for row in plain}


def test_shares_are_counted_beside_those_of_real_rows(line):
    section = closeness_section(line(3.5, 7.45, 9.06, 11.0, 20.5))

    cells = _cells(section)
    assert cells["Nearer than 5 % of real rows are"][0] == "40 % (2)"
    assert cells["Nearly copies"] == ["40 % (2)", "0 % (0)"]
    assert cells["Exact copies"] == ["20 % (1)", "0 % (0)"]


def test_the_middle_distance_is_in_deviations(line):
    result = line(3.5, 7.5, 9.5)

    section = closeness_section(result)

    deviation = result.real.numeric[:, 0].std()
    middle = _cells(section)["Half are nearer than"]
    assert middle == [f"{0.5 / deviation:.2f}", f"{1 / deviation:.2f}"]


@pytest.mark.parametrize(
    ("new", "title"),
    [
        ([3.5, 7.5, 9.5], "New rows keep as much distance from real rows"),
        ([3.01, *np.arange(4.5, 18)], "A few new rows come closer"),
        ([3.01, 4.01, 5.5], "Many new rows come closer"),
        ([3.0, 4.5, 5.5], "33.3\u202f% of the new rows repeat a real row"),
    ],
    ids=["far", "a few", "many", "copies"],
)
def test_the_title_says_what_the_figures_say(line, new, title):
    section = closeness_section(line(*new))

    (figure,) = [b for b in section.blocks if isinstance(b, Figure)]
    assert figure.title.startswith(title)


def test_the_section_says_that_it_is_not_about_privacy(line):
    section = closeness_section(line(3.5))

    assert isinstance(section.blocks[-1], Text)
    assert "not a privacy tool" in section.blocks[-1].paragraphs[0]


def test_without_new_rows_there_is_nothing_to_compare(line):
    section = closeness_section(line())

    assert section.lead.startswith("There are no synthetic rows")
    assert [type(block) for block in section.blocks] == [Text]


def test_a_single_real_row_is_no_yardstick(line, result_of):
    result = line(3.5)
    alone = result_of(result.real.take(np.arange(1)), result.delivered.rows)

    section = closeness_section(alone)

    assert section.lead.startswith("One real row has no neighbour")


def test_any_table_gives_a_figure_that_a_page_can_hold(any_result):
    section = closeness_section(any_result)

    (figure,) = [b for b in section.blocks if isinstance(b, Figure)]
    assert ElementTree.fromstring(figure.svg) is not None
    assert "nan" not in figure.svg.lower()


def test_what_rows_give_away_stands_beside_what_real_rows_share(good):
    table = [b for b in closeness_section(good).blocks if isinstance(b, TableBlock)][1]

    cells = {row[0]: row[1:3] for row in table.rows}
    # Six copies of rows with two features; two real rows share a place at most.
    assert cells["Cells of one real row, at most"] == ("2 of 2", "1 of 2")
    assert cells["Membership told"][0].startswith("not known")
