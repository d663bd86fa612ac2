"""A column between a frame and a table: plain values, their grid, and exact cells.

Readers for pandas, Arrow and polars all end here, so that kinds are inferred and cells
are made in one place for every container.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.schema import (
    PER_DAY,
    BoolArray,
    Column,
    Family,
    FloatArray,
    Kind,
    Marker,
    family,
    number_name,
    time_limits,
    time_unit,
    time_zone,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RawColumn:
    """The values of one column in the plainest exact form of their family."""

    name: Hashable
    dtype: str

    values: NDArray[Any]
    """float64, int64 or uint64, bool, times as int64; codes for everything else."""

    missing: NDArray[np.int8]
    """0 where a value is, k where marker k - 1 stands."""

    markers: tuple[Marker, ...] = ()

    levels: tuple[Any, ...] = ()
    """What the codes stand for, in order; empty for numbers, bools and times."""

    categories: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def family(self) -> Family:
        """The family of values, by dtype."""
        return family(self.dtype)

    @property
    def is_coded(self) -> bool:
        """Whether ``values`` are codes into ``levels``."""
        return self.family in ("text", "category", "other")

    @cached_property
    def present(self) -> BoolArray:
        """True where there is a value."""
        return np.asarray(self.missing == 0)

    @cached_property
    def seen(self) -> NDArray[Any]:
        """The values that are there, in row order."""
        return self.values[self.present]

    @cached_property
    def distinct(self) -> NDArray[Any]:
        """The distinct values, sorted; -0.0 and 0.0 are two values."""
        if self.seen.dtype.kind != "f":
            return np.unique(self.seen)
        bits = np.unique(self.seen.view(np.int64))
        values = bits.view(np.float64)
        return values[np.lexsort((~np.signbit(values), values))]

    @cached_property
    def is_whole(self) -> bool:
        """Whether every value is an integer that a float holds beside its sign."""
        if self.family == "int":
            return True
        if self.family != "float":
            return False
        values = self.distinct
        whole = (np.rint(values) == values) & (np.abs(values) <= 2**53)
        negative_zero = (values == 0) & np.signbit(values)
        return bool((whole & ~negative_zero).all())


def rank_markers(
    forms: Sequence[tuple[Marker, BoolArray]], n_rows: int
) -> tuple[NDArray[np.int8], tuple[Marker, ...]]:
    """Return marker numbers per row and the markers found, the most frequent first."""
    counted = [(int(where.sum()), marker, where) for marker, where in forms]
    used = sorted((c for c in counted if c[0]), key=lambda c: -c[0])
    missing = np.zeros(n_rows, dtype=np.int8)
    for number, (_, _, where) in enumerate(used, start=1):
        missing[where] = number
    return missing, tuple(marker for _, marker, _ in used)


def marker_masks(
    missing: NDArray[np.int8], markers: tuple[Marker, ...], default: Marker
) -> dict[Marker, BoolArray]:
    """Return where each form of a hole stands; holes beyond the markers: default."""
    masks: dict[Marker, BoolArray] = {}
    for number in range(1, int(missing.max(initial=0)) + 1):
        marker = markers[number - 1] if number <= len(markers) else default
        where = missing == number
        masks[marker] = masks[marker] | where if marker in masks else where
    return masks


def code_values(values: Sequence[Any]) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Return codes and the distinct values, sorted where they can be compared."""
    numbers: dict[Any, int] = {}
    first = np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values),
        dtype=np.int32,
        count=len(values),
    )
    levels = list(numbers)
    try:
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        # Values without an order keep the one in which they first came.
        order = list(range(len(levels)))
    rank = np.empty(len(levels), dtype=np.int32)
    rank[np.array(order, dtype=np.int64)] = np.arange(len(levels), dtype=np.int32)
    return rank[first], tuple(levels[number] for number in order)


# ---- Plain values to exact cells and back, once the kind of a column is known.


def encode(
    raw: RawColumn, kind: Kind, *, ordered: bool, few: bool = False
) -> tuple[Column, NDArray[Any]]:
    """Return the column and its exact cells; the kind must suit its values.

    ``few``: a continuous column of few values keeps to these.
    """
    if kind.is_numeric:
        column, cells = _encode_numbers(raw, kind)
        if few and kind is Kind.CONTINUOUS and keeps_to_few(raw.seen):
            column = replace(column, support=tuple(raw.distinct.tolist()))
        return column, cells
    codes, levels = _levels(raw)
    column = Column(
        name=raw.name,
        kind=kind,
        dtype=raw.dtype,
        ordered=ordered,
        levels=levels,
        categories=raw.categories,
        markers=raw.markers,
    )
    return column, codes


