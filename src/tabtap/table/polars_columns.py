"""One polars column to plain values and back, dtype by dtype.

Imported only when the user's frame is a polars frame: polars is optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabtap.table.cells import RawColumn, code_values, marker_masks, rank_markers
from tabtap.table.problems import unsupported
from tabtap.table.schema import (
    BoolArray,
    Column,
    family,
    number_name,
    time_unit,
    time_zone,
)

_PLAIN: dict[Any, str] = {
    pl.Int8: "int8",
    pl.Int16: "int16",
    pl.Int32: "int32",
    pl.Int64: "int64",
    pl.UInt8: "uint8",
    pl.UInt16: "uint16",
    pl.UInt32: "uint32",
    pl.UInt64: "uint64",
    pl.Float32: "float32",
    pl.Float64: "float64",
    pl.Boolean: "bool",
    pl.String: "str",
    pl.Categorical: "category",
    pl.Enum: "enum",
    pl.Date: "date",
}
_BY_NAME = {name: dtype for dtype, name in _PLAIN.items()}
_WAY_OUT = "Cast it to a number, a string or a time, or drop it"


def read_polars(series: pl.Series) -> RawColumn:
    """Return a polars column read, or raise the reason why it cannot be."""
    dtype = _dtype_text(series.dtype)
    if dtype is None:
        raise unsupported(series.name, str(series.dtype), _WAY_OUT)
    null = series.is_null().to_numpy()
    nan = np.zeros(len(null), dtype=bool)
    levels: tuple[Any, ...] = ()
    kind = family(dtype)
    categories = _categories(series, dtype)
    if kind in ("text", "category"):
        values, levels = _read_levels(series, null, categories)
    else:
        values = _read_numbers(series, dtype)
        if kind == "float":
            nan = np.isnan(values) & ~null
            values[nan] = 0.0
    missing, markers = rank_markers([("none", null), ("nan", nan)], len(null))
    return RawColumn(
        name=series.name,
        dtype=dtype,
        values=values,
        missing=missing,
        markers=markers,
        levels=levels,
        categories=categories or (levels if kind == "category" else ()),
        ordered=dtype == "enum",
    )


def pack_polars(
    columns: Sequence[tuple[Column, NDArray[Any], NDArray[np.int8]]],
) -> pl.DataFrame:
    """Return written columns as a polars frame."""
    return pl.DataFrame([_write(*written) for written in columns])


def _dtype_text(dtype: Any) -> str | None:  # noqa: ANN401
    if isinstance(dtype, pl.Datetime):
        zone = f", {dtype.time_zone}" if dtype.time_zone else ""
        return f"datetime64[{dtype.time_unit}{zone}]"
    if isinstance(dtype, pl.Duration):
        return f"timedelta64[{dtype.time_unit}]"
    return _PLAIN.get(dtype.base_type())


def _categories(series: pl.Series, dtype: str) -> tuple[Any, ...]:
    if dtype != "enum":
        return ()
    return tuple(series.dtype.categories.to_list())  # type: ignore[attr-defined]


def _read_levels(
    series: pl.Series, null: BoolArray, categories: tuple[Any, ...]
) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    codes, levels = code_values(series.drop_nulls().cast(pl.String).to_list())
    if categories:
        code_of = {level: number for number, level in enumerate(categories)}
        order = np.argsort([code_of[level] for level in levels]).astype(np.int32)
        codes = np.argsort(order).astype(np.int32)[codes]
        levels = tuple(levels[number] for number in order)
    values = np.zeros(len(null), dtype=np.int32)
    values[~null] = codes
    return values, levels


def _read_numbers(series: pl.Series, dtype: str) -> NDArray[Any]:
    kind = family(dtype)
    if kind == "bool":
        return series.fill_null(value=False).to_numpy().astype(np.bool_)
    if kind == "float":
        return series.fill_null(0.0).to_numpy().astype(np.float64)
    unsigned = number_name(dtype) == "uint64"
    whole = series.to_physical() if kind == "time" else series
    return whole.fill_null(0).to_numpy().astype(np.uint64 if unsigned else np.int64)


def _write(
    column: Column, values: NDArray[Any], missing: NDArray[np.int8]
) -> pl.Series:
    masks = marker_masks(missing, column.markers, "none")
    null = masks.get("none", np.zeros(len(values), dtype=bool))
    dtype = _dtype_of(column)
    kind = family(column.dtype)
    if kind == "float":
        values = values.astype(np.float64)
        values[masks.get("nan", ~np.ones(len(values), dtype=bool))] = np.nan
    if kind == "category":
        names = np.array(column.categories or ("",), dtype=object)
        values = names[values]
    if kind in ("category", "text"):
        plain = pl.Series(values.tolist(), dtype=pl.String)
    else:
        plain = pl.Series(values)
    held = pl.DataFrame({"value": plain, "null": null})
    whole = pl.when(~pl.col("null")).then(pl.col("value"))
    return held.select(whole.alias(str(column.name))).to_series().cast(dtype)


def _dtype_of(column: Column) -> Any:  # noqa: ANN401
    name = number_name(column.dtype)
    if name == "datetime64":
        unit: Any = time_unit(column.dtype)
        return pl.Datetime(unit, time_zone(column.dtype))
    if name == "timedelta64":
        unit = time_unit(column.dtype)
        return pl.Duration(unit)
    if name == "enum":
        return pl.Enum(list(column.categories))
    return _BY_NAME[name]
