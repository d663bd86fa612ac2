"""Columns of values that already have a type, as Excel and JSON give them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.files.columns import MISSING, UNUSUAL, spread_times
from tabtap.files.file_table import ColumnStyle
from tabtap.files.number_cells import with_holes
from tabtap.files.time_cells import read_times


class ValueColumn(NamedTuple):
    """A column read from values."""

    series: pd.Series
    style: ColumnStyle
    notes: tuple[str, ...] = ()


def column_of_values(name: str, values: Sequence[Any]) -> ValueColumn:
    """Return a column in the narrowest type that holds all of its values.

    Text among other values means a missing one if it says so; otherwise all is text.
    """
    cells, notes = _without_spellings(name, values)
    present = np.array([not _is_hole(cell) for cell in cells], dtype=bool)
    seen = [cell for cell, there in zip(cells, present, strict=True) if there]
    kinds = {type(cell) for cell in seen}
    style = ColumnStyle(name=name)
    if not seen:
        empty = pd.Series(np.full(len(cells), np.nan))
        return ValueColumn(empty, replace(style, kind="empty"), notes)
    if kinds == {str}:
        return _texts(cells, seen, present, style)._replace(notes=notes)
    if kinds <= {bool}:
        truths = with_holes(np.array(seen, dtype=bool), present)
        return ValueColumn(truths, replace(style, kind="boolean"), notes)
    if kinds <= {int, float}:
        return _numbers(seen, present, style)._replace(notes=notes)
    if kinds <= {dt.datetime, dt.date}:
        times = pd.DatetimeIndex(np.array(seen, dtype="M8[us]"))
        return ValueColumn(
            spread_times(times, present), replace(style, kind="time"), notes
        )
    listed = " and ".join(sorted(kind.__name__ for kind in kinds))
    mixed = [np.nan if _is_hole(cell) else str(cell) for cell in cells]
    note = f"column {name!r} mixes {listed}; read as text"
    return ValueColumn(pd.Series(mixed), style, (*notes, note))


def _is_hole(cell: Any) -> bool:  # noqa: ANN401 - any value of a cell
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _without_spellings(
    name: str, values: Sequence[Any]
) -> tuple[list[Any], tuple[str, ...]]:
    """Return values with None where text says that a number or time is missing."""
    texts = {cell for cell in values if isinstance(cell, str)}
    others = any(not isinstance(c, str) and not _is_hole(c) for c in values)
    said = {text for text in texts if text.strip() in MISSING | UNUSUAL}
    if not said or not others or said != texts:
        # Among text these words are words, but for those that no text means.
        said = {text for text in texts if not text}
    notes = [
        f"{text!r} read as missing in column {name!r}" for text in sorted(said) if text
    ]
    cells = [None if isinstance(c, str) and c in said else c for c in values]
    return cells, tuple(notes)


def _numbers(seen: list[Any], present: Any, style: ColumnStyle) -> ValueColumn:  # noqa: ANN401
    whole = all(isinstance(cell, int) for cell in seen)
    for dtype in (np.int64, np.uint64) if whole else ():
        try:
            values = np.array(seen, dtype=dtype)
        except OverflowError:
            continue
        return ValueColumn(with_holes(values, present), replace(style, kind="integer"))
    floats = with_holes(np.array(seen, dtype=np.float64), present)
    return ValueColumn(floats, replace(style, kind="float"))


def _texts(
    cells: list[Any],
    seen: list[str],
    present: Any,  # noqa: ANN401
    style: ColumnStyle,
) -> ValueColumn:
    times = read_times(seen)
    if times is None:
        holed = [np.nan if cell is None else cell for cell in cells]
        return ValueColumn(pd.Series(holed), style)
    return ValueColumn(
        spread_times(times[0], present), replace(style, kind="time", time=times[1])
    )
