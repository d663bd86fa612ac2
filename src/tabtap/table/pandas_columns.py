"""One pandas column to plain values and back, dtype by dtype.

``read_series`` and ``write_series`` are each other's inverse, bit for bit.  Only one
case may change a dtype: a hole in a column whose dtype has no room for one.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tabtap.table.cells import (
    RawColumn,
    as_datetime_index,
    code_values,
    counts_from_times,
    marker_masks,
    rank_markers,
    times_from_counts,
)
from tabtap.table.problems import call, quote, refuse, unsupported
from tabtap.table.schema import (
    BoolArray,
    Marker,
    arguments,
    family,
    is_arrow,
    is_nullable,
    is_object,
    is_time,
    number_name,
    time_unit,
    time_zone,
)

_NAT = np.iinfo(np.int64).min
_WAYS_OUT: dict[type, str] = {
    pd.PeriodDtype: "Use {call}.dt.to_timestamp(), or astype(str)",
    pd.IntervalDtype: "Use {call}.astype('category'), or give both ends a column",
    pd.SparseDtype: "Make it dense: {call}.sparse.to_dense()",
}


def read_series(name: Hashable, series: pd.Series) -> RawColumn:
    """Return a pandas column read, or raise the reason why it cannot be."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_category(name, series)
    text = dtype_text(dtype)
    for refused, way_out in _WAYS_OUT.items():
        if isinstance(dtype, refused):
            raise unsupported(name, str(dtype), way_out.format(call=call(name)))
    if text is None or family(text) == "other":
        _refuse_other(name, series, text)
    if text == "object":
        return read_objects(name, series.to_numpy(dtype=object))
    if text is not None and is_arrow(text):
        return read_arrow(name, series, text)
    return _read_plain(name, series, str(text))


def write_series(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    markers: tuple[Marker, ...],
    dtype: str,
    categories: tuple[Any, ...] = (),
) -> pd.Series:
    """Return the pandas column of some values, in the dtype they came from.

    Integers and bools with a hole they have no room for become the nullable dtype of
    the same width.
    """
    if is_object(dtype):
        return pd.Series(write_objects(values, missing, markers, dtype), dtype=object)
    if is_arrow(dtype):
        return pd.Series(write_arrow(values, missing, markers, dtype))
    if family(dtype) == "category":
        codes = np.where(missing > 0, -1, values)
        wanted = category_dtype(dtype, categories)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=wanted))
    return pd.Series(_WRITERS[family(dtype)](values, missing, markers, dtype))


def _refuse_other(name: Hashable, series: pd.Series, text: str | None) -> None:
    if series.dtype.kind == "c" and len(series):
        raise complex_numbers(name, series.iloc[0], 0)
    if text != "object":
        raise unsupported(
            name, str(series.dtype), f"Convert it: {call(name)}.astype(...)"
        )


def _read_category(name: Hashable, series: pd.Series) -> RawColumn:
    text = category_text(series.dtype)
    if text is None:
        raise unsupported(
            name, f"category of {series.cat.categories.dtype}", "Use astype(str)"
        )
    codes = series.cat.codes.to_numpy()
    hole = codes < 0
    categories = tuple(series.cat.categories)
    seen = np.unique(codes[~hole])
    code_of = np.zeros(len(categories) + 1, dtype=np.int32)
    code_of[seen] = np.arange(len(seen), dtype=np.int32)
    missing, markers = rank_markers([("nan", hole)], len(codes))
    return RawColumn(
        name=name,
        dtype=text,
        values=code_of[codes],
        missing=missing,
        markers=markers,
        levels=tuple(categories[code] for code in seen),
        categories=categories,
        ordered=bool(series.cat.ordered),
    )


def _read_plain(name: Hashable, series: pd.Series, dtype: str) -> RawColumn:
    kind = family(dtype)
    hole = series.isna().to_numpy(dtype=bool)
    nan = np.zeros(len(hole), dtype=bool)
    levels: tuple[Any, ...] = ()
    if kind == "text":
        codes, distinct = pd.factorize(series, sort=True)
        values, levels = np.maximum(codes, 0).astype(np.int32), tuple(distinct)
    elif kind == "time":
        zoneless = series.dt.tz_convert(None) if time_zone(dtype) else series
        values = zoneless.to_numpy().view(np.int64).copy()
        values[hole] = 0
    elif kind == "float":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        nan = np.isnan(values) & ~hole
        values[hole | nan] = 0.0
    else:
        values = _whole_values(series, dtype)
    marker: Marker = _hole_form(dtype)
    missing, markers = rank_markers([(marker, hole), ("nan", nan)], len(hole))
    return RawColumn(
        name=name,
        dtype=dtype,
        values=values,
        missing=missing,
        markers=markers,
        levels=levels,
    )


