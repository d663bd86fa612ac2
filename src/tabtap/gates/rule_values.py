"""Columns as a rule sees them: numbers, times, words and truths, each with its holes.

Values are the decoded ones that the user knows: numbers on their grid, times as their
zone counts them, levels by their own value.  A duration is a number of days.  Where a
cell is a hole, or a result is not a finite number, nothing is *known*.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.cells import decode
from tabtap.table.schema import (
    PER_DAY,
    BoolArray,
    Column,
    IntArray,
    family,
    number_name,
    time_unit,
    time_zone,
)
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Integers or floats, or one number for all rows."""

    cells: NDArray[Any]
    known: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Points in time, counted in UTC."""

    cells: NDArray[np.datetime64]
    known: BoolArray

    zone: str | None
    """Where a time that is written without an offset is meant."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Levels of a category, by code."""

    codes: IntArray
    known: BoolArray
    levels: tuple[Any, ...]

    order: tuple[Any, ...] = ()
    """Every category from lowest to highest; empty if they have no order."""

    @property
    def values(self) -> NDArray[Any]:
        """The level of each row, as an object."""
        return _objects(self.levels)[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class Truths:
    """True, false, or not known."""

    cells: BoolArray
    known: BoolArray

    @property
    def certainly(self) -> BoolArray:
        """Where it is known to be true."""
        return self.cells & self.known

    @property
    def denied(self) -> BoolArray:
        """Where it is known to be false."""
        return ~self.cells & self.known


Value = Numbers | Times | Words | Truths | str
"""A string is text the user wrote; what it means depends on what it is compared to."""


def column_values(column: Column, cells: NDArray[Any], missing: NDArray[Any]) -> Value:
    """Return one column of a table as the user knows it."""
    known = missing == 0
    if family(column.dtype) == "time":
        return _counted_times(column, cells, missing)
    if column.kind.is_numeric:
        values, _ = decode(column, cells, missing)
        return Numbers(values, known & np.isfinite(values))
    # A code that no level has is refused by another gate; nothing is known of it.
    known = known & (cells >= 0) & (cells < len(column.levels))
    codes = np.where(known, cells, 0).astype(np.int64)
    if not column.levels:
        return Words(codes, known, ("",))
    return _from_levels(column, codes, known)


def find_column(table: Table, name: str) -> tuple[Column, NDArray[Any], NDArray[Any]]:
    """Return a feature or the target, with its exact cells and holes.

    Raises
    ------
    KeyError
        If no column is called so.
    """
    for place, column in enumerate(table.schema.features):
        if str(column.name) == name:
            return column, table.cells[place], table.missing[:, place]
    target = table.schema.target
    if target is None or str(target.column.name) != name:
        raise KeyError(name)
    return target.column, table.target, np.zeros(len(table), dtype=np.int8)


def occurs_together(rows: Table, real: Table, names: Sequence[str]) -> Truths:
    """Return whether some real row has the same values in these columns."""
    n_rows = len(rows)
    together = np.zeros(n_rows + len(real), dtype=np.int64)
    known = np.ones(n_rows + len(real), dtype=np.bool_)
    for name in names:
        pair = [find_column(table, name) for table in (rows, real)]
        cells = np.concatenate([cells for _, cells, _ in pair])
        known &= np.concatenate([missing == 0 for _, _, missing in pair])
        codes = np.unique(cells, return_inverse=True)[1].ravel()
        # Numbered anew each time, so that many columns do not overflow.
        pairs = together * (int(codes.max(initial=0)) + 1) + codes
        together = np.unique(pairs, return_inverse=True)[1].ravel()
    seen = together[n_rows:][known[n_rows:]]
    return Truths(np.isin(together[:n_rows], seen), known[:n_rows])


def parse_time(text: str, zone: str | None) -> np.datetime64:
    """Return a time written in ISO form, in UTC.

    Raises
    ------
    ValueError
        If it is written differently, or has an offset that the column has not.
    """
    written = dt.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    stamp = pd.Timestamp(written)
    if stamp.tzinfo is None and zone is not None:
        stamp = stamp.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    elif stamp.tzinfo is not None and zone is None:
        raise ValueError(text)
    if stamp.tzinfo is not None:
        stamp = stamp.tz_convert("UTC").tz_localize(None)
    moment: np.datetime64 = stamp.as_unit("us").to_datetime64()
    return moment


def _counted_times(
    column: Column, cells: NDArray[Any], missing: NDArray[Any]
) -> Numbers | Times:
    if column.levels:
        inside = (cells >= 0) & (cells < len(column.levels))
        missing = np.where(inside, missing, 1)
    counts, missing = decode(column, cells, missing)
    unit, known = time_unit(column.dtype), missing == 0
    if number_name(column.dtype) == "timedelta64":
        return Numbers(counts / PER_DAY[unit], known)
    times = np.asarray(counts, dtype=np.int64).view(f"M8[{unit}]")
    return Times(times, known, time_zone(column.dtype))


def _from_levels(column: Column, codes: IntArray, known: BoolArray) -> Value:
    levels = column.levels
    if all(isinstance(level, (bool, np.bool_)) for level in levels):
        return Truths(np.array(levels, dtype=np.bool_)[codes], known)
    if all(_is_number(level) for level in levels):
        return Numbers(np.array(levels)[codes], known)
    if all(isinstance(level, (dt.date, pd.Timestamp)) for level in levels):
        index = pd.DatetimeIndex(list(levels))
        zone = None if index.tz is None else str(index.tz)
        utc = index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
        return Times(utc.to_numpy()[codes], known, zone)
    order = (column.categories or levels) if column.ordered else ()
    return Words(codes, known, levels, order)


def _is_number(level: object) -> bool:
    return isinstance(level, numbers.Real) and not isinstance(level, (bool, np.bool_))


def _objects(values: tuple[Any, ...]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
