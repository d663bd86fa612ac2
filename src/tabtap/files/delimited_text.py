"""Delimited text written: the real lines as they were, new rows in the same style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from tabtap.files.cells_out import format_column
from tabtap.files.delimited import open_records
from tabtap.files.encodings import encode_text
from tabtap.files.file_table import ColumnStyle, Dialect, FileTable, Format
from tabtap.files.order import Order
from tabtap.files.records import Records, join_cells, quoted_cells


def text_content(order: Order, form: Format) -> bytes:
    """Return the content of a delimited text file."""
    like = order.like
    if like is None or like.dialect is None:
        dialect = Dialect(separator="\t" if form == "tsv" else ",")
        text = _write_anew(order, dialect, ())
        return encode_text(text, "utf-8", byte_order_mark=False)
    dialect = out_dialect(like.dialect, like.format, form)
    if order.places is None:
        text = _write_anew(order, dialect, like.styles)
    elif dialect.separator == like.dialect.separator:
        text = _append(order, like, dialect)
    else:
        text = _convert(order, like, dialect)
    return encode_text(text, dialect.encoding, byte_order_mark=dialect.byte_order_mark)


def out_dialect(dialect: Dialect, came_as: Format, form: Format) -> Dialect:
    """Return the dialect of the output: that of the input wherever its name allows."""
    has_tabs = dialect.separator == "\t"
    if form == came_as or (form == "tsv") == has_tabs:
        return dialect
    if form == "tsv":
        return replace(dialect, separator="\t")
    return replace(dialect, separator=";" if dialect.decimal == "," else ",")


def _append(order: Order, like: FileTable, dialect: Dialect) -> str:
    """Return the lines of the input, marked if wanted, and the new rows after them."""
    cut = _kept(open_records(like.content, dialect), order, dialect)
    lines = list(cut.lines)
    if order.mark is not None:
        _mark_lines(lines, cut, order.mark, dialect)
    rows = _new_rows(order, like.styles, dialect)
    end = cut.records[-1].end_line
    if rows:
        lines[end - 1] = _ended(lines[end - 1], dialect)
        # A file without an end to its last line keeps that.
        cut_short = not cut.lines[-1].endswith(("\r", "\n"))
        last = "" if cut_short and end == len(lines) else dialect.newline
        rows = [row + dialect.newline for row in rows[:-1]] + [rows[-1] + last]
    return "".join((*lines[:end], *rows, *lines[end:]))


def _kept(cut: Records, order: Order, dialect: Dialect) -> Records:
    """Return the records that are still real rows, with their lines alone."""
    if order.keeps_all or order.places is None:
        return cut
    header, *rows = cut.records
    lines = cut.lines[: header.end_line]
    records = [header]
    for row in (rows[place] for place in order.places):
        lines[-1] = _ended(lines[-1], dialect)  # the last line of a file may have none
        first = len(lines)
        lines += cut.lines[row.first_line : row.end_line]
        records.append(row._replace(first_line=first, end_line=len(lines)))
    return Records(lines, records, 0)


def _mark_lines(lines: list[str], cut: Records, mark: str, dialect: Dialect) -> None:
    header, *rows = cut.records
    joint = dialect.separator + (" " if dialect.skips_space else "")
    for record, cell in [(header, mark), *((row, "0") for row in rows)]:
        quoted = all(quoted_cells(record, cut.lines, dialect))
        written = join_cells([cell], dialect, [quoted])
        line = lines[record.end_line - 1]
        body = line.rstrip("\r\n")
        lines[record.end_line - 1] = body + joint + written + line[len(body) :]


def _ended(line: str, dialect: Dialect) -> str:
    return line if line.endswith(("\r", "\n")) else line + dialect.newline


def _convert(order: Order, like: FileTable, dialect: Dialect) -> str:
    """Return the cells of the input as they are, with another separator."""
    cut = _kept(open_records(like.content, like.dialect or dialect), order, dialect)
    lines = []
    for i, record in enumerate(cut.records):
        cells = list(record.cells)
        if order.mark is not None:
            cells.append("0" if i else order.mark)
        lines.append(join_cells(cells, dialect))
    lines += _new_rows(order, like.styles, dialect)
    return "".join(line + dialect.newline for line in lines)


def _write_anew(order: Order, dialect: Dialect, styles: Sequence[ColumnStyle]) -> str:
    """Return a file of rows that no input file has."""
    names = [str(name) for name in order.frame.columns]
    known = {style.name: style for style in styles}
    used = [known.get(name, ColumnStyle(name=name)) for name in names]
    header = [*names, *([] if order.mark is None else [order.mark])]
    real = _rows(order.frame.iloc[: order.n_real], used, dialect, order.mark and "0")
    lines = [join_cells(header, dialect), *real, *_new_rows(order, used, dialect)]
    return "".join(line + dialect.newline for line in lines)


def _new_rows(
    order: Order, styles: Sequence[ColumnStyle], dialect: Dialect
) -> list[str]:
    added = order.frame.iloc[order.n_real :]
    return _rows(added, styles, dialect, order.mark and "1")


def _rows(
    frame: pd.DataFrame,
    styles: Sequence[ColumnStyle],
    dialect: Dialect,
    mark: str | None,
) -> list[str]:
    columns = []
    places = {str(name): i for i, name in enumerate(frame.columns)}
    for style in styles:
        if style.kind == "left out":
            columns.append([""] * len(frame))
        else:
            columns.append(format_column(frame.iloc[:, places[style.name]], style))
    quoted = [style.quoted for style in styles]
    if mark:
        columns.append([mark] * len(frame))
        quoted.append(all(quoted))
    rows = zip(*columns, strict=True)
    return [join_cells(row, dialect, _filled(row, quoted)) for row in rows]


def _filled(row: Sequence[str], quoted: Sequence[bool]) -> list[bool]:
    """Return which cells to quote: an empty one is missing, and stands bare."""
    return [flag and cell != "" for cell, flag in zip(row, quoted, strict=True)]
