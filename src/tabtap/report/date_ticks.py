"""Round dates along an axis: years, months, days, hours or minutes."""

from __future__ import annotations

import datetime as dt
import math

MAX_TICKS = 3
"""More dates than these do not fit below a panel."""

SIGN_WIDTH = 0.027
"""Width of one sign, as a share of the axis."""

_START = dt.datetime(1970, 1, 1)
_FIRST, _LAST = -719_162.0, 2_932_896.0
"""The years 1 to 9999, in days since 1970."""

_MINUTES = (1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 4320, 7200, 14400, 28800)
_MONTHS = (1, 2, 3, 6)


def date_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return places and texts of a few round dates between two.

    Parameters
    ----------
    low, high : float
        Days since 1970.

    Returns
    -------
    tuple of lists
        Places in days since 1970, at most ``MAX_TICKS`` of them, and what to write
        there.  None where there is no round date between.

    Examples
    --------
    >>> date_ticks(1.0, 1200.0)[1]
    ['1971', '1972', '1973']
    >>> date_ticks(18262.3, 18262.9)[1]
    ['01-01 12:00', '01-01 18:00']
    """
    low, high = max(low, _FIRST), min(high, _LAST)
    for places, form in (*_minutes(low, high), *_months(low, high)):
        if 0 < len(places) <= MAX_TICKS and _have_room(places, form, high - low):
            return places, [_moment(place).strftime(form) for place in places]
    step = _year_step(low, high)
    places = _years(low, high, step)
    # Not strftime: it writes the years before 1000 in different ways.
    return places, [str(_moment(place).year) for place in places]


def _have_room(places: list[float], form: str, span: float) -> bool:
    width = SIGN_WIDTH * (len(_START.strftime(form)) + 1)
    return len(places) < 2 or (places[1] - places[0]) / span >= width


def _minutes(low: float, high: float) -> list[tuple[list[float], str]]:
    found = []
    for step in _MINUTES:
        if (high - low) * 1440 / step > 2 * MAX_TICKS:
            continue
        first = math.ceil(low * 1440 / step - 1e-9)
        last = math.floor(high * 1440 / step + 1e-9)
        places = [k * step / 1440 for k in range(first, last + 1)]
        found.append((places, "%Y-%m-%d" if step % 1440 == 0 else "%m-%d %H:%M"))
    return found


def _months(low: float, high: float) -> list[tuple[list[float], str]]:
    if high - low > 31 * 6 * (MAX_TICKS + 1):
        return []
    start, end = _moment(low), _moment(high)
    months = range(12 * start.year + start.month - 1, 12 * end.year + end.month)
    found = []
    for step in _MONTHS:
        days = [
            _day(month // 12, month % 12 + 1) for month in months if not month % step
        ]
        found.append(([day for day in days if low <= day <= high], "%Y-%m"))
    return found


def _year_step(low: float, high: float) -> int:
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if len(_years(low, high, step)) <= MAX_TICKS:
                return step
        size *= 10


def _years(low: float, high: float, step: int) -> list[float]:
    first, last = _moment(low).year, _moment(high).year
    years = range(-(-first // step) * step, last + 1, step)
    days = [_day(max(year, 1), 1) for year in years]
    return [day for day in days if low <= day <= high]


def _day(year: int, month: int) -> float:
    return float((dt.datetime(year, month, 1) - _START).days)


def _moment(days: float) -> dt.datetime:
    return _START + dt.timedelta(minutes=round(days * 1440))
