"""Numbers written as text: which cells are numbers, and how they are written.

Zero-padded digits are a code and stay text; so do numbers with thousands separators,
and whole numbers beyond 64 bits, which no number type here could hold exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabtap.files.file_table import ColumnStyle

_SIGNS = {".": r"\.", ",": ","}
_NUMBERS = {
    sign: re.compile(
        rf"[+-]?(?:(?:[0-9]+{dot}?[0-9]*|{dot}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        r"|(?i:inf|infinity))"
    )
    for sign, dot in _SIGNS.items()
}
_WHOLE = re.compile(r"[+-]?[0-9]+")
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


def _read_whole(name: str, cells: Sequence[str]) -> NumberColumn | None:
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
