"""Columns of text cells become columns of a frame: numbers, truths, times or text.

A column is a number only if every cell is one; a code such as 007 stays a code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.files.file_table import ColumnStyle
from tabtap.files.number_cells import (
    are_grouped,
    are_padded,
    is_number,
    may_be_grouped,
    read_numbers,
    with_holes,
)
from tabtap.files.time_cells import read_times

MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
     "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""What pandas takes for a missing value, in any column."""

UNUSUAL = frozenset(
    ["?", ".", "-", "--", "*", "na", "Na", "NAN", "n.a.", "N.A.", "missing", "Missing",
     "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"]
)  # fmt: skip
"""What is taken for a missing value only among numbers or times."""

_TRUTHS = {"true", "false"}


class TextColumn(NamedTuple):
    """A column read from text."""

    series: pd.Series
    style: ColumnStyle
    cells: Sequence[str]
    notes: tuple[str, ...] = ()


def read_column(
    name: str, cells: Sequence[str], decimals: Sequence[str] = (".",)
) -> TextColumn:
    """Return a column of text cells in the narrowest type that holds them all."""
    return (
        _read_typed(name, cells, decimals)
        or _read_truths(name, cells)
        or as_text(name, cells)
    )


def as_text(name: str, cells: Sequence[str]) -> TextColumn:
    """Return a column of cells as text, holes apart."""
    present = np.array([cell not in MISSING for cell in cells], dtype=bool)
    if not present.any():
        empty = ColumnStyle(name=name, kind="empty", missing=_usual(cells, present))
        return TextColumn(pd.Series(np.full(len(cells), np.nan)), empty, cells)
    # NaN, as pandas has it: before pandas 3 a column of text may hold any object.
    holed = [
        cell if there else np.nan for cell, there in zip(cells, present, strict=True)
    ]
    style = ColumnStyle(name=name, missing=_usual(cells, present))
    seen = [cell.strip() for cell in cells if cell not in MISSING]
    return TextColumn(pd.Series(holed), style, cells, _text_notes(name, seen))


def settle_decimals(columns: Sequence[TextColumn]) -> list[TextColumn]:
    """Return columns with those as text whose decimal signs are thousands separators.

    Where some columns have decimal commas and others decimal points, 1.234 beside 0,5
    is more likely one thousand two hundred and thirty-four: nobody can tell.
    """
    signs: dict[str, bool] = {}
    doubtful: list[bool] = []
    for column in columns:
        style = column.style
        seen = [cell.strip() for cell in column.cells]
        doubt = style.kind == "float" and may_be_grouped(seen, style.decimal)
        doubtful.append(doubt)
        if style.kind == "float" and not doubt:
            signs[style.decimal] = True
    return [
        _doubted(column) if doubt and signs and column.style.decimal not in signs
        else column
        for column, doubt in zip(columns, doubtful, strict=True)
    ]  # fmt: skip


def _doubted(column: TextColumn) -> TextColumn:
    text = as_text(column.style.name, column.cells)
    note = (
        f"column {text.style.name!r}: its decimal signs differ from those of the other "
        "columns and may be thousands separators; read as text"
    )
    return text._replace(notes=(note,))


def _read_typed(
    name: str, cells: Sequence[str], decimals: Sequence[str]
) -> TextColumn | None:
    """Return numbers or times, among which more spellings mean a missing value."""
    bare = [cell.strip() for cell in cells]
    present = np.array(
        [cell not in MISSING and cell not in UNUSUAL for cell in bare], dtype=bool
    )
    seen = [cell for cell, there in zip(bare, present, strict=True) if there]
    if not seen:
        return None
    missing = _usual(cells, present)
    numbers = read_numbers(name, seen, decimals)
    if numbers is not None:
        style = replace(numbers.style, missing=missing)
        series = with_holes(numbers.values, present)
    else:
        times = read_times(seen)
        if times is None:
            return None
        style = ColumnStyle(name=name, kind="time", missing=missing, time=times[1])
        series = spread_times(times[0], present)
    return TextColumn(series, style, cells)


def spread_times(times: Any, present: Any) -> pd.Series:  # noqa: ANN401
    """Return times as a column with holes where ``present`` is False."""
    full = pd.Series(pd.NaT, index=range(len(present)), dtype=times.dtype)
    full[present] = times
    return full


def _read_truths(name: str, cells: Sequence[str]) -> TextColumn | None:
    present = np.array([cell not in MISSING for cell in cells], dtype=bool)
    seen = [cell for cell, there in zip(cells, present, strict=True) if there]
    spellings = set(seen)
    if not seen or len(spellings) > 2 or {s.lower() for s in spellings} - _TRUTHS:
        return None
    truths = {spelling.lower(): spelling for spelling in spellings}
    if len(truths) < len(spellings):
        return None  # True and TRUE are two levels to whoever wrote them
    only = next(iter(spellings))
    like = str.upper if only.isupper() else str.lower if only.islower() else str.title
    style = ColumnStyle(
        name=name,
        kind="boolean",
        missing=_usual(cells, present),
        truths=(truths.get("false", like("false")), truths.get("true", like("true"))),
    )
    values = np.array([cell.lower() == "true" for cell in seen])
    return TextColumn(with_holes(values, present), style, cells)


def _usual(cells: Sequence[str], present: Any) -> str:  # noqa: ANN401
    """Return how a column writes most of its missing values; empty if it has none."""
    counts = Counter(
        cell for cell, there in zip(cells, present, strict=True) if not there
    )
    return counts.most_common(1)[0][0] if counts else ""


def _text_notes(name: str, seen: Sequence[str]) -> tuple[str, ...]:
    if are_padded(seen):
        why = "has leading zeros"
    elif are_grouped(seen):
        why = "seems to have thousands separators or decimal commas"
    elif all(is_number(cell, (".",)) for cell in seen):
        why = "has whole numbers beyond 64 bits"
    else:
        return ()
    return (f"column {name!r} {why}; read as text",)
