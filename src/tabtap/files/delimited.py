"""Delimited text read: encoding, separator, records, and then the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.broken_lines import check_lines
from tabtap.files.columns import (
    MISSING,
    TextColumn,
    read_column,
    settle_decimals,
)
from tabtap.files.encodings import DecodedText, decode_text
from tabtap.files.file_table import ColumnStyle, Dialect, Format
from tabtap.files.number_cells import is_number
from tabtap.files.records import (
    Records,
    counted,
    cut_records,
    quoted_cells,
    split_lines,
)
from tabtap.files.separators import choose_separator, follows_space, shown_separator

_LOOKED_AT = 200
"""Records whose quotes and spaces are looked at."""


class TextOptions(NamedTuple):
    """What the caller knows better than the file shows."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None


class TextTable(NamedTuple):
    """A delimited text file read."""

    frame: pd.DataFrame
    dialect: Dialect
    styles: tuple[ColumnStyle, ...]
    notes: tuple[str, ...]


def read_text(
    content: bytes, name: str, form: Format, options: TextOptions
) -> TextTable:
    """Return the table of a delimited text file.

    Raises
    ------
    UserInputError
        If it is no such file, with the lines that are wrong.
    """
    if options.decimal not in (None, ".", ","):
        raise bad_setting("decimal", options.decimal, "be '.' or ','", "Try ','.")
    decoded = decode_text(content, name, options.encoding)
    dialect, cut = _open(decoded, name, form, options.separator)
    _check_header(cut, name)
    check_lines(cut, dialect, name)
    columns = _read_columns(cut, dialect, options.decimal)
    columns = _with_quotes(columns, cut, dialect)
    if any(column.style.decimal == "," for column in columns):
        dialect = replace(dialect, decimal=",")
    kept = [column for column in columns if column.style.kind != "left out"]
    frame = pd.DataFrame(dict(enumerate(column.series for column in kept)))
    frame.columns = pd.Index([column.style.name for column in kept])
    return TextTable(
        frame,
        dialect,
        tuple(column.style for column in columns),
        tuple(_notes(dialect, cut, columns, form)),
    )


def open_records(content: bytes, dialect: Dialect) -> Records:
    """Return the records of a file that was read before, in the dialect it has."""
    decoded = decode_text(content, "the input", dialect.encoding)
    return cut_records(split_lines(decoded.text), dialect, "the input")


def _open(
    decoded: DecodedText, name: str, form: Format, separator: str | None
) -> tuple[Dialect, Records]:
    lines = split_lines(decoded.text)
    dialect = replace(
        choose_separator(lines, form, name, separator),
        encoding=decoded.encoding,
        byte_order_mark=decoded.byte_order_mark,
        newline=_newline(lines),
    )
    cut = cut_records(lines, dialect, name)
    if follows_space([record.cells for record in cut.records[:_LOOKED_AT]]):
        dialect = replace(dialect, skips_space=True)
        cut = cut_records(lines, dialect, name)
    return dialect, cut


def _newline(lines: list[str]) -> str:
    for end in ("\r\n", "\n", "\r"):
        if lines[0].endswith(end):
            return end
    return "\n"


def _check_header(cut: Records, name: str) -> None:
    if not cut.records:
        raise UserInputError(
            f"{name} holds blank lines only. Pass a file with a header line and rows "
            "under it."
        )
    names = _names(cut)
    if len(cut.records) == 1:
        raise UserInputError(
            f"{name} has a header of {counted(len(names), 'cell')} and no rows. Pass "
            "a file with rows under the header."
        )
    twice = [repr(column) for column, count in Counter(names).items() if count > 1]
    if twice:
        raise UserInputError(
            f"{name} has columns of the same name: {', '.join(twice[:5])}. Give each "
            f"its own name in line {cut.records[0].first_line + 1}"
            f"{', which must hold names' if _is_row(cut) else ''}."
        )


def _names(cut: Records) -> list[str]:
    header = cut.records[0].cells
    return [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(header)]


def _is_row(cut: Records) -> bool:
    """Whether the header looks like a row: most of its cells are numbers."""
    header = [cell.strip() for cell in cut.records[0].cells]
    numbers = sum(is_number(cell, (".", ",")) for cell in header)
    return 2 * numbers > len(header)


def _read_columns(
    cut: Records, dialect: Dialect, decimal: str | None
) -> list[TextColumn]:
    # With commas between the cells, a comma inside one is no decimal sign.
    both = (".",) if dialect.separator == "," else (".", ",")
    decimals = both if decimal is None else (decimal,)
    columns = []
    header = cut.records[0].cells
    for i, name in enumerate(_names(cut)):
        cells = [record.cells[i] for record in cut.records[1:]]
        column = read_column(name, cells, decimals)
        if not header[i].strip() and column.style.kind == "empty" and i:
            style = replace(column.style, kind="left out")
            column = column._replace(style=style)
        columns.append(column)
    return settle_decimals(columns)


def _with_quotes(
    columns: list[TextColumn], cut: Records, dialect: Dialect
) -> list[TextColumn]:
    rows = cut.records[1 : 1 + _LOOKED_AT]
    flags = [quoted_cells(row, cut.lines, dialect) for row in rows]
    quoted = []
    for i, column in enumerate(columns):
        filled = [
            flag[i] for flag, row in zip(flags, rows, strict=True) if row.cells[i]
        ]
        style = replace(column.style, quoted=bool(filled) and all(filled))
        quoted.append(column._replace(style=style))
    return quoted


def _notes(
    dialect: Dialect, cut: Records, columns: Sequence[TextColumn], form: Format
) -> list[str]:
    notes = []
    if dialect.encoding != "utf-8":
        notes.append(f"read as {dialect.encoding}")
    usual = "\t" if form == "tsv" else ","
    comma = " and decimal comma" if dialect.decimal == "," else ""
    if dialect.separator != usual or comma:
        notes.append(f"separator {shown_separator(dialect.separator)}{comma}")
    if dialect.n_lines_before:
        notes.append("the line above the header names the separator and was skipped")
    if cut.n_blank:
        notes.append(f"{counted(cut.n_blank, 'blank line')} skipped")
    if not cut.records[0].cells[0].strip():
        notes.append("first column is an unnamed index, called 'Unnamed: 0' here")
    left_out = sum(column.style.kind == "left out" for column in columns)
    if left_out:
        notes.append(f"{counted(left_out, 'column')} without name and values left out")
    if _is_row(cut):
        notes.append("the first line is taken for names, although it looks like a row")
    notes += [note for column in columns for note in column.notes]
    return notes + _missing_notes(columns)


def _missing_notes(columns: Sequence[TextColumn]) -> list[str]:
    notes = []
    spellings: Counter[str] = Counter()
    places: dict[str, list[str]] = {}
    for column in columns:
        hole = column.series.isna().to_numpy(dtype=bool)
        cells = zip(column.cells, hole, strict=True)
        counts = Counter(cell for cell, missing in cells if missing and cell.strip())
        spellings.update(counts)
        for spelling in counts:
            places.setdefault(spelling, []).append(column.style.name)
    for spelling, count in spellings.most_common(5):
        where = places[spelling]
        columns_shown = ", ".join(map(repr, where[:3])) + (", ..." * (len(where) > 3))
        known = "" if spelling.strip() in MISSING else ", among numbers"
        notes.append(
            f"{spelling.strip()!r} read as missing{known}: {counted(count, 'cell')} of "
            f"{columns_shown}"
        )
    return notes
