"""Columns of Python objects: what the cells are, and the same cells back.

An object column may hold anything.  One type per column is accepted; two types, or
cells that are containers themselves, are refused with the row where they were seen.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.dtypes import arguments, family, number_name
from tabtap.table.problems import call, refuse, shown
from tabtap.table.raw import RawColumn, code_values, marker_masks, rank_markers
from tabtap.table.schema import BoolArray, Marker
from tabtap.table.times import counts_from_times, times_from_counts

_ELEMENTS: dict[type, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    dt.date: "date",
    np.bool_: "boolean",
}
_HOLES: Mapping[Marker, Any] = {
    "none": None,
    "nan": float("nan"),
    "na": pd.NA,
    "nat": pd.NaT,
}
_BYTES = (bytes, bytearray, memoryview)


def read_objects(name: Hashable, cells: NDArray[Any]) -> RawColumn:
    """Return an object column read, or raise the reason why it cannot be."""
    missing_at = np.asarray(pd.isna(cells), dtype=bool)
    missing, markers = _read_markers(name, cells, missing_at)
    present = np.flatnonzero(~missing_at)
    kind = _only_type(name, cells, present)
    dtype = f"object[{_element(kind)}]"
    seen = cells[present].tolist()
    values, levels = _plain(name, seen, dtype)
    full = np.zeros(len(cells), dtype=values.dtype)
    full[present] = values
    return RawColumn(
        name=name,
        dtype=dtype,
        values=full,
        missing=missing,
        markers=markers,
        levels=levels,
    )


def write_objects(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    markers: tuple[Marker, ...],
    dtype: str,
) -> NDArray[Any]:
    """Return the Python objects that a column was read from, holes included."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = _objects(values, dtype)
    for marker, where in marker_masks(missing, markers, "none").items():
        cells[where] = _HOLES[marker]
    return cells


def _element(kind: type) -> str:
    if kind in _ELEMENTS:
        return _ELEMENTS[kind]
    if issubclass(kind, (np.integer, np.floating)):
        return np.dtype(kind).name
    # "python" keeps a class that is called, say, Int apart from the dtype names.
    return f"python {kind.__name__}"


def _objects(values: NDArray[Any], dtype: str) -> list[Any]:
    element = arguments(dtype)
    if element == "date":
        return times_from_counts(values, dtype)
    if element == "boolean":
        return list(values.astype(np.bool_))
    if family(dtype) in ("int", "float") and element not in _ELEMENTS.values():
        return list(values.astype(number_name(dtype)))
    return list(values.tolist())


def _plain(
    name: Hashable, seen: list[Any], dtype: str
) -> tuple[NDArray[Any], tuple[Any, ...]]:
    kind = family(dtype)
    if kind == "time":
        return counts_from_times(seen, dtype), ()
    if kind in ("float", "bool"):
        return np.array(seen, dtype="float64" if kind == "float" else "bool"), ()
    if kind == "int":
        storage = np.uint64 if number_name(dtype) == "uint64" else np.int64
        try:
            return np.array(seen, dtype=storage), ()
        except OverflowError:
            raise refuse(
                name,
                f"holds {shown(max(seen, key=abs))}, beyond 64-bit integers",
                f"Use {call(name)}.astype(float), or astype(str) if it is a code",
            ) from None
    return code_values(seen)


def _read_markers(
    name: Hashable, cells: NDArray[Any], missing_at: BoolArray
) -> tuple[NDArray[np.int8], tuple[Marker, ...]]:
    rows = np.flatnonzero(missing_at)
    forms: dict[Marker, list[int]] = {marker: [] for marker in _HOLES}
    for row in rows.tolist():
        forms[_marker(name, cells[row], row)].append(row)
    masks: list[tuple[Marker, BoolArray]] = []
    for marker, where in forms.items():
        mask = np.zeros(len(cells), dtype=bool)
        mask[where] = True
        masks.append((marker, mask))
    return rank_markers(masks, len(cells))


def _marker(name: Hashable, cell: Any, row: int) -> Marker:  # noqa: ANN401
    for marker in ("none", "na", "nat"):
        if cell is _HOLES[marker]:
            return marker
    if isinstance(cell, (float, np.floating)):
        return "nan"
    raise refuse(
        name,
        f"marks a missing value with {shown(cell)} (row {row})",
        f"Use None: {call(name)}.where({call(name)}.notna(), None)",
    )


def _only_type(name: Hashable, cells: NDArray[Any], present: NDArray[Any]) -> type:
    first: dict[type, int] = {}
    for row, kind in zip(present.tolist(), map(type, cells[present]), strict=True):
        first.setdefault(kind, row)
    for kind, row in first.items():
        _refuse_type(name, kind, cells[row], row)
    if len(first) > 1:
        raise _mixed(name, cells, first)
    return next(iter(first), float)


def _refuse_type(name: Hashable, kind: type, cell: Any, row: int) -> None:  # noqa: ANN401
    what = f"holds {shown(cell)} (row {row})"
    if issubclass(kind, _BYTES):
        raise refuse(
            name,
            f"{what}, which is bytes",
            f"Decode it: {call(name)}.str.decode('utf-8')",
        )
    if issubclass(kind, (complex, np.complexfloating)):
        raise complex_numbers(name, cell, row)
    if not issubclass(kind, Hashable) or issubclass(kind, (tuple, frozenset)):
        raise refuse(
            name,
            f"{what}, a {kind.__name__} inside a cell",
            "Give each part its own column, or drop this one",
        )


def complex_numbers(name: Hashable, cell: Any, row: int) -> Exception:  # noqa: ANN401
    """Return the refusal of a complex number."""
    return refuse(
        name,
        f"holds the complex number {cell} (row {row})",
        "Split it into a real and an imaginary column",
    )


def _mixed(name: Hashable, cells: NDArray[Any], first: dict[type, int]) -> Exception:
    seen = " and ".join(
        f"{kind.__name__} {shown(cells[row])} (row {row})"
        for kind, row in list(first.items())[:3]
    )
    numbers = all(issubclass(kind, (int, float, np.number)) for kind in first)
    numbers = numbers and bool not in first
    fix = f"pd.to_numeric({call(name)})" if numbers else f"{call(name)}.astype(str)"
    return refuse(name, f"mixes types: {seen}", f"Make it one type, such as {fix}")
