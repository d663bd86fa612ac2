"""JSON lines, and JSON lists of records: flat objects read, and continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from tabtap.errors import UserInputError
from tabtap.files.encodings import decode_text
from tabtap.files.file_table import ColumnStyle, Format
from tabtap.files.values import ValueColumn, column_of_values

_N_SHOWN = 5
_SPACE = " \t\r\n"
_SHAPE = 'One object per row is wanted, such as {"age": 31, "sick": "no"}'


class JsonRecord(NamedTuple):
    """One object, and where its text begins and ends."""

    cells: dict[str, Any]
    start: int
    end: int


class JsonTable(NamedTuple):
    """A file of JSON records read."""

    frame: pd.DataFrame
    styles: tuple[ColumnStyle, ...]
    notes: tuple[str, ...]


def read_json(content: bytes, name: str, form: Format) -> JsonTable:
    """Return the table of JSON lines, or of one JSON list of records.

    Raises
    ------
    UserInputError
        If it is not JSON, or not one flat object per row.
    """
    text = decode_text(content, name).text
    records = cut_json(text, name, form)
    _check_flat(records, text, name)
    names = list(dict.fromkeys(key for record in records for key in record.cells))
    columns = [_column(key, records) for key in names]
    frame = pd.DataFrame(dict(enumerate(column.series for column in columns)))
    frame.columns = pd.Index(names)
    return JsonTable(
        frame,
        tuple(column.style for column in columns),
        tuple(note for column in columns for note in column.notes),
    )


def cut_json(text: str, name: str, form: Format) -> list[JsonRecord]:
    """Return the records of a text, each with its place in it."""
    records = _cut_list(text, name) if form == "json" else _cut_lines(text, name)
    if not records or not any(record.cells for record in records):
        raise UserInputError(f"{name} holds no records. {_SHAPE}.")
    return records


def _column(key: str, records: Sequence[JsonRecord]) -> ValueColumn:
    column = column_of_values(key, [record.cells.get(key) for record in records])
    n_absent = sum(key not in record.cells for record in records)
    n_null = sum(record.cells.get(key, 0) is None for record in records)
    # A missing value of a new row is written as most of the old ones are.
    missing = None if n_absent > n_null else ""
    return column._replace(style=replace(column.style, missing=missing))


def _cut_lines(text: str, name: str) -> list[JsonRecord]:
    records, problems = [], []
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                cells = json.loads(line, object_pairs_hook=_pairs)
            except (ValueError, RecursionError) as error:
                problems.append(f"line {number} ({_why(error)})")
            else:
                if not isinstance(cells, dict):
                    problems.append(f"line {number} (no object)")
                else:
                    lead = len(line) - len(line.lstrip())
                    body = line.strip()
                    first = start + lead
                    records.append(JsonRecord(cells, first, first + len(body)))
        start += len(line) + 1
    if problems:
        raise _not_records(name, problems)
    return records


def _cut_list(text: str, name: str) -> list[JsonRecord]:
    place = _skip(text, 0)
    if not text.startswith("[", place):
        return _cut_unlisted(text, name)
    records: list[JsonRecord] = []
    place = _skip(text, place + 1)
    try:
        while not text.startswith("]", place):
            record = _cut_one(text, place)
            records.append(record)
            place = _skip(text, record.end)
            if text.startswith(",", place):
                place = _skip(text, place + 1)
            elif not text.startswith("]", place):
                raise ValueError("no ',' or ']' after it")
    except (ValueError, RecursionError) as error:
        raise _not_records(
            name, [f"record {len(records) + 1} ({_why(error)})"]
        ) from error
    return records


def _cut_one(text: str, place: int) -> JsonRecord:
    decoder = json.JSONDecoder(object_pairs_hook=_pairs)
    cells, end = decoder.raw_decode(text, place)
    if not isinstance(cells, dict):
        raise ValueError("no object")
    return JsonRecord(cells, place, end)


def _cut_unlisted(text: str, name: str) -> list[JsonRecord]:
    """Return JSON lines that are called .json, or raise what is wanted."""
    try:
        records = _cut_lines(text, name)
    except UserInputError:
        records = []
    if len(records) < 2:
        raise UserInputError(
            f"{name} is not a list of records. {_SHAPE}, in a list; pandas writes it "
            "with frame.to_json(path, orient='records')."
        )
    return records


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _why(error: Exception) -> str:
    """Return what is wrong without the place, which is said already."""
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} twice")
    return found


def _check_flat(records: Sequence[JsonRecord], text: str, name: str) -> None:
    nested: dict[str, int] = {}
    for record in records:
        for key, value in record.cells.items():
            if isinstance(value, (dict, list)):
                nested.setdefault(key, text.count("\n", 0, record.start) + 1)
    if nested:
        listed = ", ".join(f"{key!r} (line {line})" for key, line in nested.items())
        raise UserInputError(
            f"{name} holds lists or objects inside cells: {listed}. Give each part its "
            "own key, or drop these; pandas.json_normalize does it."
        )


def _not_records(name: str, problems: Sequence[str]) -> UserInputError:
    listed = ", ".join(problems[:_N_SHOWN])
    more = f" and {len(problems) - _N_SHOWN} more" if len(problems) > _N_SHOWN else ""
    return UserInputError(f"{name} cannot be read as JSON: {listed}{more}. {_SHAPE}.")
