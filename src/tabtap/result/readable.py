"""Frames as parquet, for people and programs that look into a saved result.

These copies may lose what parquet cannot say: a column that Arrow has no type for is
written as text.  The exact rows are in the file's arrays.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd


def parquet_bytes(frame: Any) -> bytes:  # noqa: ANN401 - pandas, polars or numpy
    """Return a frame as the content of a parquet file."""
    buffer = BytesIO()
    if isinstance(frame, np.ndarray):
        frame = pd.DataFrame(frame)
    if isinstance(frame, pd.DataFrame):
        _write_pandas(frame, buffer)
    else:
        frame.write_parquet(buffer)
    return buffer.getvalue()


def _write_pandas(frame: pd.DataFrame, buffer: BytesIO) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    names = _distinct([str(name) for name in frame.columns])
    columns = [_arrow(frame.iloc[:, place]) for place in range(len(names))]
    parquet.write_table(pa.table(columns, names=names), buffer)


def _arrow(series: pd.Series) -> Any:  # noqa: ANN401 - pyarrow is untyped
    import pyarrow as pa
    from pyarrow import parquet

    if len(series) and series.map(type).eq(tuple).all():
        series = series.map(lambda names: [str(name) for name in names])
    try:
        array = pa.array(series, from_pandas=True)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        # Some types are Arrow's but not parquet's.
        parquet.write_table(pa.table([array], names=["column"]), BytesIO())
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array([_text(value) for value in series], pa.string())
    return array


def _text(value: Any) -> str | None:  # noqa: ANN401
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _distinct(names: list[str]) -> list[str]:
    """Return names of which no two are the same: 1 and "1" are one name here."""
    found: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in found:
            unique, number = f"{name}.{number}", number + 1
        found.append(unique)
    return found
