"""One pandas column to plain values and back, dtype by dtype.

``read_series`` and ``write_series`` are each other's inverse, bit for bit.  Only one
case may change a dtype: a hole in a column whose dtype has no room for one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.dtypes import (
    family,
    is_arrow,
    is_nullable,
    is_object,
    number_name,
    time_unit,
    time_zone,
)
from tabtap.table.object_columns import complex_numbers, read_objects, write_objects
from tabtap.table.pandas_dtypes import (
    category_dtype,
    category_text,
    dtype_from_text,
    dtype_text,
)
from tabtap.table.problems import call, unsupported
from tabtap.table.raw import RawColumn, marker_masks, rank_markers
from tabtap.table.schema import Marker
from tabtap.table.times import as_datetime_index

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
        from tabtap.table.arrow_columns import read_arrow

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
        from tabtap.table.arrow_columns import write_arrow

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
    place = np.zeros(len(categories) + 1, dtype=np.int32)
    place[seen] = np.arange(len(seen), dtype=np.int32)
    missing, markers = rank_markers([("nan", hole)], len(codes))
    return RawColumn(
        name=name,
        dtype=text,
        values=place[codes],
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
        codes, found = pd.factorize(series, sort=True)
        values, levels = np.maximum(codes, 0).astype(np.int32), tuple(found)
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
