"""``read_table``: a user's file becomes a frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from tabtap.errors import UserInputError, bad_setting
from tabtap.files.arrow_files import arrow_frame, open_arrow
from tabtap.files.columns import READINGS
from tabtap.files.delimited import ALL, TextOptions, read_text
from tabtap.files.excel import read_excel
from tabtap.files.formats import TEXT, FileTable
from tabtap.files.json_records import read_json
from tabtap.files.opening import Source, large_note, open_source
from tabtap.files.spelling import is_date_format
from tabtap.files.texts import read_texts

ByColumn = str | Mapping[str, str]
"""One text for all columns, or a text for some of them."""


def read_table(  # noqa: PLR0913 - one call is the whole entrance
    source: str | Path,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: ByColumn | None = None,
    thousands: ByColumn | None = None,
    date_format: ByColumn | None = None,
    missing: Collection[str] | Mapping[str, Collection[str]] | None = None,
    reading: Mapping[str, str] | None = None,
) -> FileTable:
    r"""Read a file into a frame, and keep what is needed to write it back.

    Parameters
    ----------
    source : str or Path
        A file, or ``"-"`` for standard input.  The extension says the format: .csv
        .tsv .tab .txt .parquet .pq .feather .arrow .xlsx .jsonl .ndjson .json; text
        may be compressed, with .gz .bz2 .xz .zst or .zip after it.
    format : {"csv", "tsv", "parquet", "feather", "excel", "jsonl", "json"}, optional
        The format, where the name does not say it; standard input is CSV without it.
    sheet : str or int, optional
        The sheet of an Excel file, by name or counted from 0; the first without it.
    separator, encoding : str, optional
        Of delimited text, where what is found by itself is wrong.
    decimal : str or mapping of column to str, optional
        The decimal sign, ``"."`` or ``","``, of all columns or of some.
    thousands : str or mapping of column to str, optional
        The sign between thousands, ``"."`` or ``","``: another way to say the decimal
        sign, which is the other one.
    date_format : str or mapping of column to str, optional
        How dates are written, such as ``{"day": "%d/%m/%Y"}``; of ``%d %m %b %Y %y %H
        %M %S``.
    missing : collection of str, or mapping of column to such, optional
        Codes that stand for a missing value, such as ``{"age": ["999"]}``.
    reading : mapping of column to {"as written", "two numbers"}, optional
        Columns that are text whatever they look like, and those of two numbers.

    Returns
    -------
    FileTable
        The frame, how the file is written, notes on what was assumed, and questions:
        columns that can be read in several ways are text until one of them is named.

    Raises
    ------
    UserInputError
        If the file is not there, does not fit into memory, or is no table; the message
        says what is wrong with it and where.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trial.csv"
    >>> _ = path.write_text("dose;zip\n0,5;01067\n1,25;NA\n", encoding="utf-8")
    >>> table = read_table(path)
    >>> table.frame["dose"].tolist(), table.frame["zip"][0]
    ([0.5, 1.25], '01067')
    >>> table.notes[0]
    "separator ';' and decimal comma"
    """
    opened = open_source(source, format)
    options = text_options(decimal, thousands, date_format, missing, reading)
    options = options._replace(separator=separator, encoding=encoding)
    if sheet is not None and opened.format != "excel":
        raise UserInputError(
            f"sheet={sheet!r} was given, and {opened.name} is no Excel file. Leave it "
            "out."
        )
    table = _read(opened, options, sheet)
    if opened.format not in TEXT:
        table = _with_texts(table, options, opened.name)
    note = large_note(*table.frame.shape)
    return table if note is None else replace(table, notes=(*table.notes, note))


def _with_texts(table: FileTable, options: TextOptions, name: str) -> FileTable:
    """Return a table of a file with types in which texts are read as well."""
    told = read_texts(table.frame, options, name)
    if told.frame is table.frame:
        return table
    return replace(
        table,
        frame=told.frame,
        raw=table.frame,
        written=told.styles,
        notes=(*table.notes, *told.notes),
        questions=told.questions,
    )


def text_options(
    decimal: ByColumn | None,
    thousands: ByColumn | None,
    date_format: ByColumn | None,
    missing: Collection[str] | Mapping[str, Collection[str]] | None,
    reading: Mapping[str, str] | None,
) -> TextOptions:
    """Return what a user says of cells, or raise what cannot be meant."""
    options = TextOptions(
        decimal=_decimals(_by_column(decimal), _by_column(thousands)),
        date_format=_by_column(date_format),
        missing=missing if isinstance(missing, Mapping) else _all_columns(missing),
        reading=reading or {},
    )
    _check_options(options)
    return options


def _by_column(told: ByColumn | None) -> dict[str, str]:
    return {ALL: told} if isinstance(told, str) else dict(told or {})


def _all_columns(codes: Collection[str] | None) -> dict[str, Collection[str]]:
    if codes is None:
        return {}
    return {ALL: (codes,) if isinstance(codes, str) else codes}


def _decimals(decimal: dict[str, str], thousands: dict[str, str]) -> dict[str, str]:
    """Return the decimal signs; who names the sign between thousands names them too."""
    for sign in (*decimal.values(), *thousands.values()):
        if sign not in (".", ","):
            what = "decimal" if sign in decimal.values() else "thousands"
            raise bad_setting(what, sign, "be '.' or ','", "Try ','.")
    implied = {
        column: "," if sign == "." else "." for column, sign in thousands.items()
    }
    for column, sign in implied.items():
        if decimal.get(column, sign) != sign:
            must = "differ from the decimal sign"
            raise bad_setting("thousands", thousands[column], must, "Change one.")
    return {**implied, **decimal}


def _check_options(options: TextOptions) -> None:
    for form in options.date_format.values():
        if not is_date_format(form):
            must = "have day, month and year, of %d %m %b %Y %y %H %M %S"
            raise bad_setting("date_format", form, must, "Try '%d.%m.%Y'.")
    for word in options.reading.values():
        if word not in READINGS:
            must = f"be one of {', '.join(map(repr, READINGS))}"
            raise bad_setting("reading", word, must, "Leave it out.")


def _read(opened: Source, options: TextOptions, sheet: str | int | None) -> FileTable:
    content, name, path, form, compression = opened
    table = partial(FileTable, format=form, path=path, content=content)
    if form in TEXT:
        text = read_text(content, name, form, options)
        return table(
            frame=text.frame,
            notes=text.notes,
            dialect=text.dialect,
            compression=compression,
            styles=text.styles,
            questions=text.questions,
        )
    if form in ("jsonl", "json"):
        records = read_json(content, name, form)
        return table(
            frame=records.frame,
            notes=records.notes,
            compression=compression,
            styles=records.styles,
        )
    if form == "excel":
        book = read_excel(content, name, sheet)
        return table(frame=book.frame, notes=book.notes, sheet=book.sheet)
    frame, notes = arrow_frame(open_arrow(content, name, form), name)
    return table(frame=frame, notes=tuple(notes))
