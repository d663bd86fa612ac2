"""Numbers, names and column values as people read them.

A gain has two significant digits, a score as many decimals as its gain needs to be
seen, and what is promised is rounded down: a page must not claim more than the check.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabtap.fidelity import TARGET
from tabtap.report.drawing import clean
from tabtap.table.cells import as_datetime_index
from tabtap.table.schema import (
    PER_DAY,
    Column,
    FloatArray,
    IntArray,
    Kind,
    number_name,
    time_unit,
    time_zone,
)
from tabtap.table.table import Table

THIN = "\u202f"
"""Narrow space that no line is broken at: between thousands, and before a unit."""

MINUS = "\u2212"
LONGEST_NAME = 60


def count(number: int) -> str:
    """Return a whole number with its thousands apart.

    Examples
    --------
    >>> count(2560).replace(THIN, " ")
    '2 560'
    """
    return f"{number:,}".replace(",", THIN).replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the right form.

    Examples
    --------
    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent, with a decimal where it matters.

    Examples
    --------
    >>> [percent(x).replace(THIN, " ") for x in (0.9, 0.96667, 0.004, 0.0, 1.0)]
    ['90 %', '96.7 %', '0.4 %', '0 %', '100 %']
    """
    if not math.isfinite(share):
        return "unknown"
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text}{THIN}%"


def score(value: float, gain: float = 0.1) -> str:
    """Return a score with as many decimals as a gain needs to be seen in it.

    Examples
    --------
    >>> score(0.8213, 0.036), score(0.97746, 0.0069), score(-36214598.7, 5e5)
    ('0.82', '0.977', '\u221236\u202f214\u202f599')
    """
    small = value and abs(value) < 0.01  # an error in the target's own unit
    return _plain(value, min(_decimals(gain, digits=1), 12 if small else 3))


def gain(difference: float) -> str:
    """Return a difference with its sign and two significant digits.

    Examples
    --------
    >>> gain(0.0362), gain(-0.00692), gain(-0.00028), gain(0.0)
    ('+0.036', '\u22120.0069', '\u22120.0003', '0.00')
    """
    text = _plain(difference, _decimals(difference, digits=2))
    return f"+{text}" if difference > 0 else text


def size(difference: float) -> str:
    """Return the same without a plus sign, for what is called a gain or an error."""
    return gain(difference).lstrip("+")


def at_least(bound: float) -> str:
    """Return a lower bound, rounded down.

    Examples
    --------
    >>> at_least(0.01459), at_least(-0.0011), at_least(0.00029), at_least(0.0)
    ('0.014', '\u22120.0011', '0.0002', '0.00')
    """
    if not math.isfinite(bound):
        return "unknown"
    decimals = _decimals(bound, digits=2)
    unit = 10.0**-decimals
    # The quotient may fall a hair short of the whole number that it is.
    down = math.floor(round(bound / unit, 6)) * unit
    return _plain(down if down or not bound else bound, decimals)


def marks(edges: Sequence[float]) -> list[str]:
    """Return the ends of ranges, with as few digits as tell them apart.

    Examples
    --------
    >>> marks([0.5, 2.25, 3756.6]), marks([-0.0011, -0.00105])
    (['0.5', '2.25', '3757'], ['\u22120.0011', '\u22120.00105'])
    """
    for digits in range(4, 17):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len({float(text) for text in texts}) == len(set(edges)):
            break
    return [_digits(float(text), text) for text in texts]


def seconds(time: float) -> str:
    """Return a time in the units that people use.

    Examples
    --------
    >>> [seconds(t).replace(THIN, " ") for t in (0.16, 12.4, 75, 7500)]
    ['0.2 s', '12 s', '1 min 15 s', '2 h 5 min']
    """
    if time < 10:
        return f"{time:.1f}{THIN}s"
    minutes, rest = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{THIN}h {minutes}{THIN}min"
    return f"{minutes}{THIN}min {rest}{THIN}s" if minutes else f"{rest}{THIN}s"