def _whole_values(series: pd.Series, dtype: str) -> NDArray[Any]:
    if family(dtype) == "bool":
        storage: type = np.bool_
    else:
        storage = np.uint64 if number_name(dtype) == "uint64" else np.int64
    holes = {"na_value": storage(0)} if is_nullable(dtype) else {}
    return np.asarray(series.to_numpy(dtype=storage, copy=True, **holes))


def _hole_form(dtype: str) -> Marker:
    if family(dtype) == "time":
        return "nat"
    return "na" if is_nullable(dtype) or dtype.startswith("string") else "nan"


def _write_float(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    markers: tuple[Marker, ...],
    dtype: str,
) -> Any:  # noqa: ANN401 - a numpy or pandas array, as below
    narrow = values.astype(number_name(dtype))
    if not is_nullable(dtype):
        narrow[missing > 0] = np.nan
        return narrow
    masks = marker_masks(missing, markers, "na")
    none = np.zeros(len(values), dtype=bool)
    narrow[masks.get("nan", none)] = np.nan
    return pd.arrays.FloatingArray(narrow, masks.get("na", none))


def _write_whole(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    _markers: tuple[Marker, ...],
    dtype: str,
) -> Any:  # noqa: ANN401
    hole = missing > 0
    is_bool = family(dtype) == "bool"
    plain = values.astype(np.bool_ if is_bool else number_name(dtype))
    if not is_nullable(dtype) and not hole.any():
        return plain
    if is_bool:
        return pd.arrays.BooleanArray(plain, hole)
    return pd.arrays.IntegerArray(plain, hole)


def _write_time(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    _markers: tuple[Marker, ...],
    dtype: str,
) -> Any:  # noqa: ANN401
    counts = values.astype(np.int64)
    counts[missing > 0] = _NAT
    if number_name(dtype) == "timedelta64":
        return counts.view(f"m8[{time_unit(dtype)}]")
    return as_datetime_index(counts, dtype)


def _write_text(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    _markers: tuple[Marker, ...],
    dtype: str,
) -> Any:  # noqa: ANN401
    cells = values.astype(object)
    cells[missing > 0] = pd.NA
    return pd.array(cells, dtype=dtype_from_text(dtype))


_WRITERS: dict[str, Callable[..., Any]] = {
    "float": _write_float,
    "int": _write_whole,
    "bool": _write_whole,
    "time": _write_time,
    "text": _write_text,
}


# ---- Columns of Python objects: what the cells are, and the same cells back.
#
# An object column may hold anything.  One type per column is accepted; two types, or
# cells that are containers themselves, are refused with the row where they were seen.


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
                f"holds {quote(max(seen, key=abs))}, beyond 64-bit integers",
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
        f"marks a missing value with {quote(cell)} (row {row})",
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
    what = f"holds {quote(cell)} (row {row})"
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
        f"{kind.__name__} {quote(cells[row])} (row {row})"
        for kind, row in list(first.items())[:3]
    )
    numbers = all(issubclass(kind, (int, float, np.number)) for kind in first)
    numbers = numbers and bool not in first
    fix = f"pd.to_numeric({call(name)})" if numbers else f"{call(name)}.astype(str)"
    return refuse(name, f"mixes types: {seen}", f"Make it one type, such as {fix}")


# ---- pandas columns in Arrow memory, read and written without a detour through
# objects.
#
# Imported only when a frame has such a column: pyarrow is optional.


def read_arrow(name: Hashable, series: pd.Series, dtype: str) -> RawColumn:
    """Return an Arrow-backed column read; null and NaN stay apart."""
    column = pa.array(series.array)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = family(dtype)
    null = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    nan = np.zeros(len(null), dtype=bool)
    if kind == "other":
        raise unsupported(name, str(series.dtype), "Convert it with astype(...)")
    if kind == "text":
        codes, levels = code_values(column.drop_null().to_pylist())
        values = np.zeros(len(null), dtype=np.int32)
        values[~null] = codes
    else:
        levels = ()
        values = _numbers(column, dtype)
        if kind == "float":
            nan = np.isnan(values) & ~null
            values[nan] = 0.0
    missing, markers = rank_markers([("na", null), ("nan", nan)], len(null))
    return RawColumn(
        name=name,
        dtype=dtype,
        values=values,
        missing=missing,
        markers=markers,
        levels=levels,
    )


def write_arrow(
    values: NDArray[Any],
    missing: NDArray[np.int8],
    markers: tuple[Marker, ...],
    dtype: str,
) -> Any:  # noqa: ANN401 - a pandas array
    """Return the Arrow-backed pandas array of some values."""
    masks = marker_masks(missing, markers, "na")
    kind, wanted = family(dtype), arrow_type(dtype)
    if kind == "float":
        values = values.astype(number_name(dtype))
        values[masks.get("nan", np.zeros(len(values), dtype=bool))] = np.nan
    if kind == "time":
        values = values.astype(np.int32 if wanted == pa.date32() else np.int64)
    null = masks.get("na", np.zeros(len(values), dtype=bool))
    if kind == "time":
        column = pa.array(values, mask=null).view(wanted)
    else:
        column = pa.array(values, type=wanted, mask=null, from_pandas=False)
    return pd.arrays.ArrowExtensionArray(column)


