"""``read_table``: a user's file becomes a frame."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tabtap.errors import UserInputError
from tabtap.files.arrow_files import arrow_frame, open_arrow
from tabtap.files.delimited import TextOptions, read_text
from tabtap.files.excel import read_excel
from tabtap.files.formats import TEXT, FileTable
from tabtap.files.json_records import read_json
from tabtap.files.opening import Source, large_note, open_source


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
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
    separator, encoding, decimal : str, optional
        Of delimited text, where what is found by itself is wrong.

    Returns
    -------
    FileTable
        The frame, how the file is written, and notes on what was assumed.

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
    options = TextOptions(separator, encoding, decimal)
    if sheet is not None and opened.format != "excel":
        raise UserInputError(
            f"sheet={sheet!r} was given, and {opened.name} is no Excel file. Leave it "
            "out."
        )
    table = _read(opened, options, sheet)
    note = large_note(*table.frame.shape)
    return table if note is None else replace(table, notes=(*table.notes, note))


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
