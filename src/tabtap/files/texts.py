"""Columns of text in a frame read as what people mean by them, and written back.

Excel, JSON and Parquet files have types, and still hold cells such as ``12 kg``; so do
frames.  Columns that have a type stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tabtap.errors import UserInputError
from tabtap.files.cells import format_column
from tabtap.files.columns import TextColumn, read_column, settle_columns
from tabtap.files.delimited import ALL, TextOptions, join_parts
from tabtap.files.formats import ColumnStyle, Question

_SEPARATOR = ";"
"""Cells of these files are parted without commas, so that one may be a decimal sign."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellsRead:
    """A frame whose texts were read, and how they are written."""

    frame: Any
    """The pandas frame, numbers and times in the place of such texts."""

    raw: Any
    """The frame as it was."""

    styles: tuple[ColumnStyle, ...] = ()
    """How each column is written that is not as it was."""

    notes: tuple[str, ...] = ()
    """What was read as what, a sentence each."""

    questions: tuple[Question, ...] = ()
    """Columns that can be read in several ways; they are text until one is named."""

    def restore(self, frame: Any) -> Any:  # noqa: ANN401 - pandas
        """Return rows in the spelling of the frame that was read.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with the columns of ``frame``, such as those of ``augmented()``.
        """
        return spell(frame, self.raw, self.styles)


def read_cells(
    frame: Any,  # noqa: ANN401 - pandas
    *,
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    date_format: str | Mapping[str, str] | None = None,
    missing: Collection[str] | Mapping[str, Collection[str]] | None = None,
    reading: Mapping[str, str] | None = None,
) -> CellsRead:
    """Read the texts of a frame as files are read: money, percent, units, dates.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of text are read; all others stay as they are.
    decimal, thousands, date_format, missing, reading
        What is to be known of cells, as for ``read_table``.

    Returns
    -------
    CellsRead
        ``frame``, ``notes``, ``questions``, and ``restore`` for the way back.

    Raises
    ------
    UserInputError
        If something is said of a column that is not there, or does not hold.

    Examples
    --------
    >>> told = read_cells(pd.DataFrame({"mass": ["70,5 kg", "81,0 kg", "64 kg"]}))
    >>> told.frame["mass"].tolist()
    [70.5, 81.0, 64.0]
    >>> told.restore(told.frame.iloc[:1] + 1)["mass"].tolist()
    ['71,5 kg']
    """
    # By name: it reads this module for files that have types.
    from tabtap.files.reading import text_options

    told = text_options(decimal, thousands, date_format, missing, reading)
    return read_texts(frame, told, "the frame")


def read_texts(frame: pd.DataFrame, options: TextOptions, name: str) -> CellsRead:
    """Return a frame with its columns of text read."""
    names = [str(column) for column in frame.columns]
    _check_told(names, options, name)
    columns = {
        i: read_column(own, _cells(frame.iloc[:, i]), options.of(own, _SEPARATOR))
        for i, own in enumerate(names)
        if _is_text(frame.iloc[:, i]) or _has_code(frame.iloc[:, i], own, options)
    }
    settled = settle_columns(list(columns.values()), _SEPARATOR)
    read = dict(zip(columns, settled, strict=True))
    series: list[tuple[Any, pd.Series]] = []
    changed: list[TextColumn] = []
    for i, own in enumerate(frame.columns):
        column = read.get(i)
        parts = () if column is None else column.style.parts
        clash = len(parts) > 1 and bool(set(parts) & set(names))
        if column is None or clash or not _is_other(column, frame.iloc[:, i]):
            series.append((own, frame.iloc[:, i]))
            if column is not None and column.question is not None:
                changed.append(column)
            continue
        changed.append(column)
        values = (column.series, column.second)[: len(parts)]
        for part, each in zip(parts, values, strict=True):
            label = own if len(parts) == 1 else part
            series.append((label, each.set_axis(frame.index)))  # type: ignore[union-attr]
    whole = pd.DataFrame(dict(enumerate(each for _, each in series)), index=frame.index)
    whole.columns = pd.Index([label for label, _ in series], name=frame.columns.name)
    return CellsRead(
        frame=whole if changed else frame,
        raw=frame,
        styles=tuple(c.style for c in changed if c.question is None),
        notes=tuple(note for c in changed for note in c.notes),
        questions=tuple(c.question for c in changed if c.question is not None),
    )


def spell(
    frame: pd.DataFrame,
    raw: pd.DataFrame,
    styles: Sequence[ColumnStyle],
    real: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a frame with the columns of ``raw``, texts as they are written there.

    ``real`` are its first rows as they were, which are not spelt anew.
    """
    known = {style.name: style for style in styles}
    n_real = 0 if real is None else len(real)
    columns = {}
    for i, name in enumerate(raw.columns):
        style = known.get(str(name))
        if style is None:
            columns[i] = frame[name]
            continue
        parts = [p if len(style.parts) > 1 else name for p in style.parts]
        new = frame.iloc[n_real:]
        written = join_parts([format_column(new[p], style) for p in parts], style)
        cells = _typed(written, raw.iloc[:, i])
        if real is not None:
            cells = pd.concat([real.iloc[:, i], cells], ignore_index=True)
        columns[i] = cells.set_axis(frame.index)
    whole = pd.DataFrame(columns, index=frame.index)
    whole.columns = raw.columns
    return whole


def _cells(series: pd.Series) -> list[str]:
    return ["" if pd.isna(cell) else str(cell) for cell in series]


def _typed(written: Sequence[str], like: pd.Series) -> pd.Series:
    """Return written cells as a column like another: an empty one is missing."""
    if pd.api.types.is_numeric_dtype(like.dtype):
        return pd.to_numeric(pd.Series(written, dtype=object).replace("", np.nan))
    cells = pd.Series([None if cell == "" else cell for cell in written], dtype=object)
    return cells if like.dtype == object else cells.astype(like.dtype)


def _is_text(series: pd.Series) -> bool:
    if not (series.dtype == object or isinstance(series.dtype, pd.StringDtype)):
        return False
    seen = series.dropna()
    return bool(len(seen)) and all(isinstance(cell, str) for cell in seen)


def _has_code(series: pd.Series, name: str, options: TextOptions) -> bool:
    """Whether a column of numbers has a code for a missing value that was named."""
    codes = options.missing.get(name)
    return bool(codes) and pd.api.types.is_numeric_dtype(series.dtype)


def _is_other(column: TextColumn, series: pd.Series) -> bool:
    """Whether reading has changed anything."""
    if column.question is not None or column.style.kind == "empty":
        return False
    if column.style.kind != "text":
        return True
    return column.series.tolist() != [
        np.nan if pd.isna(cell) else cell for cell in series
    ] and any(
        a != b
        for a, b in zip(column.series, series, strict=True)
        if not (pd.isna(a) and pd.isna(b))
    )


def _check_told(names: Sequence[str], options: TextOptions, name: str) -> None:
    for told in options[2:]:
        for column in told or ():
            if column not in names and column != ALL:
                raise UserInputError(
                    f"{name} has no column {column!r}, of which it was said how to "
                    f"read it. It has: {', '.join(names[:12])}"
                    f"{', ...' * (len(names) > 12)}."
                )
