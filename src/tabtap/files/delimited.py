"""Delimited text read and continued: separator, records, broken lines, new rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.cells import MISSING, format_column, is_number
from tabtap.files.columns import CellOptions, TextColumn, read_column, settle_columns
from tabtap.files.formats import (
    ColumnStyle,
    Dialect,
    FileTable,
    Format,
    Question,
    WriteRequest,
)
from tabtap.files.opening import (
    DecodedText,
    check_extent,
    decode_text,
    encode_text,
)
from tabtap.wording import counted

_LOOKED_AT = 200
"""Records whose quotes and spaces are looked at."""


ALL = "*"
"""Stands for every column, among what the caller says of columns."""


class TextOptions(NamedTuple):
    """What the caller knows better than the file shows."""

    separator: str | None = None
    encoding: str | None = None

    decimal: Mapping[str, str] = {}
    """By column, as the others below; ``*`` stands for all of them."""

    date_format: Mapping[str, str] = {}
    missing: Mapping[str, Collection[str]] = {}
    reading: Mapping[str, str] = {}

    def of(self, name: str, separator: str) -> CellOptions:
        """Return what is said of one column."""
        # With commas between the cells, a comma inside one is no decimal sign.
        both = (".",) if separator == "," else (".", ",")
        missing = {*self.missing.get(ALL, ()), *self.missing.get(name, ())}
        return CellOptions(
            decimals=both,
            decimal=self.decimal.get(name, self.decimal.get(ALL)),
            date_format=self.date_format.get(name),
            usual_format=self.date_format.get(ALL),
            missing=frozenset(missing),
            reading=self.reading.get(name, ""),
        )


class TextTable(NamedTuple):
    """A delimited text file read."""

    frame: pd.DataFrame
    dialect: Dialect
    styles: tuple[ColumnStyle, ...]
    notes: tuple[str, ...]
    questions: tuple[Question, ...] = ()


def read_text(
    content: bytes, name: str, form: Format, options: TextOptions
) -> TextTable:
    """Return the table of a delimited text file, or raise which lines are wrong."""
    decoded = decode_text(content, name, options.encoding)
    dialect, cut = _open(decoded, name, form, options.separator)
    _check_header(cut, name)
    check_lines(cut, dialect, name)
    _check_told(cut, options, name)
    columns = _read_columns(cut, dialect, options)
    columns = _with_quotes(columns, cut, dialect)
    if any(column.style.decimal == "," for column in columns):
        dialect = replace(dialect, decimal=",")
    series = [
        each
        for column in columns
        for each in (column.series, column.second)[: len(column.style.parts)]
    ]
    frame = pd.DataFrame(dict(enumerate(series)))
    frame.columns = pd.Index([part for c in columns for part in c.style.parts])
    return TextTable(
        frame,
        dialect,
        tuple(column.style for column in columns),
        tuple(_notes(dialect, cut, columns, form)),
        tuple(c.question for c in columns if c.question is not None),
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
    check_extent(len(cut.records), len(names), name)
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


def _check_told(cut: Records, options: TextOptions, name: str) -> None:
    """Raise if something is said of a column that is not there."""
    names = _names(cut)
    for told in options[2:]:
        for column in told or ():
            if column not in names and column != ALL:
                raise UserInputError(
                    f"{name} has no column {column!r}, of which it was said how to "
                    f"read it. It has: {', '.join(names[:12])}"
                    f"{', ...' * (len(names) > 12)}."
                )


def _read_columns(
    cut: Records, dialect: Dialect, options: TextOptions
) -> list[TextColumn]:
    columns = []
    header = cut.records[0].cells
    names = _names(cut)
    for i, name in enumerate(names):
        cells = [record.cells[i] for record in cut.records[1:]]
        told = options.of(name, dialect.separator)
        column = read_column(name, cells, told)
        if column.style.kind == "pair" and set(column.style.parts) & set(names):
            told = told._replace(reading="as written")
            column = read_column(name, cells, told)
        if not header[i].strip() and column.style.kind == "empty" and i:
            style = replace(column.style, kind="left out")
            column = column._replace(style=style)
        columns.append(column)
    return settle_columns(columns, dialect.separator)


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
        notes.append(f"separator {show_separator(dialect.separator)}{comma}")
    if dialect.n_lines_before:
        above = counted(dialect.n_lines_before, "line")
        notes.append(f"{above} above the header skipped")
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
    columns_with: dict[str, list[str]] = {}
    for column in columns:
        hole = column.series.isna().to_numpy(dtype=bool)
        cells = zip(column.cells, hole, strict=True)
        counts = Counter(cell for cell, missing in cells if missing and cell.strip())
        spellings.update(counts)
        for spelling in counts:
            columns_with.setdefault(spelling, []).append(column.style.name)
    for spelling, count in spellings.most_common(5):
        where = columns_with[spelling]
        columns_shown = ", ".join(map(repr, where[:3])) + (", ..." * (len(where) > 3))
        known = "" if spelling.strip() in MISSING else ", among numbers"
        notes.append(
            f"{spelling.strip()!r} read as missing{known}: {counted(count, 'cell')} of "
            f"{columns_shown}"
        )
    return notes


# ---- Delimited text cut into records, each with the lines it came from.
#
# The lines are kept beside the cells: what was a line of the input can be written again
# without going through any cell.


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
    """Cut lines into records without blank lines; an unclosed quote raises."""
    records: list[Record] = []
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
                records.append(Record(cells, start, end))
            start = end
    except csv.Error as error:
        noticed = before + reader.line_num
        raise _broken_quote(name, start + 1, noticed, error) from error
    return Records(lines, records, n_blank)


def is_blank(lines: Sequence[str]) -> bool:
    """Whether lines hold nothing but white space other than tabs."""
    # A line of tabs is a record of empty cells where tabs separate.
    return all(not line.strip(" \r\n") for line in lines)


def quoted_cells(record: Record, lines: list[str], dialect: Dialect) -> list[bool]:
    """Return which cells of a record stand in quotes."""
    raw = "".join(lines[record.first_line : record.end_line])
    flags: list[bool] = []
    index = 0
    for cell in record.cells:
        while dialect.skips_space and raw.startswith(" ", index):
            index += 1
        quoted = raw.startswith(dialect.quote, index)
        flags.append(quoted)
        doubled = cell.count(dialect.quote) + 2 if quoted else 0
        index += len(cell) + doubled + 1
    return flags


def join_cells(
    cells: Sequence[str], dialect: Dialect, quoted: Sequence[bool] = ()
) -> str:
    """Return cells as one line without its end, in quotes where that is needed."""
    always = quoted or [False] * len(cells)
    alone = len(cells) == 1
    written = [
        _write_cell(cell, dialect, always=flag or (alone and not cell))
        for cell, flag in zip(cells, always, strict=True)
    ]
    joint = dialect.separator + (" " if dialect.skips_space else "")
    return joint.join(written)


def _write_cell(cell: str, dialect: Dialect, *, always: bool) -> str:
    quote = dialect.quote
    signs = (dialect.separator, quote, "\r", "\n")
    spaced = dialect.skips_space and cell.startswith(" ")
    if always or spaced or any(sign in cell for sign in signs):
        return quote + cell.replace(quote, quote * 2) + quote
    return cell


def _broken_quote(
    name: str, first: int, noticed: int, error: csv.Error
) -> UserInputError:
    if "field larger" in str(error):
        return UserInputError(
            f"{name} has a cell of more than {csv.field_size_limit():,} characters: "
            f"a quote may be opened in line {first} and never closed, or the cell "
            "holds a whole document. Close the quote, or take out that column."
        )
    if "unexpected end" in str(error):
        return UserInputError(
            f"{name} has a quote that is opened in line {first} and never closed. "
            "Close it, or write it twice if it is part of the text."
        )
    there = "" if noticed == first else f", noticed in line {noticed}"
    return UserInputError(
        f"{name} has a quote in line {first} that is not closed before the next "
        f"separator{there}. Inside a quoted cell write each quote twice."
    )


# ---- Which sign separates the cells of a text file.
#
# Each candidate cuts the first lines; the one under which most records have as many
# cells as the header wins.  Counting signs would not do: text holds commas too.


CANDIDATES = ("\t", ";", "|", ",")
"""In the order in which they win where nothing tells them apart: nobody writes a tab
into a cell, while a comma is also a decimal sign."""

SHOWN = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'", " ": "a space"}
_SAMPLE_LINES = 400
_SEP_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
_SPACES = re.compile(r"\S+( +\S+)+ *[\r\n]*")


class _Cut(NamedTuple):
    """How well a candidate cuts: larger is better."""

    share: float
    n_cells: int
    rank: int
    separator: str


def choose_separator(
    lines: list[str], form: Format, name: str, wanted: str | None
) -> Dialect:
    """Return a dialect with the separator of some lines, and what stands above them."""
    n_comments = _count_comments(lines)
    if n_comments:
        found = choose_separator(lines[n_comments:], form, name, wanted)
        # A header may begin with that sign too.
        sizes = [count_cells(line, found.separator) for line in lines[n_comments - 1 :]]
        is_header = len(sizes) > 1 and sizes[0] == sizes[1] > 1
        before = n_comments - is_header + found.n_lines_before
        return replace(found, n_lines_before=before)
    match = _SEP_LINE.fullmatch(lines[0])
    if match is not None:
        return Dialect(separator=wanted or match[1], n_lines_before=1)
    if wanted is not None:
        return Dialect(separator=_check_separator(wanted))
    sample = [line for line in lines[:_SAMPLE_LINES] if not is_blank([line])]
    cuts = [_cut(sample, sign, rank) for rank, sign in enumerate(CANDIDATES[::-1])]
    best = max(cuts)
    if best.n_cells >= 2:
        return Dialect(separator=best.separator)
    if len(sample) > 1 and all(_SPACES.fullmatch(line) for line in sample[:20]):
        raise UserInputError(
            f"{name} seems to be separated by spaces, which may also stand inside a "
            "cell. Save it separated by commas, or say that the separator is a space."
        )
    return Dialect(separator="\t" if form == "tsv" else ",")


def _count_comments(lines: list[str]) -> int:
    """Return how many lines at the top begin with a number sign, if others follow."""
    n_comments = 0
    while n_comments < len(lines) and lines[n_comments].startswith("#"):
        n_comments += 1
    return n_comments if n_comments < len(lines) else 0


def show_separator(separator: str) -> str:
    """Return a separator as it is called in a sentence."""
    return SHOWN.get(separator, repr(separator))


def follows_space(rows: list[list[str]]) -> bool:
    """Whether a space follows each separator, so that it belongs to no cell."""
    later = [cell for row in rows for cell in row[1:] if cell]
    return bool(later) and all(cell.startswith(" ") for cell in later)


def count_cells(line: str, separator: str) -> int:
    """Return into how many cells a separator cuts one line."""
    try:
        return len(next(csv.reader([line], delimiter=separator), []))
    except csv.Error:
        return 0


def _check_separator(separator: str) -> str:
    if separator in ("\\t", "tab"):
        return "\t"
    if len(separator) != 1 or separator in '"\r\n':
        raise bad_setting(
            "separator", separator, "be one character and no quote", "Try ';'."
        )
    return separator


def _cut(sample: list[str], separator: str, rank: int) -> _Cut:
    try:
        counts = [len(cells) for cells in csv.reader(sample, delimiter=separator)]
    except csv.Error:
        counts = []
    if not counts or counts[0] < 2:
        return _Cut(0.0, 1, rank, separator)
    same = sum(count == counts[0] for count in counts) / len(counts)
    return _Cut(same, counts[0], rank, separator)


# ---- What to say of lines that do not fit their header: all of them, with the cause.


_N_SHOWN = 5


def check_lines(cut: Records, dialect: Dialect, name: str) -> None:
    """Raise if any record has another number of cells than the header."""
    header, *rows = cut.records
    expected = len(header.cells)
    broken = [row for row in rows if len(row.cells) != expected]
    if not broken:
        return
    listed = ", ".join(
        f"line {row.first_line + 1} has {len(row.cells)}" for row in broken[:_N_SHOWN]
    )
    more = f" and {len(broken) - _N_SHOWN} more" if len(broken) > _N_SHOWN else ""
    verb = "does" if len(broken) == 1 else "do"
    raise UserInputError(
        f"{name} has {counted(len(rows), 'line')} under its header, of which "
        f"{len(broken)} {verb} not fit it. The header has "
        f"{counted(expected, 'cell')} separated by "
        f"{show_separator(dialect.separator)}; {listed}{more}. "
        f"{_advice(cut, broken, dialect)}"
    )


def _advice(cut: Records, broken: Sequence[Record], dialect: Dialect) -> str:
    expected = len(cut.records[0].cells)
    others = {_other_separator(row, cut, expected, dialect) for row in broken}
    if expected > 1 and len(others) == 1 and None not in others:
        other = show_separator(str(others.pop()))
        return f"These lines are separated by {other}. Use one separator throughout."
    one_more = all(len(row.cells) == expected + 1 for row in broken)
    if one_more and len(broken) == len(cut.records) - 1:
        if all(not row.cells[-1].strip() for row in broken):
            return "Each line ends in a separator. Add one to the header, or remove it."
        return (
            "The first column seems to have no name, as in files written by R. Put a "
            "name for it at the start of the header."
        )
    sign = show_separator(dialect.separator)
    return (
        f"Mend these lines: a cell that holds {sign} must stand in quotes, and an "
        "empty cell still needs its separator."
    )


def _other_separator(
    row: Record, cut: Records, expected: int, dialect: Dialect
) -> str | None:
    line = cut.lines[row.first_line]
    for sign in CANDIDATES:
        if sign != dialect.separator and count_cells(line, sign) == expected:
            return sign
    return None


# ---- Delimited text written: the real lines as they were, new rows in the same style.


def text_content(request: WriteRequest, form: Format) -> bytes:
    """Return the content of a delimited text file."""
    like = request.like
    if like is None or like.dialect is None:
        dialect = Dialect(separator="\t" if form == "tsv" else ",")
        text = _write_anew(request, dialect, ())
        return encode_text(text, "utf-8", byte_order_mark=False)
    dialect = out_dialect(like.dialect, like.format, form)
    if request.places is None:
        text = _write_anew(request, dialect, like.styles)
    elif dialect.separator == like.dialect.separator:
        text = _append(request, like, dialect)
    else:
        text = _convert(request, like, dialect)
    return encode_text(text, dialect.encoding, byte_order_mark=dialect.byte_order_mark)


def out_dialect(dialect: Dialect, came_as: Format, form: Format) -> Dialect:
    """Return the dialect of the output: that of the input wherever its name allows."""
    has_tabs = dialect.separator == "\t"
    if form == came_as or (form == "tsv") == has_tabs:
        return dialect
    if form == "tsv":
        return replace(dialect, separator="\t")
    return replace(dialect, separator=";" if dialect.decimal == "," else ",")


def _append(request: WriteRequest, like: FileTable, dialect: Dialect) -> str:
    """Return the lines of the input, marked if wanted, and the new rows after them."""
    cut = _keep(open_records(like.content, dialect), request, dialect)
    lines = list(cut.lines)
    if request.mark is not None:
        _mark_lines(lines, cut, request.mark, dialect)
    rows = _new_rows(request, like.styles, dialect)
    end = cut.records[-1].end_line
    if rows:
        lines[end - 1] = _finish(lines[end - 1], dialect)
        # A file without an end to its last line keeps that.
        cut_short = not cut.lines[-1].endswith(("\r", "\n"))
        last = "" if cut_short and end == len(lines) else dialect.newline
        rows = [row + dialect.newline for row in rows[:-1]] + [rows[-1] + last]
    return "".join((*lines[:end], *rows, *lines[end:]))


def _keep(cut: Records, request: WriteRequest, dialect: Dialect) -> Records:
    """Return the records that are still real rows, with their lines alone."""
    if request.keeps_all or request.places is None:
        return cut
    header, *rows = cut.records
    lines = cut.lines[: header.end_line]
    records = [header]
    for row in (rows[place] for place in request.places):
        lines[-1] = _finish(lines[-1], dialect)  # the last line of a file may have none
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


def _finish(line: str, dialect: Dialect) -> str:
    return line if line.endswith(("\r", "\n")) else line + dialect.newline


def _convert(request: WriteRequest, like: FileTable, dialect: Dialect) -> str:
    """Return the cells of the input as they are, with another separator."""
    cut = _keep(open_records(like.content, like.dialect or dialect), request, dialect)
    lines = []
    for i, record in enumerate(cut.records):
        cells = list(record.cells)
        if request.mark is not None:
            cells.append("0" if i else request.mark)
        lines.append(join_cells(cells, dialect))
    lines += _new_rows(request, like.styles, dialect)
    return "".join(line + dialect.newline for line in lines)


def _write_anew(
    request: WriteRequest, dialect: Dialect, styles: Sequence[ColumnStyle]
) -> str:
    """Return a file of rows that no input file has."""
    names = [str(name) for name in request.frame.columns]
    known = {style.parts[0]: style for style in styles if set(style.parts) & set(names)}
    seconds = {style.parts[1] for style in known.values() if style.kind == "pair"}
    used = [
        known.get(name, ColumnStyle(name=name)) for name in names if name not in seconds
    ]
    titles = [style.name for style in used]
    header = [*titles, *([] if request.mark is None else [request.mark])]
    real = _rows(
        request.frame.iloc[: request.n_real], used, dialect, request.mark and "0"
    )
    lines = [join_cells(header, dialect), *real, *_new_rows(request, used, dialect)]
    return "".join(line + dialect.newline for line in lines)


def _new_rows(
    request: WriteRequest, styles: Sequence[ColumnStyle], dialect: Dialect
) -> list[str]:
    added = request.frame.iloc[request.n_real :]
    return _rows(added, styles, dialect, request.mark and "1")


def _rows(
    frame: pd.DataFrame,
    styles: Sequence[ColumnStyle],
    dialect: Dialect,
    mark: str | None,
) -> list[str]:
    columns = []
    index_of = {str(name): i for i, name in enumerate(frame.columns)}
    for style in styles:
        parts = [
            format_column(frame.iloc[:, index_of[part]], style) for part in style.parts
        ]
        columns.append(join_parts(parts, style) if parts else [""] * len(frame))
    quoted = [style.quoted for style in styles]
    if mark:
        columns.append([mark] * len(frame))
        quoted.append(all(quoted))
    rows = zip(*columns, strict=True)
    return [join_cells(row, dialect, _quote_flags(row, quoted)) for row in rows]


def join_parts(parts: Sequence[list[str]], style: ColumnStyle) -> list[str]:
    """Return the cells of a column; a pair with one number missing is missing."""
    if len(parts) == 1:
        return parts[0]
    missing = style.missing or ""
    return [
        missing if missing in pair else style.joint.join(pair)
        for pair in zip(*parts, strict=True)
    ]


def _quote_flags(row: Sequence[str], quoted: Sequence[bool]) -> list[bool]:
    """Return which cells to quote: an empty one is missing, and stands bare."""
    return [flag and cell != "" for cell, flag in zip(row, quoted, strict=True)]
