"""A column's real and synthetic values, ready to be drawn and to be named.

A time is drawn in days since 1970 as a clock of its zone shows it, a duration in the
unit that suits it, and numbers near the ends of what a float holds in powers of ten.
"""

from __future__ import annotations

import math
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
from tabtap.wording import date_text, number_text

LONGEST_NAME = 60
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
    shown = short_name(column.name)
    if not is_number:
        codes = [np.where(hole, -1, cell).astype(np.int64) for cell, hole in cells]
        return ColumnValues(shown, "level", codes[0], codes[1], _level_texts(column))
    if column.kind is Kind.DATETIME:
        return _times(shown, column, cells)
    numbers = [np.where(hole, np.nan, cell.astype(np.float64)) for cell, hole in cells]
    step = float(column.step) if column.kind is Kind.INTEGER else 0.0
    return _scaled(shown, numbers, step)


def short_name(label: object) -> str:
    r"""Return a column's name or a level as text of bearable length.

    Examples
    --------
    >>> short_name("  two\nlines "), len(short_name("x" * 100))
    ('two lines', 60)
    """
    return clean(label, LONGEST_NAME) or repr(label)


def column_title(name: str) -> str:
    """Return a column's name as part of a sentence.

    Examples
    --------
    >>> column_title("age"), column_title("7")
    ('age', 'column 7')
    """
    short = clean(name, 30)
    return short if any(sign.isalpha() for sign in short) else f"column {short}"


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
