"""What texts mean to a person, and that the call which is offered reads them."""

import pandas as pd
import pytest

from tabtap.table.kinds import read_writing

EURO, NARROW_BLANK = "\u20ac", "\u202f"


def converted(levels):
    """Run the call that is offered, on the strings it is offered for."""
    code = read_writing(levels).code.partition(" (or ")[0].format("frame['c']")
    return eval(code, {"pd": pd, "frame": {"c": pd.Series(levels)}}).tolist()


@pytest.mark.parametrize(
    ("levels", "what", "numbers"),
    [
        (["12.5%", "7 %", "-0.25%"], "percentages", [12.5, 7, -0.25]),
        (["12,5%", "7,25 %"], "percentages", [12.5, 7.25]),
        (["12,500%", "3,250%"], "percentages", [12.5, 3.25]),
        (["12.500%", "3.250%"], "percentages", [12.5, 3.25]),
        (["$1,200.50", "$80", "-$5.00"], "money", [1200.5, 80, -5]),
        (["$1,200", "$2,300"], "money", [1200, 2300]),
        ([f"1.200,50 {EURO}", f"80 {EURO}"], "money", [1200.5, 80]),
        ([f"1.200 {EURO}", f"3.400 {EURO}"], "money", [1200, 3400]),
        (["CHF 1'200.50", "CHF 80"], "money", [1200.5, 80]),
        ([f"1{NARROW_BLANK}200,50 kr", "80 kr"], "money", [1200.5, 80]),
        (["12,5", "7,25", "-3"], "numbers with decimal commas", [12.5, 7.25, -3]),
        (["0,5", "1.200,75"], "numbers with decimal commas", [0.5, 1200.75]),
        (
            ["1,200", "3,450.5"],
            "numbers with commas between thousands",
            [1200, 3450.5],
        ),
        (["1.5", "-2"], "numbers", [1.5, -2]),
    ],
)
def test_numbers_are_told_and_read_however_they_are_written(levels, what, numbers):
    assert read_writing(levels).what == what
    assert converted(levels) == numbers


@pytest.mark.parametrize(
    ("levels", "day"),
    [
        (["31/12/2020", "01/02/2020"], "2020-12-31"),
        (["12/31/2020", "1/2/2020"], "2020-12-31"),
        (["5.4.2020", "3.4.2020"], "2020-04-05"),
        (["31-12-2020", "30-12-2020"], "2020-12-31"),
        (["31/12/20", "30/12/20"], "2020-12-31"),
        (["31.12.2020 10:30", "01.02.2020 08:00"], "2020-12-31 10:30"),
        (["12/31/2020 10:30", "1/13/2020 08:00"], "2020-12-31 10:30"),
        (["2020-12-31", "2020-12-30"], "2020-12-31"),
    ],
)
def test_dates_are_told_and_read_whatever_comes_first(levels, day):
    assert read_writing(levels).what.startswith("dates")
    assert converted(levels)[0] == pd.Timestamp(day)


def test_days_that_may_be_months_are_offered_both_ways():
    doubtful, clear = ["01/02/2020", "03/04/2020"], ["01/02/2020", "13/04/2020"]

    assert read_writing(doubtful).code.endswith("'%d/%m/%Y') (or '%m/%d/%Y')")
    assert read_writing(clear).code.endswith("'%d/%m/%Y')")


@pytest.mark.parametrize(
    ("levels", "time"),
    [
        (["12:30", "9:15"], "12:30:00"),
        (["12:30:15", "09:15:00"], "12:30:15"),
        (["125:30", "9:15"], "125:30:00"),
    ],
)
def test_times_are_told_and_read_as_durations(levels, time):
    assert read_writing(levels).what == "times"
    assert converted(levels)[0] == pd.Timedelta(time)


@pytest.mark.parametrize("noon", ["1:30 PM", "1:30PM", "1:30:00 pm"])
def test_times_of_two_halves_of_a_day_are_read_as_such(noon):
    assert (converted([noon])[0].hour, converted([noon])[0].minute) == (13, 30)


def test_a_few_words_among_numbers_do_not_hide_them():
    levels = ["n/a", *(f"{i}.5%" for i in range(10))]

    found = read_writing(levels)

    assert (found.what, found.example) == ("percentages", "0.5%")
    assert read_writing(["n/a", "none", *levels]) is None


@pytest.mark.parametrize(
    "levels",
    [
        [],
        ["north", "south"],
        ["0123", "0456"],
        ["01,2", "02,5"],
        ["A-12", "B-13"],
        ["ABC 123", "DEF 456"],
        ["555 1234", "555 2345"],
        ["192.168.100.200", "192.168.100.201"],
        ["1.2.10", "1.3.11"],
        ["13/13/2020", "14/14/2020"],
        ["00/10/2020", "10/00/2020"],
        ["12:75", "9:60"],
        ["%", "$"],
    ],
    ids=str,
)
def test_words_and_codes_are_no_numbers(levels):
    assert read_writing(levels) is None
