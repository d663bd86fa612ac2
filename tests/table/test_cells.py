import numpy as np
import pandas as pd
import pytest

from tabtap.table import read_frame, write_frame


def column_of(cells):
    return read_frame(pd.DataFrame({"x": cells}), floor=1).schema.features[0]


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        ([0.25, 1.5, 100.75], 2),
        ([0.1, 0.2, 0.1 + 0.2], None),
        ([1e-4, 3e-4, -0.0036], 4),
        ([1 / 3, 2 / 3, 0.5], None),
        ([1e-30, 2e-30, 3e-30], None),
        ([1.7e308, 2.0**70, -1e300], 0),
        ([123456789.01, 0.02, 5.5], 2),
        (np.array([0.1, 0.2, 1.25], dtype="float32"), 2),
        (np.array([0.1, 0.2, 1.25], dtype="float16"), 2),
    ],
)
def test_decimals_are_the_fewest_that_keep_every_value(cells, decimals):
    assert column_of(cells).decimals == decimals


@pytest.mark.parametrize(
    ("cells", "base", "step"),
    [
        (range(100, 1000, 50), 100, 50),
        ([300, 100, 200, 400], 300, 1),
        ([3, *range(7, 60, 4)], 3, 4),
        (np.arange(12.0) * 10 - 5, -5, 10),
        ([2**63 - 1, -(2**63), *range(12)], 2**63 - 1, 1),
    ],
    ids=["hundreds", "too few to trust", "offset", "whole floats", "widest range"],
)
def test_integers_keep_their_step(cells, base, step):
    column = column_of(pd.Series(cells))

    assert (column.base, column.step) == (base, step)


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (pd.date_range("2020-01-01", periods=3, freq="7D"), "1D"),
        (pd.date_range("2020-01-01", periods=12, freq="7D"), "7D"),
        (
            pd.date_range("2020-01-01 05:00", periods=12, freq="D", tz="Asia/Tokyo"),
            "1D",
        ),
        (pd.date_range("2020-01-01", periods=5, freq="90min"), "1min"),
        (
            pd.to_datetime(
                ["2020-01-01", "2020-01-01 00:00:00.001", "2021"], format="ISO8601"
            ),
            "1ms",
        ),
    ],
    ids=["few weeks", "weeks", "mornings in Tokyo", "few odd gaps", "milliseconds"],
)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_keep_their_step(times, step, unit):
    times = times.as_unit(unit)

    column = column_of(times)

    assert pd.Timedelta(np.timedelta64(column.step, unit)) == pd.Timedelta(step)
    assert column.base == times[0].as_unit(unit).asm8.view("int64")


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo", "Europe/Berlin"])
def test_drawn_dates_stay_dates(zone):
    # Berlin's clocks change twice in this year: its midnights are not 24 hours apart.
    days = pd.date_range("2020-01-01", periods=300, tz=zone).as_unit("us")
    table = read_frame(pd.DataFrame({"day": days}))
    drawn = table.numeric + 0.3 * 86_400 * 10**6
    drawn[:150] += 86_400 * 10**6
    everything = np.ones((300, 1), dtype=bool)

    written = write_frame(table.redrawn(everything, drawn, table.categorical))["day"]

    assert (written == written.dt.normalize()).all()
    assert written[0] == days[1]
    assert written.dtype == days.dtype


def test_an_hour_that_happens_twice_is_kept_apart():
    hours = pd.date_range("2020-10-24", periods=72, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"hour": hours})

    pd.testing.assert_frame_equal(write_frame(read_frame(frame)), frame)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_drawn_far_outside_is_moved_to_one_that_can_be_written(unit, zone):
    days = pd.date_range("2020-01-01", periods=300, tz=zone).as_unit(unit)
    table = read_frame(pd.DataFrame({"day": days}))
    drawn = np.repeat([[-np.inf], [np.inf]], 150, axis=0)
    everything = np.ones((300, 1), dtype=bool)

    written = write_frame(table.redrawn(everything, drawn, table.categorical))["day"]

    years = (1677, 2262) if unit == "ns" else (1, 9999)
    assert (written[0].year, written[299].year) == years