def _numbers(column: Any, dtype: str) -> NDArray[Any]:  # noqa: ANN401
    kind = family(dtype)
    if kind == "time":
        days = number_name(dtype) == "date"
        column = column.view(pa.int32() if days else pa.int64())
    filled = column.fill_null(False if kind == "bool" else 0)
    plain = filled.to_numpy(zero_copy_only=False)
    if kind == "float":
        return np.array(plain, dtype=np.float64)
    if kind == "bool":
        return np.array(plain, dtype=np.bool_)
    unsigned = number_name(dtype) == "uint64"
    return np.array(plain, dtype=np.uint64 if unsigned else np.int64)


# ---- pandas dtypes as text, and back.
#
# The text must give back an equal dtype. ``dtype_text`` checks that it does and returns
# None otherwise, so that an exotic dtype becomes a clear refusal, not a quiet change.


_ARROW_NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
    "bool": "bool",
    "date32[day]": "date",
}
_ARROW_TYPES = {
    "bool": pa.bool_(),
    "date": pa.date32(),
    "utf8": pa.utf8(),
    "large_utf8": pa.large_utf8(),
    **{
        name: pa.from_numpy_dtype(name)
        for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64",
                     "uint8", "uint16", "uint32", "uint64")
    },
}  # fmt: skip
_ORDERED = ", ordered"


def dtype_text(dtype: Any) -> str | None:  # noqa: ANN401 - a numpy or pandas dtype
    """Return a dtype as text, or None if the text would not give it back."""
    text = _text(dtype)
    try:
        same = bool(dtype_from_text(text) == dtype)
    except (TypeError, ValueError, AttributeError, ImportError):
        return None
    return text if same else None


def dtype_from_text(text: str) -> Any:  # noqa: ANN401
    """Return the dtype of a text; not for categoricals, which need their levels."""
    if is_arrow(text):
        return pd.ArrowDtype(arrow_type(text))
    if text.startswith(("str[", "string[")):
        return _string_dtype(text)
    if text.startswith("object"):
        return np.dtype(object)
    # The text may come from a file, and pandas builds whatever a text names.
    if not _is_known(text):
        raise TypeError(f"{text!r} is not a dtype that tabtap knows")
    return pd.api.types.pandas_dtype(text)


def _is_known(text: str) -> bool:
    if text.startswith("interval["):
        return _is_known(arguments(text).rpartition(",")[0])  # without ", right"
    if family(text) == "time":
        return is_time(text)
    return text.startswith("period[") or (
        family(text) in ("float", "int", "bool") and "[" not in text
    )


def category_text(dtype: pd.CategoricalDtype) -> str | None:
    """Return a categorical dtype as text without its levels."""
    inner = dtype_text(dtype.categories.dtype)
    if inner is None:
        return None
    return f"category[{inner}{_ORDERED if dtype.ordered else ''}]"


def category_dtype(text: str, categories: tuple[Any, ...]) -> pd.CategoricalDtype:
    """Return the categorical dtype of a text and its levels."""
    inside = arguments(text)
    values = dtype_from_text(inside.removesuffix(_ORDERED))
    index = pd.Index(list(categories), dtype=values)
    return pd.CategoricalDtype(index, ordered=inside.endswith(_ORDERED))


def arrow_type(text: str) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Return the Arrow type of a text such as ``int64[arrow]``."""
    name = number_name(text)
    if name == "datetime64":
        return pa.timestamp(time_unit(text), time_zone(text))
    if name == "timedelta64":
        return pa.duration(time_unit(text))
    if name not in _ARROW_TYPES:
        raise TypeError(f"{text!r} is not an Arrow type that tabtap knows")
    return _ARROW_TYPES[name]


def _text(dtype: Any) -> str:  # noqa: ANN401
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_text(str(dtype.pyarrow_dtype))
    if isinstance(dtype, pd.StringDtype):
        na = getattr(dtype, "na_value", pd.NA)
        name = "str" if isinstance(na, float) and math.isnan(na) else "string"
        return f"{name}[{dtype.storage}]"
    return str(dtype)


def _arrow_text(name: str) -> str:
    name = name.replace("timestamp[", "datetime64[").replace("tz=", "")
    name = name.replace("duration[", "timedelta64[")
    return f"{_ARROW_NAMES.get(name, name)}[arrow]"


def _string_dtype(text: str) -> pd.StringDtype:
    storage = arguments(text)
    if text.startswith("string["):
        return pd.StringDtype(storage)
    if storage.endswith("_numpy"):
        # pandas 2.2 spells "missing is NaN" as part of the storage.
        return pd.StringDtype(storage)
    return pd.StringDtype(storage, na_value=np.nan)
