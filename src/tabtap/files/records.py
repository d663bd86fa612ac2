"""Delimited text cut into records, each with the lines it came from.

The lines are kept beside the cells: what was a line of the input can be written again
without going through any cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple

from tabtap.errors import UserInputError
from tabtap.files.file_table import Dialect


class Record(NamedTuple):
    """One record: its cells, and its place among the lines, counted from 0."""

    cells: list[str]
    first_line: int
    end_line: int


class Records(NamedTuple):
    """The records of a text file; the first is the header."""

    lines: list[str]
    """With their ends, so that together they are the whole text."""

    records: list[Record]
    n_blank: int


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its end as it was."""
    return list(io.StringIO(text, newline=""))


def cut_records(lines: list[str], dialect: Dialect, name: str) -> Records:
    """Cut lines into records, leaving blank lines out.

    Raises
    ------
    UserInputError
        If a quote is not closed, or is followed by what it should not be.
    """
    found: list[Record] = []
    n_blank = 0
    start = before = dialect.n_lines_before
    reader = csv.reader(
        lines[before:],
        delimiter=dialect.separator,
        quotechar=dialect.quote,
        skipinitialspace=dialect.skips_space,
        strict=True,
    )
    try:
        for cells in reader:
            end = before + reader.line_num
            if is_blank(lines[start:end]):
                n_blank += 1
            else:
                found.append(Record(cells, start, end))
            start = end
    except csv.Error as error:
        noticed = before + reader.line_num
        raise _broken_quote(name, start + 1, noticed, error) from error
    return Records(lines, found, n_blank)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in ``1 line`` and ``2 lines``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_blank(lines: Sequence[str]) -> bool:
    """Whether lines hold nothing but white space other than tabs."""
    # A line of tabs is a record of empty cells where tabs separate.
    return all(not line.strip(" \r\n") for line in lines)


def quoted_cells(record: Record, lines: list[str], dialect: Dialect) -> list[bool]:
    """Return which cells of a record stand in quotes."""
    raw = "".join(lines[record.first_line : record.end_line])
    flags: list[bool] = []
    place = 0
    for cell in record.cells:
        while dialect.skips_space and raw.startswith(" ", place):
            place += 1
        quoted = raw.startswith(dialect.quote, place)
        flags.append(quoted)
        doubled = cell.count(dialect.quote) + 2 if quoted else 0
        place += len(cell) + doubled + 1
    return flags


def join_cells(
    cells: Sequence[str], dialect: Dialect, quoted: Sequence[bool] = ()
) -> str:
    """Return cells as one line without its end, in quotes where that is needed."""
    always = quoted or [False] * len(cells)
    alone = len(cells) == 1
    written = [
        _written(cell, dialect, always=flag or (alone and not cell))
        for cell, flag in zip(cells, always, strict=True)
    ]
    joint = dialect.separator + (" " if dialect.skips_space else "")
    return joint.join(written)


def _written(cell: str, dialect: Dialect, *, always: bool) -> str:
    quote = dialect.quote
    signs = (dialect.separator, quote, "\r", "\n")
    spaced = dialect.skips_space and cell.startswith(" ")
    if always or spaced or any(sign in cell for sign in signs):
        return quote + cell.replace(quote, quote * 2) + quote
    return cell


def _broken_quote(
    name: str, first: int, noticed: int, error: csv.Error
) -> UserInputError:
    if "unexpected end" in str(error) or "field larger" in str(error):
        return UserInputError(
            f"{name} has a quote that is opened in line {first} and never closed. "
            "Close it, or write it twice if it is part of the text."
        )
    there = "" if noticed == first else f", noticed in line {noticed}"
    return UserInputError(
        f"{name} has a quote in line {first} that is not closed before the next "
        f"separator{there}. Inside a quoted cell write each quote twice."
    )
