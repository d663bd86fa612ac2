"""A schema and its single values as JSON and back, without identifiers' values."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar, get_type_hints

import numpy as np
import pandas as pd

from tabtap.archive import DAMAGE
from tabtap.errors import FileFormatError, UserInputError
from tabtap.saved import from_json, to_json
from tabtap.table.pandas_columns import dtype_from_text
from tabtap.table.schema import (
    Column,
    Family,
    FrameForm,
    Kind,
    Schema,
    Target,
    family,
    is_object,
    is_time,
    time_zone,
)

FORMAT = 1
"""Raised whenever an older reader would misread what is written."""

_Value = TypeVar("_Value")


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain dicts and lists.

    The values of identifiers stay out: a saved model must not name the rows it was
    trained on.

    Raises
    ------
    UserInputError
        If a level is of a type that JSON cannot give back exactly.
    """
    target, form = schema.target, schema.form
    return {
        "format": FORMAT,
        "features": [_column_to_json(column) for column in schema.features],
        "target": target
        and {**to_json(target), "column": _column_to_json(target.column)},
        "form": {**to_json(form), "columns_name": level_to_json(form.columns_name)},
    }


def schema_from_json(saved: Mapping[str, Any]) -> Schema:
    """Return the schema that ``schema_to_json`` wrote.

    Raises
    ------
    FileFormatError
        If the content is damaged, foreign, or of a newer version.
    """
    version = saved.get("format") if isinstance(saved, Mapping) else None
    if version != FORMAT:
        raise FileFormatError(
            f"The schema has format {version!r}, this tabtap reads {FORMAT}. "
            "Read it with the version that wrote it, or save it anew."
        )
    try:
        return _schema(saved)
    except FileFormatError:
        raise
    except DAMAGE as error:
        raise FileFormatError(
            f"The schema is damaged ({type(error).__name__}: {error}). "
            "Restore the file from a copy, or save it anew."
        ) from error


def _schema(saved: Mapping[str, Any]) -> Schema:
    target, form = saved["target"], saved["form"]
    if target is not None:
        target = _whole(Target, {**target, "column": _column(target["column"])})
    columns_name = level_from_json(form["columns_name"])
    restored = _whole(FrameForm, {**form, "columns_name": columns_name})
    _check_form(restored)
    return Schema(
        features=tuple(_column(column) for column in saved["features"]),
        target=target,
        form=restored,
    )


def _whole(kind: type[_Value], saved: Mapping[str, Any]) -> _Value:
    """Return what was saved, and take no default for what is missing."""
    return from_json(kind, {name: saved[name] for name in get_type_hints(kind)})


def _column_to_json(column: Column) -> dict[str, Any]:
    if column.kind is Kind.IDENTIFIER:
        column = replace(column, levels=(), categories=())
    saved = to_json(column)
    if not column.support:
        del saved["support"]  # as files were before there was any
    return saved | {
        "name": level_to_json(column.name),
        "levels": [level_to_json(level) for level in column.levels],
        "categories": [level_to_json(level) for level in column.categories],
        # As text: many JSON readers keep only 53 bits of an integer.
        "base": str(column.base),
        "step": str(column.step),
    }


def _column(saved: Mapping[str, Any]) -> Column:
    restored = {
        "name": level_from_json(saved["name"]),
        "levels": _levels(saved["levels"]),
        "categories": _levels(saved["categories"]),
        # With a base given, ``int`` takes text only.
        "base": int(saved["base"], 10),
        "step": int(saved["step"], 10),
        "support": saved.get("support", []),
    }
    column = _whole(Column, {**saved, **restored})
    _check(column)
    return column


def _levels(saved: Any) -> list[Any]:  # noqa: ANN401
    if not isinstance(saved, list):
        raise TypeError(f"{saved!r} is not a list")
    return [level_from_json(level) for level in saved]


def _check_form(form: FrameForm) -> None:
    for text in filter(None, (form.array_dtype, form.target_dtype)):
        dtype = np.dtype(text)
        if dtype.kind not in "biufcOUSMm" or dtype.itemsize > _MOST_BYTES:
            raise ValueError(f"an array of {text!r}")
    if form.columns_dtype not in ("", "range"):
        dtype_from_text(form.columns_dtype)


_MOST_BYTES = 4 * 131_072
"""Of a text in an array: more is not a table's cell but a file made to fill memory."""

_FAMILIES: Mapping[Kind, tuple[Family, ...]] = {
    Kind.CONTINUOUS: ("float", "int"),
    Kind.INTEGER: ("float", "int"),
    Kind.DATETIME: ("time",),
}


def _check_dtype(column: Column) -> None:
    """Raise unless the dtype is one that a frame is read with, and fits the kind."""
    dtype, kind = column.dtype, family(column.dtype)
    unknown = kind == "other" and not is_object(dtype)
    if unknown or (kind == "time" and not is_time(dtype)):
        raise ValueError(f"dtype {dtype!r} of column {column.name!r}")
    clocks = kind == "time" and time_zone(dtype)
    if kind not in _FAMILIES.get(column.kind, (kind,)) or (
        column.wall_clock and not clocks
    ):
        raise ValueError(f"{column.kind.value} column {column.name!r} of {dtype!r}")


