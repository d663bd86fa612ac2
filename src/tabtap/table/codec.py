"""Plain values to exact cells and back, once the kind of a column is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.dtypes import family
from tabtap.table.grid import decimal_places, time_grid, whole_grid
from tabtap.table.raw import RawColumn
from tabtap.table.schema import Column, Kind
from tabtap.table.times import (
    counts_from_times,
    counts_from_wall_clock,
    times_from_counts,
    wall_clock_counts,
)


def encode(raw: RawColumn, kind: Kind, *, ordered: bool) -> tuple[Column, NDArray[Any]]:
    """Return the description of a column and its exact cells.

    Parameters
    ----------
    raw : RawColumn
        The column as it was read.
    kind : Kind
        How it is to be understood; must suit the values.
    ordered : bool
        Whether the levels of a category have an order.
    """
    if kind.is_numeric:
        return _encode_numbers(raw, kind)
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
    found = np.searchsorted(distinct, values)
    if values.dtype.kind == "f":
        # -0.0 sorts before 0.0 but compares equal: searchsorted cannot tell them.
        nearest = np.signbit(values) != np.signbit(distinct[found])
        found = found + nearest
    return found


def _level_dtype(kind: str) -> type:
    known: dict[str, type] = {"float": np.float64, "bool": np.bool_, "time": np.int64}
    known |= {"int": np.int64, "category": np.int64}
    return known.get(kind, object)


def _level_values(column: Column) -> NDArray[Any]:
    kind = family(column.dtype)
    if kind == "time":
        return counts_from_times(column.levels, column.dtype)
    if kind == "category":
        place = {level: number for number, level in enumerate(column.categories)}
        return np.array([place[level] for level in column.levels], dtype=np.int64)
    if kind in ("text", "other"):
        values = np.empty(len(column.levels), dtype=object)
        values[:] = column.levels
        return values
    unsigned = kind == "int" and max(column.levels) >= 2**63
    dtype = np.uint64 if unsigned else _level_dtype(kind)
    return np.array(column.levels, dtype=dtype)
