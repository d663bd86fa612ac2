"""JSON records written: the real ones as they were, new ones after them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabtap.files.encodings import decode_text, encode_text
from tabtap.files.file_table import ColumnStyle, FileTable, Format
from tabtap.files.json_records import cut_json
from tabtap.files.order import Order
from tabtap.files.time_cells import format_times, plain_style


def json_content(order: Order, form: Format) -> bytes:
    """Return JSON lines, or one JSON list of records."""
    like = order.like
    if like is not None and like.format == form and order.keeps_all:
        return _continue(order, like, form)
    styles = () if like is None else like.styles
    n_real = order.n_real
    records = [
        *_records(order.frame.iloc[:n_real], styles, order.mark, 0),
        *_records(order.frame.iloc[n_real:], styles, order.mark, 1),
    ]
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    if form == "jsonl":
        return "".join(line + "\n" for line in lines).encode()
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def _continue(order: Order, like: FileTable, form: Format) -> bytes:
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
            order.frame.iloc[order.n_real :], like.styles, order.mark, 1
        )
    ]
    pieces, place = [], 0
    for record in old:
        pieces.append(text[place : record.end])
        place = record.end
        if order.mark is not None:
            pieces[-1] = _marked(pieces[-1], order.mark, separators)
    newline = "\r\n" if "\r\n" in text else "\n"
    joint = _joint(text, [(r.start, r.end) for r in old]) if listed else newline
    pieces += [joint + record for record in new]
    pieces.append(text[place:])
    return encode_text(
        "".join(pieces), decoded.encoding, byte_order_mark=decoded.byte_order_mark
    )


def _joint(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return what stands between two records of a list."""
    if len(places) < 2:
        return ", "
    return text[places[0][1] : places[1][0]]


def _marked(piece: str, mark: str, separators: tuple[str, str]) -> str:
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