def name(label: object) -> str:
    r"""Return a column's name or a level as text of bearable length.

    Examples
    --------
    >>> name("  two\nlines "), len(name("x" * 100))
    ('two lines', 60)
    """
    return clean(label, LONGEST_NAME) or repr(label)


def listed(parts: list[str]) -> str:
    """Return texts as people enumerate them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capital(sentence: str) -> str:
    """Return a sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]


def _decimals(difference: float, *, digits: int) -> int:
    if not math.isfinite(difference) or not difference:
        return 2
    size = abs(difference)
    wanted = digits - 1 - math.floor(math.log10(size))
    if size >= 100:
        return 0
    # Four decimals are the most that anyone reads, if they show anything at all.
    return max(2, min(wanted, 4) if size >= 1e-4 else wanted)


def _digits(value: float, text: str) -> str:
    if 1e4 <= abs(value) < 1e7:
        text = f"{value:,.0f}".replace(",", THIN)
    return text.replace("-", MINUS)


def _plain(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return "unknown"
    if value and not 1e-5 <= abs(value) < 1e12:
        return f"{value:.3g}".replace("-", MINUS)
    text = f"{value:,.{decimals}f}".replace(",", THIN)
    # Not "-0.00": a change too small to be seen has no direction.
    if float(text.replace(THIN, "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)


# ---- A column's real and synthetic values, ready to be drawn and to be named.
#
# A time is drawn in days since 1970 as a clock of its zone shows it, a duration in the
# unit that suits it, and numbers near the ends of what a float holds in powers of ten.


_POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_UNITS = (("days", 1), ("hours", 24), ("minutes", 1440), ("seconds", 86400))
_DRAWABLE = 100
"""Largest power of ten, up or down, that is drawn as it is."""

Sort = Literal["number", "date", "level"]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """One column of the real and of the synthetic rows."""

    name: str
    sort: Sort

    real: NDArray[Any]
    synthetic: NDArray[Any]
    """Numbers with NaN for holes, or codes of ``levels`` with -1 for holes."""

    levels: tuple[str, ...] = ()

    unit: str = ""
    """What a duration is counted in."""

    power: int = 0
    """Numbers are to be multiplied by ten to this power."""

    step: float = 0.0
    """Distance between two neighbouring values; 0 where any value may occur."""

    def text(self, value: float) -> str:
        """Return a value as people read it."""
        if self.sort == "level":
            return self.levels[int(value)] if value >= 0 else "missing"
        if self.sort == "date":
            return date_text(value)
        return number_text(value, self.power) + (f" {self.unit}" if self.unit else "")


def column_values(real: Table, synthetic: Table, place: int) -> ColumnValues:
    """Return one column of two tables of one schema; ``TARGET`` for the target."""
    target = real.schema.target
    if place == TARGET and target is not None:
        column, is_number = target.column, target.task == "regression"
    else:
        column = real.schema.features[place]
        is_number = column.kind.is_numeric
    cells = [_cells(table, place) for table in (real, synthetic)]
    shown = name(column.name)
    if not is_number:
        codes = [np.where(hole, -1, cell).astype(np.int64) for cell, hole in cells]
        return ColumnValues(shown, "level", codes[0], codes[1], _level_texts(column))
    if column.kind is Kind.DATETIME:
        return _times(shown, column, cells)
    numbers = [np.where(hole, np.nan, cell.astype(np.float64)) for cell, hole in cells]
    step = float(column.step) if column.kind is Kind.INTEGER else 0.0
    return _scaled(shown, numbers, step)


def column_title(name: str) -> str:
    """Return a column's name as part of a sentence.

    Examples
    --------
    >>> column_title("age"), column_title("7")
    ('age', 'column 7')
    """
    short = clean(name, 30)
    return short if any(sign.isalpha() for sign in short) else f"column {short}"


def number_text(value: float, power: int = 0, digits: int = 3) -> str:
    """Return a number with a few significant digits.

    Examples
    --------
    >>> number_text(0.12345), number_text(-4.0), number_text(1234567.0)
    ('0.123', '\u22124', '1.23·10⁶')
    >>> number_text(12345.6).replace(THIN, " "), number_text(2.0, power=200)
    ('12 346', '2·10²⁰⁰')
    """
    if not math.isfinite(value):
        return "none"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if power or not -4 <= size < 6:
        return _scientific(value, size, power, digits)
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS).replace(",", THIN)


def tick_texts(ticks: FloatArray, power: int = 0) -> list[str]:
    """Return the numbers of an axis, with digits enough to tell them apart."""
    for digits in range(2, 18):
        texts = [number_text(float(tick), power, digits) for tick in ticks]
        exact = all(
            math.isclose(float(f"{tick:.{digits}g}"), tick, rel_tol=1e-9, abs_tol=1e-12)
            for tick in ticks
        )
        if exact and len(set(texts)) == len(texts):
            return texts
    return texts


def date_text(days: float) -> str:
    """Return a time, given in days since 1970, as its date; with hours if it has any.

    Examples
    --------
    >>> date_text(0.0), date_text(18262.25)
    ('1970-01-01', '2020-01-01 06:00')
    """
    if not math.isfinite(days):
        return "none"
    minutes = round(days * 1440)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(minutes=minutes)
    return moment.strftime("%Y-%m-%d" if minutes % 1440 == 0 else "%Y-%m-%d %H:%M")


def _scientific(value: float, size: int, power: int, digits: int) -> str:
    mantissa = f"{value / 10.0**size:.{digits - 1}f}"
    if mantissa.lstrip("-").startswith("10"):
        mantissa, size = f"{value / 10.0 ** (size + 1):.{digits - 1}f}", size + 1
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    exponent = str(size + power).translate(_POWERS)
    return f"{mantissa}·10{exponent}".replace("-", MINUS)


def _cells(table: Table, place: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if place == TARGET:
        return table.target, np.zeros(len(table), dtype=np.bool_)
    return table.cells[place], table.missing[:, place] > 0


def _level_texts(column: Column) -> tuple[str, ...]:
    return tuple(clean(level, 60) or repr(level) for level in column.levels)


def _times(
    name: str, column: Column, cells: list[tuple[IntArray, NDArray[np.bool_]]]
) -> ColumnValues:
    per_day = PER_DAY[time_unit(column.dtype)]
    days = [
        np.where(hole, np.nan, _shown(column, cell, hole) / per_day)
        for cell, hole in cells
    ]
    step = column.step / per_day
    if number_name(column.dtype) != "timedelta64":
        return ColumnValues(name, "date", days[0], days[1], step=step)
    typical = float(np.nanmedian(np.abs(days[0]))) if np.any(days[0] == days[0]) else 1
    unit, per = next((u for u in _UNITS if typical * u[1] >= 1), _UNITS[-1])
    return ColumnValues(
        name, "number", days[0] * per, days[1] * per, unit=unit, step=step * per
    )


def _shown(column: Column, cells: IntArray, hole: NDArray[np.bool_]) -> FloatArray:
    """Return times as a clock of their zone shows them, in the dtype's unit."""
    if column.wall_clock or time_zone(column.dtype) is None:
        return cells.astype(np.float64)
    kept = np.where(hole, 0, cells)
    local = as_datetime_index(kept, column.dtype).tz_localize(None)
    return np.asarray(local.to_numpy().view(np.int64), dtype=np.float64)


def _scaled(name: str, numbers: list[FloatArray], step: float) -> ColumnValues:
    peak = max(float(np.fmax.reduce(np.abs(x), initial=0.0)) for x in numbers)
    power = math.floor(math.log10(peak)) if 0 < peak < math.inf else 0
    if abs(power) <= _DRAWABLE:
        return ColumnValues(name, "number", numbers[0], numbers[1], step=step)
    # In two halves: ten to the power of 320 is no float.
    half = power // 2
    parts = [x / 10.0**half / 10.0 ** (power - half) for x in numbers]
    return ColumnValues(name, "number", parts[0], parts[1], power=power)
