import pytest
from utility_page import cost_table, ladder_table, utility_page, worst_table


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def lines_of(text):
    return [cells_of(line) for line in text.splitlines()[2:]]


@pytest.fixture
def make_rung(make_record):
    def make(method, mean, **other):
        spent = {"fit": 20.0, "run": 30.0, "score": 1.0}
        more = {"seconds": spent, "n_added": 500, "kind": "rung"}
        return make_record(method, mean, **(more | other))

    return make


@pytest.fixture
def ladder(make_rung):
    return [
        make_rung("real", 0.5, split=0),
        make_rung("real", 0.5, split=1),
        make_rung("copies", 0.52, split=0),
        make_rung("copies", 0.44, split=1),
        make_rung("default", 0.6, split=0, verdict="augment", stop="enough"),
        make_rung("default", 0.64, split=1, verdict="no_gain", stop="enough"),
    ]


def test_the_ladder_shows_gains_over_real_and_of_the_default_over_each(ladder):
    assert lines_of(ladder_table(ladder, 50)) == [
        ["real", "points", "-", "+12.0 ± 2.0", "2"],
        ["copies", "points", "-2.0 ± 4.0", "+14.0 ± 6.0", "2"],
        ["default", "points", "+12.0 ± 2.0", "-", "2"],
        ["(TAP as published)", "points", "+5.8", "-", "-"],
    ]


def test_the_worst_cell_and_the_worst_table_are_named(ladder):
    assert lines_of(worst_table(ladder)) == [
        ["copies", "points", "1 of 2", "1 of 2", "-6.0", "-2.0"],
        ["default", "points", "0 of 2", "0 of 2", "+10.0", "+12.0"],
    ]


def test_a_larger_rmse_is_below_real(make_rung):
    records = [
        make_rung("real", 1.0, metric="rmse", table="insurance"),
        make_rung("default", 1.1, metric="rmse", table="insurance"),
    ]

    (line,) = lines_of(worst_table(records))

    assert line == ["default", "% of RMSE", "1 of 1", "1 of 1", "-10.0", "-10.0"]


def test_rows_verdicts_and_seconds_stand_beside_the_scores(ladder):
    *_, line = lines_of(cost_table(ladder))

    assert line == ["default", "500", "1 of 2", "30.0", "20.0", "enough: 2"]


def test_the_page_has_a_section_for_each_number_of_real_rows(ladder, make_rung):
    text = utility_page([*ladder, make_rung("real", 0.3, n_real=100)])

    assert text.index("## 20 real rows") < text.index("## 100 real rows")