def _check(column: Column) -> None:
    _check_dtype(column)
    if column.step < 1:
        raise ValueError(f"step {column.step} of column {column.name!r}")
    needs_levels = not column.kind.is_numeric and column.kind is not Kind.IDENTIFIER
    if needs_levels != bool(column.levels):
        raise ValueError(f"{len(column.levels)} levels of column {column.name!r}")
    kept = np.asarray(column.support, dtype=np.float64)
    if not np.isfinite(kept).all() or (np.diff(kept) <= 0).any():
        raise ValueError(f"values that column {column.name!r} keeps to: {kept}")
    known = set(column.categories)
    if family(column.dtype) == "category" and not known.issuperset(column.levels):
        raise ValueError(f"levels of column {column.name!r} are not its categories")


# ---- Single values as JSON and back, with their exact type.
#
# Strings, booleans, None and finite floats are what JSON says.  Everything else is an
# object with one key, the tag of its type, because 1, 1.0, True and numpy's 1 are four
# different labels.  Integers are tagged text: many JSON readers keep only 53 bits.


def level_to_json(value: Any) -> Any:  # noqa: ANN401 - any level or column name
    """Return one value for JSON, or refuse a type that would not come back exactly."""
    kind = type(value)
    if value is None or kind in (str, bool):
        return value
    if kind is float and math.isfinite(value):
        return value
    if value is pd.NaT or value is pd.NA:
        return {"hole": "nat" if value is pd.NaT else "na"}
    if isinstance(value, np.generic):
        return _numpy_to_json(value)
    for tag, (known, write, _) in _TAGS.items():
        if kind is known:
            return {tag: write(value)}
    raise UserInputError(
        f"A level of type {kind.__name__} cannot be saved: {value!r}. "
        "Convert the column with astype(str) before reading the frame."
    )


def level_from_json(saved: Any) -> Any:  # noqa: ANN401
    """Return the value that ``level_to_json`` wrote."""
    if not isinstance(saved, dict):
        if isinstance(saved, list):
            raise FileFormatError("A saved value is a list. The file is damaged.")
        return saved
    if len(saved) != 1:
        raise FileFormatError(f"A saved value has {len(saved)} tags instead of one.")
    tag, content = next(iter(saved.items()))
    if tag == "hole":
        return {"nat": pd.NaT, "na": pd.NA}[content]
    if tag == "numpy":
        return _numpy_from_json(content)
    if tag not in _TAGS:
        raise FileFormatError(
            f"A saved value has the unknown tag {tag!r}. "
            "The file is damaged or was written by a newer tabtap."
        )
    return _TAGS[tag][2](content)


def _numpy_to_json(value: np.generic) -> dict[str, Any]:
    if value.dtype.kind not in "biufU":
        raise UserInputError(
            f"A level of type numpy.{value.dtype} cannot be saved: {value!r}. "
            "Convert the column with astype(str) before reading the frame."
        )
    return {"numpy": [value.dtype.name, level_to_json(value.item())]}


def _numpy_from_json(content: Any) -> Any:  # noqa: ANN401
    name, plain = content
    if name.startswith("str"):
        return np.str_(plain)
    return _NUMPY_TYPES[name](level_from_json(plain))


_NUMPY_TYPES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (np.bool_, np.float16, np.float32, np.float64, np.int8, np.int16,
                 np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
}  # fmt: skip


def _moment_to_json(moment: Any) -> list[Any]:  # noqa: ANN401
    count = int(moment.asm8.view(np.int64))
    zone = getattr(moment, "tz", None)
    return [str(count), moment.unit, None if zone is None else str(zone)]


def _timestamp(content: Any) -> pd.Timestamp:  # noqa: ANN401
    count, unit, zone = content
    if zone is not None and zone.startswith("dateutil/"):  # which names a file
        raise ValueError(f"time zone {zone!r}")
    moment = pd.Timestamp(np.datetime64(int(count), unit))
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(zone)


def _timedelta(content: Any) -> pd.Timedelta:  # noqa: ANN401
    count, unit, _ = content
    return pd.Timedelta(np.timedelta64(int(count), unit))


def _interval_to_json(interval: pd.Interval) -> list[Any]:
    return [
        level_to_json(interval.left),
        level_to_json(interval.right),
        interval.closed,
    ]


def _interval(content: Any) -> pd.Interval:  # noqa: ANN401
    left, right, closed = content
    return pd.Interval(level_from_json(left), level_from_json(right), closed)


_Tag = tuple[type, Callable[[Any], Any], Callable[[Any], Any]]
_TAGS: dict[str, _Tag] = {
    "int": (int, str, int),
    "float": (float, repr, float),
    "timestamp": (pd.Timestamp, _moment_to_json, _timestamp),
    "timedelta": (pd.Timedelta, _moment_to_json, _timedelta),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "interval": (pd.Interval, _interval_to_json, _interval),
    "tuple": (
        tuple,
        lambda parts: [level_to_json(part) for part in parts],
        lambda parts: tuple(level_from_json(part) for part in parts),
    ),
}
