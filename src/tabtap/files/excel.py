"""Excel workbooks: the values of one sheet, read and written.

openpyxl comes with the extra ``excel`` and is imported only when it is needed.
"""

from __future__ import annotations

import datetime as dt
import io
import warnings
import zipfile
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple
from xml.parsers import expat

import numpy as np
import pandas as pd

from tabtap.errors import UserInputError
from tabtap.files.cells import column_of_values
from tabtap.files.formats import WriteRequest, check_names
from tabtap.files.opening import check_extent, check_unpacked, reason

_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
_SHEET = "Sheet1"
_LOOKED_AT = 1_000
"""Rows after which it is asked again whether the sheet fits into memory."""


class SheetTable(NamedTuple):
    """One sheet read."""

    frame: pd.DataFrame
    sheet: str
    notes: tuple[str, ...]


def load_openpyxl() -> Any:  # noqa: ANN401 - a module without types
    """Return openpyxl, or raise how to get it."""
    try:
        return import_module("openpyxl")
    except ImportError as error:
        raise UserInputError(
            "Excel files need openpyxl, which is not installed. Install it with: pip "
            'install "tabtap[excel]". Or save the table as .csv.'
        ) from error


def read_excel(content: bytes, name: str, sheet: str | int | None) -> SheetTable:
    """Return one sheet of a workbook, the first unless another is named."""
    openpyxl = load_openpyxl()
    try:
        # What it does not know of a workbook, openpyxl warns of; values it reads.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check_unpacked(content, name)
            book = openpyxl.load_workbook(
                io.BytesIO(content), read_only=True, data_only=True
            )
            chosen = _choose(book.sheetnames, sheet, name)
            _check_order(book[chosen], f"Sheet {chosen!r} of {name}")
            rows = _filled_rows(book[chosen], f"Sheet {chosen!r} of {name}")
            book.close()
    except (UserInputError, MemoryError):
        raise
    # There is no end to what openpyxl raises when parts of a workbook are damaged.
    except Exception as error:
        raise UserInputError(
            f"{name} cannot be read as an Excel workbook: {reason(error)}. It is "
            "damaged or protected. Save it again as .xlsx without a password, or as "
            ".csv."
        ) from error
    notes = []
    if len(book.sheetnames) > 1:
        notes.append(f"sheet {chosen!r}, one of {len(book.sheetnames)}")
    frame, more = _frame(rows, f"Sheet {chosen!r} of {name}")
    return SheetTable(frame, chosen, (*notes, *more))


