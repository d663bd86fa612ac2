"""Numbers, times and values as cells: read into columns of a frame, and written again.

A column is a number only if every cell is one; a code such as 007 stays a code.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.files.formats import ColumnStyle, TimeStyle
from tabtap.files.spelling import read_dates, write_date, write_number

MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
     "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
"""What pandas takes for a missing value, in any column."""

UNUSUAL = frozenset(
    ["?", ".", "-", "--", "*", "na", "Na", "NAN", "n.a.", "N.A.", "missing", "Missing",
     "n. a.", "n.d.", "N.D.", "n/d", "N/D", "nd", "ND", "k.A.", "k. A.", "k.a.",
     "keine Angabe", "unknown", "Unknown", "unbekannt", "inconnu", "\u2013", "\u2014",
     "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"]
)  # fmt: skip
"""What is taken for a missing value only among numbers or times."""


# ---- Numbers written as text: which cells are numbers, and how they are written.
#
# Zero-padded digits are a code and stay text; so do numbers with thousands separators,
# and whole numbers beyond 64 bits, which no number type here could hold exactly.


_SIGNS = {".": r"\.", ",": ","}
_NUMBERS = {
    sign: re.compile(
        rf"[+-]?(?:(?:[0-9]+(?:{dot}[0-9]*)?|{dot}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        r"|(?i:inf|infinity))"
    )
    for sign, dot in _SIGNS.items()
}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = len(str(-(2**64)))
_FIXED = re.compile(r"[+-]?[0-9]+\.[0-9]+").fullmatch
_PADDED = re.compile(r"[+-]?0[0-9]")
_GROUPED = {
    sign: re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:{dot}[0-9]{{3}})+")
    for sign, dot in _SIGNS.items()
}
_GROUPED_ANYHOW = re.compile(
    r"[+-]?[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:\.[0-9]{3})+(?:,[0-9]+)?)"
)


class NumberColumn(NamedTuple):
    """Numbers read, holes apart, and the style they are written in."""

    values: Any
    style: ColumnStyle


def read_numbers(
    name: str, cells: Sequence[str], decimals: Sequence[str]
) -> NumberColumn | None:
    """Return cells as numbers, or None if they are not all numbers.

    ``decimals`` are the decimal signs to try, in this order.
    """
    if any(_PADDED.match(cell) for cell in cells):
        return None
    if all(map(_WHOLE.fullmatch, cells)):
        return _read_whole(name, cells)
    for sign in decimals:
        if all(map(_NUMBERS[sign].fullmatch, cells)):
            return _read_floats(name, cells, sign)
    return None


def is_number(cell: str, decimals: Sequence[str]) -> bool:
    """Whether one cell is a number with one of some decimal signs."""
    return any(_NUMBERS[sign].fullmatch(cell) for sign in decimals)


def are_padded(cells: Sequence[str]) -> bool:
    """Whether cells are digits, some of them with zeros in front."""
    return all(map(_WHOLE.fullmatch, cells)) and any(map(_PADDED.match, cells))


def are_grouped(cells: Sequence[str]) -> bool:
    """Whether cells are numbers, some of them with thousands separators."""
    grouped = [bool(_GROUPED_ANYHOW.fullmatch(cell)) for cell in cells]
    return any(grouped) and all(
        group or is_number(cell, (".", ","))
        for cell, group in zip(cells, grouped, strict=True)
    )


def may_be_grouped(cells: Sequence[str], decimal: str) -> bool:
    """Whether each decimal sign could as well be a thousands separator."""
    signed = [cell for cell in cells if decimal in cell]
    return bool(signed) and all(map(_GROUPED[decimal].fullmatch, signed))


def format_number(value: float, style: ColumnStyle) -> str:
    """Return a number as its column writes numbers; it reads back as the same."""
    text = repr(float(value))
    if style.n_decimals is not None:
        fixed = f"{value:.{style.n_decimals}f}"
        if float(fixed) == value:
            text = fixed
    elif style.whole and text.endswith(".0"):
        text = text[:-2]
    if style.spelling is not None:
        return write_number(text, style.decimal, style.spelling)
    return text.replace(".", style.decimal)


def with_holes(values: Any, present: Any) -> pd.Series:  # noqa: ANN401 - numpy arrays
    """Return numbers as a column with holes where ``present`` is False.

    Whole numbers stay whole: with holes they get the nullable dtype of their width.
    """
    if present.all():
        return pd.Series(values)
    if values.dtype.kind == "f":
        full = np.full(len(present), np.nan)
        full[present] = values
        return pd.Series(full)
    spread = np.zeros(len(present), dtype=values.dtype)
    spread[present] = values
    if values.dtype == bool:
        return pd.Series(pd.arrays.BooleanArray(spread, ~present))
    return pd.Series(pd.arrays.IntegerArray(spread, ~present))


def spread_times(times: Any, present: Any) -> pd.Series:  # noqa: ANN401
    """Return times as a column with holes where ``present`` is False."""
    full = pd.Series(pd.NaT, index=range(len(present)), dtype=times.dtype)
    full[present] = times
    return full


def _read_whole(name: str, cells: Sequence[str]) -> NumberColumn | None:
    if max(map(len, cells)) > _MOST_DIGITS:
        return None
    values = [int(cell) for cell in cells]
    style = ColumnStyle(name=name, kind="integer")
    for dtype in (np.int64, np.uint64):
        try:
            return NumberColumn(np.array(values, dtype=dtype), style)
        except OverflowError:
            continue
    return None


def _read_floats(name: str, cells: Sequence[str], sign: str) -> NumberColumn:
    plain = [cell.replace(sign, ".") for cell in cells]
    style = ColumnStyle(
        name=name,
        kind="float",
        decimal=sign,
        n_decimals=_decimals(plain),
        whole=any(map(_WHOLE.fullmatch, plain)),
    )
    return NumberColumn(np.array([float(cell) for cell in plain]), style)


def _decimals(cells: Sequence[str]) -> int | None:
    places = len(cells[0]) - 1 - cells[0].find(".")
    same = all(
        "." in cell and len(cell) - 1 - cell.find(".") == places and _FIXED(cell)
        for cell in cells
    )
    return places if same and places else None


# ---- Dates and times written as text, year first: read, and written the same way.
#
# A column counts as times only if writing it gives back every cell letter by letter.
# So nothing is guessed: 03/04/2020 stays text, for nobody can tell which it is.


_TIME = re.compile(
    r"(?P<year>[0-9]{4})(?P<sign>[-/.])(?P<month>[0-9]{1,2})(?P=sign)(?P<day>[0-9]{1,2})"
    r"(?:(?P<joint>[ T])(?P<clock>[0-9]{2}:[0-9]{2})"
    r"(?P<second>:[0-9]{2}(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)


def read_times(cells: Sequence[str]) -> tuple[Any, TimeStyle] | None:
    """Return cells as a pandas DatetimeIndex and their style, or None.

    Times with a zone are read as UTC.
    """
    first = _TIME.fullmatch(cells[0])
    if first is None:
        return None
    matches = [match for cell in cells if (match := _TIME.fullmatch(cell))]
    if len(matches) < len(cells):
        return None
    style = _style(matches)
    try:
        plain = np.array([_plain(match) for match in matches], dtype=_dtype(style))
    except ValueError:  # the 30th of February
        return None
    index = pd.DatetimeIndex(plain - _offset(style))
    if style.zone:
        index = index.tz_localize("UTC")
    # Year 0 is known to numpy and to nobody else.
    if any(cell.startswith("0000") for cell in cells):
        return None
    return (index, style) if format_times(index, style) == list(cells) else None


def read_dated(cells: Sequence[str], format: str) -> tuple[Any, TimeStyle] | None:
    """Return cells in a format such as %d.%m.%Y as times and their style, or None."""
    found = read_dates(cells, format)
    if found is None:
        return None
    style = TimeStyle(format=format, padded=found[1])
    try:
        index = pd.DatetimeIndex(np.array(found[0], dtype=_dtype(style)))
    except ValueError:  # the 30th of February
        return None
    return (index, style) if format_times(index, style) == list(cells) else None


def format_times(times: Any, style: TimeStyle) -> list[str]:  # noqa: ANN401
    """Return a DatetimeIndex or Series without holes as text in some style."""
    index = pd.DatetimeIndex(times)
    if index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    dtype = _dtype(style)
    plain = index.to_numpy().astype(dtype) + _offset(style)
    return [_write_time(str(text), style) for text in np.datetime_as_string(plain)]


def plain_style(times: Any) -> TimeStyle:  # noqa: ANN401 - a Series of datetimes
    """Return the shortest ISO style that keeps a column of times without holes."""
    index = pd.DatetimeIndex(times)
    zone = "+00:00" if index.tz is not None else ""
    if index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    counts = index.to_numpy().astype("M8[ns]").view(np.int64)
    if not zone and not (counts % (86_400 * 10**9)).any():
        return TimeStyle()
    digits = next(n for n in (0, 3, 6, 9) if not (counts % 10 ** (9 - n)).any())
    return TimeStyle(joint=" ", has_seconds=True, n_fraction=digits, zone=zone)


def _style(matches: list[re.Match[str]]) -> TimeStyle:
    first = matches[0]
    return TimeStyle(
        date_sign=first["sign"],
        padded=all(len(m["month"]) == len(m["day"]) == 2 for m in matches),
        joint=first["joint"] or "",
        has_seconds=first["second"] is not None,
        n_fraction=len(first["fraction"] or ""),
        zone=first["zone"] or "",
    )


def _plain(match: re.Match[str]) -> str:
    date = f"{match['year']}-{match['month']:0>2}-{match['day']:0>2}"
    if not match["clock"]:
        return date
    return f"{date}T{match['clock']}{match['second'] or ':00'}"


def _dtype(style: TimeStyle) -> np.dtype[Any]:
    unit = "s" if not style.n_fraction else "us" if style.n_fraction <= 6 else "ns"
    return np.dtype(f"M8[{unit}]")


def _offset(style: TimeStyle) -> np.timedelta64:
    digits = style.zone[1:].replace(":", "").ljust(4, "0")
    minutes = 0
    if style.zone not in ("", "Z"):
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        minutes = -minutes if style.zone[0] == "-" else minutes
    return np.timedelta64(minutes * 60, "s")


def _write_time(iso: str, style: TimeStyle) -> str:
    if style.format:
        return write_date(iso, style.format, padded=style.padded)
    date, _, clock = iso.partition("T")
    year, month, day = date.split("-")
    if not style.padded:
        month, day = month.lstrip("0"), day.lstrip("0")
    text = style.date_sign.join((year, month, day))
    if not style.joint:
        return text
    shown = clock[:8] if style.has_seconds else clock[:5]
    if style.n_fraction:
        shown += "." + clock[9 : 9 + style.n_fraction]
    return text + style.joint + shown + style.zone


# ---- Columns of values that already have a type, as Excel and JSON give them.


class ValueColumn(NamedTuple):
    """A column read from values."""

    series: pd.Series
    style: ColumnStyle
    notes: tuple[str, ...] = ()


def column_of_values(name: str, values: Sequence[Any]) -> ValueColumn:
    """Return a column in the narrowest type that holds all of its values.

    Text among other values means a missing one if it says so; otherwise all is text.
    """
    cells, notes = _without_spellings(name, values)
    present = np.array([not _is_hole(cell) for cell in cells], dtype=bool)
    seen = [cell for cell, there in zip(cells, present, strict=True) if there]
    kinds = {type(cell) for cell in seen}
    style = ColumnStyle(name=name)
    if not seen:
        empty = pd.Series(np.full(len(cells), np.nan))
        return ValueColumn(empty, replace(style, kind="empty"), notes)
    if kinds == {str}:
        return _texts(cells, seen, present, style)._replace(notes=notes)
    if kinds <= {bool}:
        truths = with_holes(np.array(seen, dtype=bool), present)
        return ValueColumn(truths, replace(style, kind="boolean"), notes)
    numbers = _numbers(seen, present, style) if kinds <= {int, float} else None
    if numbers is not None:
        return numbers._replace(notes=notes)
    if kinds <= {dt.datetime, dt.date}:
        times = pd.DatetimeIndex(np.array(seen, dtype="M8[us]"))
        return ValueColumn(
            spread_times(times, present), replace(style, kind="time"), notes
        )
    listed = " and ".join(sorted(kind.__name__ for kind in kinds))
    mixed = [np.nan if _is_hole(cell) else str(cell) for cell in cells]
    why = "has numbers beyond all reach" if kinds <= {int, float} else f"mixes {listed}"
    note = f"column {name!r} {why}; read as text"
    return ValueColumn(pd.Series(mixed), style, (*notes, note))


def _is_hole(cell: Any) -> bool:  # noqa: ANN401 - any value of a cell
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _without_spellings(
    name: str, values: Sequence[Any]
) -> tuple[list[Any], tuple[str, ...]]:
    """Return values with None where text says that a number or time is missing."""
    texts = {cell for cell in values if isinstance(cell, str)}
    others = any(not isinstance(c, str) and not _is_hole(c) for c in values)
    holes = {text for text in texts if text.strip() in MISSING | UNUSUAL}
    if not holes or not others or holes != texts:
        # Among text these words are words, but for those that no text means.
        holes = {text for text in texts if not text}
    notes = [
        f"{text!r} read as missing in column {name!r}" for text in sorted(holes) if text
    ]
    cells = [None if isinstance(c, str) and c in holes else c for c in values]
    return cells, tuple(notes)


def _numbers(seen: list[Any], present: Any, style: ColumnStyle) -> ValueColumn | None:  # noqa: ANN401
    """Return numbers as a column, or None if one is too large for any number type."""
    whole = all(isinstance(cell, int) for cell in seen)
    for dtype in (np.int64, np.uint64) if whole else ():
        try:
            values = np.array(seen, dtype=dtype)
        except OverflowError:
            continue
        return ValueColumn(with_holes(values, present), replace(style, kind="integer"))
    try:
        floats = with_holes(np.array(seen, dtype=np.float64), present)
    except OverflowError:
        return None
    return ValueColumn(floats, replace(style, kind="float"))


def _texts(
    cells: list[Any],
    seen: list[str],
    present: Any,  # noqa: ANN401
    style: ColumnStyle,
) -> ValueColumn:
    times = read_times(seen)
    if times is None:
        holed = [np.nan if cell is None else cell for cell in cells]
        return ValueColumn(pd.Series(holed), style)
    return ValueColumn(
        spread_times(times[0], present), replace(style, kind="time", time=times[1])
    )


# ---- Columns of a frame become text cells, in the style of the column they continue.


def format_column(series: pd.Series, style: ColumnStyle) -> list[str]:
    """Return the cells of a column as text, missing ones as the column writes them."""
    present = series.notna().to_numpy(dtype=bool)
    cells = [style.missing or ""] * len(series)
    seen = _format_seen(series[present], style)
    for row_index, text in zip(np.flatnonzero(present).tolist(), seen, strict=True):
        cells[row_index] = text
    return cells


def _format_seen(seen: pd.Series, style: ColumnStyle) -> Sequence[str]:
    if not len(seen):
        return []
    if isinstance(seen.dtype, pd.CategoricalDtype):
        seen = seen.astype(seen.dtype.categories.dtype)
    dtype = seen.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return [style.truths[int(value)] for value in seen]
    if pd.api.types.is_integer_dtype(dtype):
        texts = [str(int(value)) for value in seen]
        if style.spelling is None:
            return texts
        return [write_number(text, style.decimal, style.spelling) for text in texts]
    if pd.api.types.is_float_dtype(dtype):
        return [_float(value, style) for value in seen]
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return format_times(seen, style.time or plain_style(seen))
    return [_object(value, style) for value in seen]


def _float(value: Any, style: ColumnStyle) -> str:  # noqa: ANN401 - any float type
    if isinstance(value, np.float32 | np.float16):
        # The shortest digits of the narrow number, not those of its wide twin.
        return str(value).replace(".", style.decimal)
    return format_number(value, style)


def _object(value: Any, style: ColumnStyle) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return style.truths[int(value)]
    if isinstance(value, float):
        return format_number(value, style)
    return str(value)
