"""pandas columns in Arrow memory, read and written without a detour through objects.

Imported only when a frame has such a column: pyarrow is optional.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tabtap.table.dtypes import family, number_name
from tabtap.table.pandas_dtypes import arrow_type
from tabtap.table.problems import unsupported
from tabtap.table.raw import RawColumn, code_values, marker_masks, rank_markers
from tabtap.table.schema import Marker


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
