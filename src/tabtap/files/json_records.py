"""JSON lines, and JSON lists of records: flat objects read, and continued."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.errors import UserInputError
from tabtap.files.cells import ValueColumn, column_of_values, format_times, plain_style
from tabtap.files.formats import ColumnStyle, FileTable, Format, WriteRequest
from tabtap.files.opening import check_extent, decode_text, encode_text

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
    """Return the table of flat JSON records, one in each line or all in one list."""
    text = decode_text(content, name).text
    records = cut_json(text, name, form)
    _check_flat(records, text, name)
    names = list(dict.fromkeys(key for record in records for key in record.cells))
    n_filled = sum(len(record.cells) for record in records)
    check_extent(len(records), len(names), name, n_filled)
    _check_letters(records, text, name)
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
    index = _skip(text, 0)
    if not text.startswith("[", index):
        return _cut_unlisted(text, name)
    records: list[JsonRecord] = []
    index = _skip(text, index + 1)
    try:
        while not text.startswith("]", index):
            record = _cut_one(text, index)
            records.append(record)
            index = _skip(text, record.end)
            if text.startswith(",", index):
                index = _skip(text, index + 1)
            elif not text.startswith("]", index):
                raise ValueError("no ',' or ']' after it")
    except (ValueError, RecursionError) as error:
        raise _not_records(
            name, [f"record {len(records) + 1} ({_why(error)})"]
        ) from error
    return records


def _cut_one(text: str, index: int) -> JsonRecord:
    cells, end = _DECODER.raw_decode(text, index)
    if not isinstance(cells, dict):
        raise ValueError("no object")
    return JsonRecord(cells, index, end)


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


def _skip(text: str, index: int) -> int:
    while index < len(text) and text[index] in _SPACE:
        index += 1
    return index


def _why(error: Exception) -> str:
    """Return what is wrong without the place, which is said already."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    # Python itself speaks of a limit that its programmers can set.
    is_long = "integer string conversion" in str(error)
    return "a whole number of thousands of digits" if is_long else str(error)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r} twice")
    return cells


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def _check_flat(records: Sequence[JsonRecord], text: str, name: str) -> None:
    nested: dict[str, JsonRecord] = {}
    for record in records:
        for key, value in record.cells.items():
            if isinstance(value, (dict, list)):
                nested.setdefault(key, record)
    if nested:
        listed = ", ".join(
            f"{key!r} (line {_line(record, text)})"
            for key, record in list(nested.items())[:_N_SHOWN]
        )
        more = f" and {len(nested) - _N_SHOWN} more" if len(nested) > _N_SHOWN else ""
        raise UserInputError(
            f"{name} holds lists or objects inside cells: {listed}{more}. Give each "
            "part its own key, or drop these; pandas.json_normalize does it."
        )


def _check_letters(records: Sequence[JsonRecord], text: str, name: str) -> None:
    """Raise if an escape stands for half a character, which no file can hold."""
    if r"\ud" not in text.lower():
        return
    for record in records:
        for key, value in record.cells.items():
            try:
                (key + value if isinstance(value, str) else key).encode()
            except UnicodeEncodeError:
                raise UserInputError(
                    f"{name} holds half a character in line {_line(record, text)}: an "
                    "escape such as \\ud83d without its other half, under the key "
                    f"{key!a}. Write the file again as UTF-8, or mend that cell."
                ) from None


def _line(record: JsonRecord, text: str) -> int:
    return text.count("\n", 0, record.start) + 1


def _not_records(name: str, problems: Sequence[str]) -> UserInputError:
    listed = ", ".join(problems[:_N_SHOWN])
    more = f" and {len(problems) - _N_SHOWN} more" if len(problems) > _N_SHOWN else ""
    return UserInputError(f"{name} cannot be read as JSON: {listed}{more}. {_SHAPE}.")


# ---- JSON records written: the real ones as they were, new ones after them.


def json_content(request: WriteRequest, form: Format) -> bytes:
    """Return JSON lines, or one JSON list of records."""
    like = request.like
    if like is not None and like.format == form and request.keeps_all:
        return _continue(request, like, form)
    styles = () if like is None else like.styles
    n_real = request.n_real
    records = [
        *_records(request.frame.iloc[:n_real], styles, request.mark, 0),
        *_records(request.frame.iloc[n_real:], styles, request.mark, 1),
    ]
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    if form == "jsonl":
        return "".join(line + "\n" for line in lines).encode()
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def _continue(request: WriteRequest, like: FileTable, form: Format) -> bytes:
    decoded = decode_text(like.content, "the input")
    text = decoded.text
    old = cut_json(text, "the input", form)
    # JSON lines may also be called .json.
    listed = text.lstrip().startswith("[")
    first = text[old[0].start : old[0].end]
    separators = (
        ", " if '", "' in first or ', "' in first else ",",
        ": " if '": ' in first else ":",
    )
    plain = text.isascii()
    new = [
        json.dumps(record, ensure_ascii=plain, separators=separators)
        for record in _records(
            request.frame.iloc[request.n_real :], like.styles, request.mark, 1
        )
    ]
    pieces, index = [], 0
    for record in old:
        pieces.append(text[index : record.end])
        index = record.end
        if request.mark is not None:
            pieces[-1] = _mark_record(pieces[-1], request.mark, separators)
    newline = "\r\n" if "\r\n" in text else "\n"
    joint = _joint(text, [(r.start, r.end) for r in old]) if listed else newline
    pieces += [joint + record for record in new]
    pieces.append(text[index:])
    return encode_text(
        "".join(pieces), decoded.encoding, byte_order_mark=decoded.byte_order_mark
    )


def _joint(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return what stands between two records of a list."""
    if len(spans) < 2:
        return ", "
    return text[spans[0][1] : spans[1][0]]


def _mark_record(piece: str, mark: str, separators: tuple[str, str]) -> str:
    body = piece[: piece.rindex("}")].rstrip()
    tail = piece[len(body) :]
    joint = "" if body.endswith("{") else separators[0]
    return f"{body}{joint}{json.dumps(mark)}{separators[1]}0{tail}"


def _records(
    frame: pd.DataFrame, styles: Sequence[ColumnStyle], mark: str | None, flag: int
) -> list[dict[str, Any]]:
    known = {style.name: style for style in styles}
    names = [str(name) for name in frame.columns]
    records: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for i, name in enumerate(names):
        style = known.get(name, ColumnStyle(name=name))
        values = _values(frame.iloc[:, i], style)
        for record, value in zip(records, values, strict=True):
            if value is not None or style.missing is not None:
                record[name] = value
    if mark is not None:
        for record in records:
            record[mark] = flag
    return records


def _values(series: pd.Series, style: ColumnStyle) -> list[Any]:
    present = series.notna()
    if pd.api.types.is_datetime64_any_dtype(series.dtype) and present.any():
        seen = series[present]
        texts = format_times(seen, style.time or plain_style(seen))
        series = pd.Series(None, index=series.index, dtype=object)
        series[present] = texts
    cells = [None if pd.isna(value) else value for value in series]
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    known = (bool, int, float, str, type(None))
    return [cell if isinstance(cell, known) else str(cell) for cell in plain]
