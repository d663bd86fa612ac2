import numpy as np
import pandas as pd
import pytest

from tabtap.fidelity import TARGET
from tabtap.report.columns import MAX_TICKS, SIGN_WIDTH, date_ticks
from tabtap.report.words import column_title, column_values
from tabtap.table import read_frame


def _column(values, place=0, target=None):
    n = len(values)
    label = np.resize(["a", "b"], n) if target is None else target
    table = read_frame(pd.DataFrame({"x": values, "y": label}), "y")
    return column_values(table, table.empty(), place)


def test_levels_are_named_and_holes_are_missing():
    column = _column(["u", None, "v", "u"] * 4)

    assert column.sort == "level"
    assert column.real[:4].tolist() == [0, -1, 1, 0]
    assert [column.text(code) for code in (-1, 0, 1)] == ["missing", "u", "v"]


def test_a_regression_target_is_a_column_of_numbers():
    column = _column(np.arange(30.0), TARGET, target=np.arange(30) / 7)

    assert (column.name, column.sort) == ("y", "number")
    assert column.real == pytest.approx(np.arange(30) / 7)


def test_days_are_counted_from_1970():
    times = pd.date_range("2020-01-01", periods=16, freq="36h")

    column = _column(times)

    assert column.sort == "date"
    assert column.real[:3].tolist() == [18262.0, 18263.5, 18265.0]
    assert column.text(18263.5) == "2020-01-02 12:00"


def test_times_are_those_on_the_clock_of_their_zone():
    zone = "America/New_York"
    noon = pd.date_range("2020-01-01 12:00", periods=16, freq="D", tz=zone)
    odd = noon + pd.to_timedelta(np.arange(16) ** 2 % 7, unit="min")

    for times in (noon, odd):
        column = _column(times)

        wall = times.tz_localize(None).to_numpy().astype("M8[us]").astype(np.int64)
        assert column.real == pytest.approx(wall / 86400e6)


@pytest.mark.parametrize(
    ("seconds", "unit", "first"),
    [(7200, "hours", 2.0), (86400 * 3, "days", 3.0), (90, "minutes", 1.5)],
)
def test_durations_are_counted_in_the_unit_that_suits_them(seconds, unit, first):
    spread = seconds + np.arange(16) * seconds // 16

    column = _column(pd.to_timedelta(spread, unit="s"))

    assert (column.sort, column.unit) == ("number", unit)
    assert column.real[0] == pytest.approx(first)
    assert column.text(first).endswith(unit)


def test_numbers_that_cannot_be_drawn_are_counted_in_powers_of_ten():
    column = _column(np.linspace(-3e307, 3e307, 24))

    assert column.power == 307
    assert column.real == pytest.approx(np.linspace(-3, 3, 24))
    assert column.text(3.0) == "3·10³⁰⁷"


def test_a_name_without_letters_is_called_a_column():
    assert column_title("7") == "column 7"
    assert column_title("x7") == "x7"


@pytest.mark.parametrize("low", [-700_000.0, 0.3, 18_262.0])
@pytest.mark.parametrize("span", [0.001, 0.02, 0.4, 2, 9, 50, 130, 400, 3000, 99_999])
def test_an_axis_of_dates_has_a_few_round_ones_in_order(low, span):
    places, texts = date_ticks(low, low + span)

    assert 1 <= len(places) <= MAX_TICKS
    assert places == sorted(places)
    assert low - 1e-6 <= places[0] <= places[-1] <= low + span + 1e-6
    assert len(set(texts)) == len(texts)
    widths = [SIGN_WIDTH * (len(text) + 1) * span for text in texts]
    assert all(np.diff(places) >= widths[1:])


def test_an_axis_of_dates_says_only_as_much_of_them_as_it_must():
    texts = [date_ticks(18_262.0, 18_262.0 + span)[1] for span in (3000, 130, 9, 0.4)]

    assert texts == [
        ["2020", "2024", "2028"],
        ["2020-01", "2020-03", "2020-05"],
        ["2020-01-01", "2020-01-05", "2020-01-09"],
        ["01-01 00:00", "01-01 06:00"],
    ]


def test_dates_that_are_parts_of_a_second_apart_are_not_written():
    assert date_ticks(30_000.0, 30_000.00000001) == ([], [])
