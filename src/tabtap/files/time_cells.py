"""Dates and times written as text, year first: read, and written the same way.

A column counts as times only if writing it gives back every cell letter by letter.
So nothing is guessed: 03/04/2020 stays text, for nobody can tell which it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabtap.files.file_table import TimeStyle

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
    found = [_TIME.fullmatch(cell) for cell in cells]
    matches = [match for match in found if match is not None]
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


def format_times(times: Any, style: TimeStyle) -> list[str]:  # noqa: ANN401
    """Return a DatetimeIndex or Series without holes as text in some style."""
    index = pd.DatetimeIndex(times)
    if index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    dtype = _dtype(style)
    plain = index.to_numpy().astype(dtype) + _offset(style)
    return [_written(str(text), style) for text in np.datetime_as_string(plain)]


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


def _written(iso: str, style: TimeStyle) -> str:
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