def decode(
    column: Column, cells: NDArray[Any], missing: NDArray[np.int8]
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    """Return the plain values of some cells, and where their holes are.

    Codes of a categorical dtype count its categories, as its writer expects.
    """
    kind = family(column.dtype)
    if column.wall_clock:
        return counts_from_wall_clock(cells, column.dtype), missing
    if column.kind.is_numeric:
        return (cells.astype(np.float64) if kind == "float" else cells), missing
    if not column.levels:
        # Identifiers are not kept in a saved schema: what is unknown is a hole.
        return np.zeros(len(cells), _level_dtype(kind)), np.ones_like(missing)
    table = _level_values(column)
    values = table[np.where(missing > 0, 0, cells)]
    return values, missing


MOST_KEPT_TO = 20
"""A column of more distinct numbers than this may take others too."""

_ROWS_PER_VALUE = 3
_MOST_UNSEEN, _MOST_ALONE = 0.05, 0.25


def keeps_to_few(seen: FloatArray) -> bool:
    """Whether numbers are doses rather than measurements: others are not to be met.

    The share of the rows whose value comes once is about the chance that the next row
    has a new one (Good and Turing): it must be small, and so must the share of such
    values.  A measurement that is seen 20 times hardly ever comes back; amounts beside
    many zeros do not either.

    Examples
    --------
    >>> keeps_to_few(np.array([0.5, 1.0, 2.5, 1.0] * 5))
    True
    >>> keeps_to_few(np.arange(20) / 8)
    False
    """
    values, counts = np.unique(seen, return_counts=True)
    n_alone = int((counts == 1).sum())
    # -0.0 and 0.0 are two values to a file and one to a scale.
    if np.signbit(values[values == 0]).any() or len(values) < 3:
        return False
    return bool(
        len(values) <= MOST_KEPT_TO
        and len(seen) >= _ROWS_PER_VALUE * len(values)
        and n_alone <= _MOST_UNSEEN * len(seen)
        and n_alone <= _MOST_ALONE * len(values)
    )


def _encode_numbers(raw: RawColumn, kind: Kind) -> tuple[Column, NDArray[Any]]:
    decimals, base, step = None, 0, 1
    if kind is Kind.CONTINUOUS:
        decimals = decimal_places(raw.distinct, raw.dtype)
    elif kind is Kind.DATETIME:
        return _encode_times(raw)
    else:
        base, step = whole_grid(raw.seen, raw.distinct)
    column = Column(
        name=raw.name,
        kind=kind,
        dtype=raw.dtype,
        markers=raw.markers,
        decimals=decimals,
        base=base,
        step=step,
    )
    return column, raw.values.astype(column.storage)


def _encode_times(raw: RawColumn) -> tuple[Column, NDArray[Any]]:
    """Count on the wall clock if that has the longer step.

    Midnights in Berlin are 23 to 25 hours apart; only on Berlin's clocks they are days.
    """
    base, step = time_grid(raw.seen, raw.distinct, raw.dtype)
    values, wall_clock = raw.values, False
    shown = wall_clock_counts(raw.seen, raw.dtype)
    if shown is not None:
        local = time_grid(shown, np.unique(shown), raw.dtype)
        if local[1] > step:
            (base, step), wall_clock = local, True
            values = np.zeros_like(raw.values)
            values[raw.present] = shown
    column = Column(
        name=raw.name,
        kind=Kind.DATETIME,
        dtype=raw.dtype,
        markers=raw.markers,
        base=base,
        step=step,
        wall_clock=wall_clock,
    )
    return column, values.astype(np.int64)


def _levels(raw: RawColumn) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    if raw.is_coded:
        return raw.values.astype(np.int32), raw.levels
    distinct = raw.distinct
    if raw.family == "bool":
        distinct = np.array([False, True]) if len(distinct) == 2 else distinct
    codes = np.zeros(len(raw.values), dtype=np.int32)
    codes[raw.present] = _find(distinct, raw.seen)
    if raw.family == "time":
        return codes, tuple(times_from_counts(distinct, raw.dtype))
    return codes, tuple(distinct.tolist())


def _find(distinct: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    index = np.searchsorted(distinct, values)
    if values.dtype.kind == "f":
        # -0.0 sorts before 0.0 but compares equal: searchsorted cannot tell them.
        nearest = np.signbit(values) != np.signbit(distinct[index])
        index = index + nearest
    return index


def _level_dtype(kind: str) -> type:
    known: dict[str, type] = {"float": np.float64, "bool": np.bool_, "time": np.int64}
    known |= {"int": np.int64, "category": np.int64}
    return known.get(kind, object)


def _level_values(column: Column) -> NDArray[Any]:
    kind = family(column.dtype)
    if kind == "time":
        return counts_from_times(column.levels, column.dtype)
    if kind == "category":
        code_of = {level: number for number, level in enumerate(column.categories)}
        return np.array([code_of[level] for level in column.levels], dtype=np.int64)
    if kind in ("text", "other"):
        values = np.empty(len(column.levels), dtype=object)
        values[:] = column.levels
        return values
    unsigned = kind == "int" and max(column.levels) >= 2**63
    dtype = np.uint64 if unsigned else _level_dtype(kind)
    return np.array(column.levels, dtype=dtype)


# ---- The grid a column's numbers lie on: decimal places, or a base and a step.
#
# A price with two decimals must stay one, and a date at midnight must stay a date.


MAX_DECIMALS = 12
"""A double has 15 safe digits: more decimals than this are noise, not precision."""

_TRUSTED_VALUES = 8
"""Distinct values from which a common divisor is a property and not luck: that the
seven gaps of random integers share one has a chance of 1 in 120."""

_NATURAL_SECONDS = (86_400, 3_600, 60, 1)


def decimal_places(values: FloatArray, dtype: str) -> int | None:
    """Return the fewest decimal places that keep every value, or None.

    ``values`` are the distinct values.  A float32 counts as reproduced when rounding
    gives back the same float32, so 0.1 has one decimal in either width.
    """
    narrow = np.dtype(number_name(dtype))
    wanted = values.astype(narrow)
    for places in range(MAX_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(values, places)
            rounded = np.where(np.isfinite(rounded), rounded, values)
            if np.array_equal(rounded.astype(narrow), wanted):
                return places
    return None


def whole_grid(seen: NDArray[Any], distinct: NDArray[Any]) -> tuple[int, int]:
    """Return base and step of integers: the first value and the common divisor."""
    base = int(seen[0])
    if len(distinct) < _TRUSTED_VALUES:
        return base, 1
    return base, _divisor(distinct)


def time_grid(
    seen: NDArray[Any], distinct: NDArray[Any], dtype: str
) -> tuple[int, int]:
    """Return base and step of times: the coarsest unit that all gaps are made of.

    Gaps are taken from the first value, not from midnight in Greenwich.
    """
    base = int(seen[0])
    divisor = _divisor(distinct)
    if len(distinct) >= _TRUSTED_VALUES:
        return base, divisor
    for step in _natural_steps(time_unit(dtype)):
        if divisor % step == 0:
            return base, step
    return base, 1


def _natural_steps(unit: str) -> list[int]:
    if unit == "D":
        return [1]
    second = PER_DAY[unit] // 86_400
    long = [number * second for number in _NATURAL_SECONDS]
    return long + [second // 10**power for power in (3, 6, 9) if second >= 10**power]


def _divisor(distinct: NDArray[Any]) -> int:
    if int(distinct[-1]) - int(distinct[0]) >= 2**63:
        # The differences do not fit an int64.
        whole = [int(value) for value in distinct]
        return max(1, math.gcd(*(value - whole[0] for value in whole)))
    return max(1, int(np.gcd.reduce(np.diff(distinct).astype(np.int64), initial=0)))


# ---- Times as integers, and as the values a person knows them by.
#
# A time is counted in the unit of its dtype from 1970 in UTC, so that time zones, clock
# changes and nanoseconds survive.  As a level of a category it is a pandas Timestamp or
# Timedelta of that unit, or a Python date.


_EPOCH = dt.date(1970, 1, 1).toordinal()


def times_from_counts(counts: NDArray[np.int64], dtype: str) -> list[Any]:
    """Return counted times as Timestamps, Timedeltas or dates."""
    name, unit = number_name(dtype), time_unit(dtype)
    if name == "date":
        return [dt.date.fromordinal(_EPOCH + day) for day in counts.tolist()]
    if name == "timedelta64":
        return list(pd.TimedeltaIndex(counts.view(f"m8[{unit}]")))
    return list(as_datetime_index(counts, dtype))


def counts_from_times(times: Sequence[Any], dtype: str) -> NDArray[np.int64]:
    """Return times as counts of the dtype's unit."""
    name, unit = number_name(dtype), time_unit(dtype)
    if name == "date":
        counts = [day.toordinal() - _EPOCH for day in times]
    else:
        counts = [int(time.as_unit(unit).asm8.view(np.int64)) for time in times]
    return np.array(counts, dtype=np.int64)


def as_datetime_index(counts: NDArray[np.int64], dtype: str) -> pd.DatetimeIndex:
    """Return counted times as pandas keeps them, in the dtype's time zone."""
    index = pd.DatetimeIndex(counts.view(f"M8[{time_unit(dtype)}]"))
    zone = time_zone(dtype)
    return index if zone is None else index.tz_localize("UTC").tz_convert(zone)


def wall_clock_counts(
    counts: NDArray[np.int64], dtype: str
) -> NDArray[np.int64] | None:
    """Return times as a clock on the wall of their zone shows them.

    None without a zone, and when it is not exact: the hour a clock is set back happens
    twice.
    """
    low, high = time_limits(dtype)
    if time_zone(dtype) is None or counts.min() < low or counts.max() > high:
        return None
    local = as_datetime_index(counts, dtype).tz_localize(None)
    shown = np.array(local.to_numpy().view(np.int64))
    same = np.array_equal(counts_from_wall_clock(shown, dtype), counts)
    return shown if same else None


def counts_from_wall_clock(shown: NDArray[np.int64], dtype: str) -> NDArray[np.int64]:
    """Return counts in UTC of what a clock shows.

    An hour that is skipped becomes the next one; of an hour that happens twice the
    first is meant.
    """
    local = pd.DatetimeIndex(shown.view(f"M8[{time_unit(dtype)}]")).tz_localize(
        time_zone(dtype),
        ambiguous=np.ones(len(shown), dtype=bool),
        nonexistent="shift_forward",
    )
    return np.array(local.tz_convert(None).to_numpy().view(np.int64))
