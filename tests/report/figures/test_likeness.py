import numpy as np
import pandas as pd
import pytest

from tabtap.fidelity import shape_error, shape_errors, telling_apart, trend_error
from tabtap.report.likeness import fidelity_section
from tabtap.table import read_frame


@pytest.fixture(scope="module")
def result(result_of):
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "c": rng.choice(["u", "v"], n),
            "y": np.resize(["a", "b"], n),
        }
    )
    frame.loc[40:, "x"] += 3.0
    both = read_frame(frame, "y")
    return result_of(both.take(np.arange(40)), both.take(np.arange(40, n)))


@pytest.fixture(scope="module")
def section(result):
    return fidelity_section(result)


def test_figures_are_those_of_the_package(result, section):
    real, new = result.real, result.delivered.rows

    shown = {row[0]: row[1] for row in section.blocks[0].rows}

    assert shown["Shape error"] == f"{shape_error(real, new):.3f}"
    assert shown["Trend error"] == f"{trend_error(real, new):.3f}"
    assert shown["Told from real rows"] == f"{telling_apart(real, new, seed=0):.2f}"
    assert shown["Exact copies"].replace("\u202f", " ") == "0 %"


def test_every_figure_has_a_scale_beside_it(section):
    again = {row[0]: row[2] for row in section.blocks[0].rows}

    assert float(again["Shape error"]) < 0.15
    assert 0.35 < float(again["Told from real rows"]) < 0.65
    assert again["Exact copies"].replace("\u202f", " ") == "100 %"


def test_the_title_says_whether_a_learner_can_tell(section):
    told = float(section.blocks[0].rows[2][1])

    assert told >= 0.8
    assert section.blocks[0].title.startswith("A learner can mostly tell")


def test_columns_are_listed_with_what_chance_does(result, section):
    errors = shape_errors(result.real, result.delivered.rows)

    first = section.blocks[1].rows[0]

    assert first[0] == "x"
    assert first[1] == f"{errors[0]:.2f}"
    assert float(first[2]) < float(first[1])
    assert [row[0] for row in section.blocks[1].rows][-1] == "y (target)"


def test_too_few_rows_are_not_told_apart(result, result_of):
    few = result_of(result.real, result.delivered.rows.take(np.arange(3)))

    block = fidelity_section(few).blocks[0]

    assert block.rows[2][1:3] == ("too few rows", "too few rows")
    assert block.title == "Likeness, beside real rows drawn again"


def test_without_new_rows_nothing_is_compared(result, result_of):
    section = fidelity_section(result_of(result.real, result.real.empty()))

    assert section.blocks == ()
    assert section.lead.startswith("There are no synthetic rows")


def test_rows_are_as_long_as_their_header_for_any_table(any_result, monkeypatch):
    monkeypatch.setattr("tabtap.fidelity.N_TREES", 3)  # it is not about them

    for block in fidelity_section(any_result).blocks:
        assert {len(row) for row in block.rows} == {len(block.header)}
        assert not any("nan" in text for row in block.rows for text in row)
