"""Columns of a frame become text cells, in the style of the column they continue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabtap.files.file_table import ColumnStyle
from tabtap.files.number_cells import format_number
from tabtap.files.time_cells import format_times, plain_style


def format_column(series: pd.Series, style: ColumnStyle) -> list[str]:
    """Return the cells of a column as text, missing ones as the column writes them."""
    present = series.notna().to_numpy(dtype=bool)
    cells = [style.missing or ""] * len(series)
    seen = _format_seen(series[present], style)
    for place, text in zip(np.flatnonzero(present).tolist(), seen, strict=True):
        cells[place] = text
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
        return [str(int(value)) for value in seen]
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