def _check_unpacked(content: bytes, name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_unpacked(sum(m.file_size for m in archive.infolist()), name, "excel")


def _check_order(sheet: Any, name: str) -> None:  # noqa: ANN401
    """Raise if rows or cells do not follow each other: openpyxl would drop some."""
    order = _Order(name)
    reader = expat.ParserCreate()
    reader.StartElementHandler, reader.EndElementHandler = order.begin, order.end
    with sheet.parent._archive.open(sheet._worksheet_path) as source:
        reader.ParseFile(source)


class _Order:
    """Watches the numbers of rows and the letters of columns go by."""

    def __init__(self, name: str) -> None:
        self.name, self.within = name, False
        self.row = self.column = 0

    def begin(self, tag: str, about: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "sheetData":
            self.within = True
        elif not self.within:
            return
        elif kind == "row":
            number = int(float(about.get("r", self.row + 1)))
            self._check(number > self.row, f"row {number}")
            self.row, self.column = number, 0
        elif kind == "c":
            place = about.get("r")
            number = self.column + 1 if place is None else _column_number(place)
            self._check(number > self.column, f"cell {place} in row {self.row}")
            self.column = number

    def end(self, tag: str) -> None:
        if tag.rpartition(":")[2] == "sheetData":
            self.within = False

    def _check(self, is_next: bool, what: str) -> None:  # noqa: FBT001
        if not is_next:
            raise UserInputError(
                f"{self.name} has {what} twice, or after a later one; part of it would "
                "be lost. Open it with the program that made it and save it again, or "
                "as .csv."
            )


def _column_number(place: str) -> int:
    """Return the column of a cell such as ``AB12``, from 1."""
    number = 0
    for letter in place.upper():
        if letter.isalpha():
            number = 26 * number + ord(letter) - 64
    return number


def _filled_rows(sheet: Any, name: str) -> list[list[Any]]:  # noqa: ANN401
    """Return the rows that hold something, each up to its last value."""
    # What a sheet says of its own size may be long out of date, or a lie.
    sheet.reset_dimensions()
    rows: list[list[Any]] = []
    width = n_filled = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MAX_ROWS:
            raise UserInputError(
                f"{name} has a row beyond {_MAX_ROWS:,}, where every Excel sheet ends. "
                "It is damaged. Save it again, or as .csv."
            )
        row = list(cells)
        while row and row[-1] is None:
            row.pop()
        if row:
            rows.append(row)
            n_filled += len(row) - row.count(None)
            if len(row) > width or len(rows) % _LOOKED_AT == 0:
                width = max(width, len(row))
                check_extent(len(rows), width, name, n_filled)
    check_extent(len(rows), width, name, n_filled)
    return rows


def excel_content(request: WriteRequest) -> bytes:
    """Return a workbook with one sheet of values."""
    openpyxl = load_openpyxl()
    frame = request.marked
    if len(frame) >= _MAX_ROWS or frame.shape[1] > _MAX_COLUMNS:
        raise UserInputError(
            f"{len(frame)} rows x {frame.shape[1]} columns are more than an Excel "
            "sheet holds. Write a .csv or .parquet file."
        )
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = (request.like.sheet if request.like is not None else None) or _SHEET
    header = [str(name) for name in frame.columns]
    columns = [_cells(frame.iloc[:, i]) for i in range(frame.shape[1])]
    try:
        for i, row in enumerate([header, *zip(*columns, strict=True)], start=1):
            for j, value in enumerate(row, start=1):
                _fill(sheet.cell(i, j), value)
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise UserInputError(
            "A cell holds a control character, which Excel cannot. Write a .csv or "
            ".parquet file."
        ) from error
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def _choose(names: Sequence[str], sheet: str | int | None, name: str) -> str:
    if sheet is None and names:
        return names[0]
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return names[sheet]
    if sheet in names:
        return str(sheet)
    raise UserInputError(
        f"{name} has no sheet {sheet!r}. It has: {', '.join(map(repr, names))}."
    )


def _frame(rows: list[list[Any]], name: str) -> tuple[pd.DataFrame, list[str]]:
    if len(rows) < 2:
        raise UserInputError(
            f"{name} has {'a header and no rows' if rows else 'no cells'}. Pass a "
            "sheet with a header line and rows under it."
        )
    width = max(len(row) for row in rows)
    header, *body = [row + [None] * (width - len(row)) for row in rows]
    used = [
        i
        for i in range(width)
        if header[i] is not None or any(r[i] is not None for r in body)
    ]
    names = [
        "Unnamed: " + str(i) if header[i] is None else str(header[i]).strip()
        for i in used
    ]
    check_names(names, name)
    columns = [
        column_of_values(n, [row[i] for row in body])
        for n, i in zip(names, used, strict=True)
    ]
    frame = pd.DataFrame(dict(enumerate(column.series for column in columns)))
    frame.columns = pd.Index(names)
    notes = [note for column in columns for note in column.notes]
    return frame, notes


def _cells(series: pd.Series) -> list[Any]:
    """Return a column as values that Excel knows."""
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        # Excel has no time zones.
        series = series.map(lambda time: time.isoformat(), na_action="ignore")
    cells = [None if pd.isna(value) else value for value in series]
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        seen = [cell.to_pydatetime(warn=False) for cell in cells if cell is not None]
        if all(time.time() == dt.time() for time in seen):
            return [None if cell is None else cell.date() for cell in cells]
        return [
            None if cell is None else cell.to_pydatetime(warn=False) for cell in cells
        ]
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]


def _fill(cell: Any, value: Any) -> None:  # noqa: ANN401
    known = (bool, int, float, dt.date, dt.datetime, type(None))
    if isinstance(value, known):
        cell.value = value
        return
    cell.value = str(value)
    cell.data_type = "s"  # also where the text looks like a formula
