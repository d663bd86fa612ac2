"""numpy arrays as columns, and columns as an array of the same dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.errors import Problem

_TIME_UNITS = ("s", "ms", "us", "ns")
_EXACT_FLOAT = 2**53


def unusable_array(array: NDArray[Any], *, n_dimensions: int) -> Problem | None:
    """Return what keeps an array from being read, if anything does."""
    if array.dtype.names is not None:
        fix = "Pass pd.DataFrame(array)"
        return Problem(None, "is an array with named fields", fix)
    if array.ndim != n_dimensions:
        fix = "a 2-d array, rows by columns" if n_dimensions == 2 else "y.ravel()"
        return Problem(None, f"has {array.ndim} dimensions", f"Pass {fix}")
    if isinstance(array, np.ma.MaskedArray):
        fix = "Fill the masked cells: array.astype(float).filled(np.nan)"
        return Problem(None, "is a masked array", fix)
    if array.dtype.kind not in "biufcOUSMm" or array.dtype == np.longdouble:
        fix = "Use an array of numbers, strings or objects, or a DataFrame"
        return Problem(None, f"has dtype {array.dtype}", fix)
    return None


def array_columns(array: NDArray[Any]) -> list[pd.Series]:
    """Return the columns of a 2-d array, each in a dtype that pandas keeps exactly."""
    kind = array.dtype.kind
    if kind in "USO":
        array = array.astype(object)
        return [pd.Series(column, dtype=object) for column in array.T]
    if kind in "Mm" and np.datetime_data(array.dtype)[0] not in _TIME_UNITS:
        array = array.astype(f"{kind}8[s]")
    array = array.astype(array.dtype.newbyteorder("="))
    return [pd.Series(np.ascontiguousarray(column)) for column in array.T]


def pack_array(columns: Sequence[pd.Series], dtype: str) -> NDArray[Any]:
    """Return columns as one array, wider only if a hole leaves no other way."""
    wanted = np.dtype(dtype)
    holes = any(column.isna().any() for column in columns)
    if holes and wanted.kind in "biuUS":
        wanted = np.dtype(np.float64 if _fit_floats(columns, wanted) else object)
    n_rows = len(columns[0]) if columns else 0
    array = np.empty((n_rows, len(columns)), dtype=wanted)
    for i, column in enumerate(columns):
        array[:, i] = _cells(column, wanted)
    return array


def _cells(column: pd.Series, wanted: np.dtype[Any]) -> NDArray[Any]:
    if wanted.kind == "f" and column.dtype != wanted:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy(dtype=object if wanted.kind in "OU" else None))


def _fit_floats(columns: Sequence[pd.Series], wanted: np.dtype[Any]) -> bool:
    if wanted.kind not in "iu":
        return False
    present = [column.dropna() for column in columns]
    largest = [max(abs(int(c.max())), abs(int(c.min()))) for c in present if len(c)]
    return max(largest, default=0) <= _EXACT_FLOAT
