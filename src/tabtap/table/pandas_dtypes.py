"""pandas dtypes as text, and back.

The text must give back an equal dtype.  ``dtype_text`` checks that it does and returns
None otherwise, so that an exotic dtype becomes a clear refusal, not a quiet change.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from tabtap.table.dtypes import arguments, is_arrow, number_name, time_unit, time_zone

_ARROW_NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
    "bool": "bool",
    "date32[day]": "date",
}
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
    return pd.api.types.pandas_dtype(text)


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


def arrow_type(text: str) -> Any:  # noqa: ANN401 - pyarrow is optional and untyped
    """Return the Arrow type of a text such as ``int64[arrow]``."""
    pyarrow = import_module("pyarrow")
    name = number_name(text)
    if name == "datetime64":
        return pyarrow.timestamp(time_unit(text), time_zone(text))
    if name == "timedelta64":
        return pyarrow.duration(time_unit(text))
    return getattr(pyarrow, {"bool": "bool_", "date": "date32"}.get(name, name))()


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
