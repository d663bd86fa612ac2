"""A schema and its single values as JSON and back, without identifiers' values."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any, TypeVar, get_args

import numpy as np
import pandas as pd

from tabtap.errors import FileFormatError, UserInputError
from tabtap.table.schema import (
    Column,
    Container,
    FrameForm,
    Kind,
    Marker,
    Schema,
    Target,
    Task,
    family,
)

FORMAT = 1
"""Raised whenever an older reader would misread what is written."""

_Value = TypeVar("_Value")
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain dicts and lists.

    The values of identifiers stay out: a saved model must not name the rows it was
    trained on.

    Raises
    ------
    UserInputError
        If a level is of a type that JSON cannot give back exactly.
    """
    target = schema.target
    return {
        "format": FORMAT,
        "features": [_column_to_json(column) for column in schema.features],
        "target": None if target is None else _target_to_json(target),
        "form": {
            field.name: level_to_json(getattr(schema.form, field.name))
            for field in fields(FrameForm)
        },
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
    return _guarded(lambda: _schema(saved))


def _schema(saved: Mapping[str, Any]) -> Schema:
    target = saved["target"]
    return Schema(
        features=tuple(_column(column) for column in saved["features"]),
        target=None if target is None else _target(target),
        form=_form(saved["form"]),
    )


def _guarded(read: Callable[[], _Value]) -> _Value:
    try:
        return read()
    except FileFormatError:
        raise
    except _DAMAGE as error:
        raise FileFormatError(
            f"The schema is damaged ({type(error).__name__}: {error}). "
            "Restore the file from a copy, or save it anew."
        ) from error


def _column_to_json(column: Column) -> dict[str, Any]:
    hidden = column.kind is Kind.IDENTIFIER
    return {
        "name": level_to_json(column.name),
        "kind": column.kind.value,
        "dtype": column.dtype,
        "ordered": column.ordered,
        "levels": [] if hidden else [level_to_json(v) for v in column.levels],
        "categories": [] if hidden else [level_to_json(v) for v in column.categories],
        "markers": list(column.markers),
        "decimals": column.decimals,
        # As text: many JSON readers keep only 53 bits of an integer.
        "base": str(column.base),
        "step": str(column.step),
        "wall_clock": column.wall_clock,
    }


def _target_to_json(target: Target) -> dict[str, Any]:
    return {
        "column": _column_to_json(target.column),
        "task": target.task,
        "position": target.position,
        "edges": list(target.edges),
    }


def _column(saved: Mapping[str, Any]) -> Column:
    column = Column(
        name=level_from_json(saved["name"]),
        kind=Kind(saved["kind"]),
        dtype=_typed(saved["dtype"], str),
        ordered=_typed(saved["ordered"], bool),
        levels=_levels(saved["levels"]),
        categories=_levels(saved["categories"]),
        markers=tuple(_one_of(m, get_args(Marker)) for m in saved["markers"]),
        decimals=saved["decimals"]
        if saved["decimals"] is None
        else _typed(saved["decimals"], int),
        base=int(_typed(saved["base"], str)),
        step=int(_typed(saved["step"], str)),
        wall_clock=_typed(saved["wall_clock"], bool),
    )
    _check(column)
    return column


def _check(column: Column) -> None:
    if column.step < 1:
        raise ValueError(f"step {column.step} of column {column.name!r}")
    needs_levels = not column.kind.is_numeric and column.kind is not Kind.IDENTIFIER
    if needs_levels != bool(column.levels):
        raise ValueError(f"{len(column.levels)} levels of column {column.name!r}")
    known = set(column.categories)
    if family(column.dtype) == "category" and not known.issuperset(column.levels):
        raise ValueError(f"levels of column {column.name!r} are not its categories")


def _target(saved: Mapping[str, Any]) -> Target:
    return Target(
        column=_column(saved["column"]),
        task=_one_of(saved["task"], get_args(Task)),
        position=_typed(saved["position"], int),
        edges=tuple(_typed(edge, float) for edge in saved["edges"]),
    )


def _form(saved: Mapping[str, Any]) -> FrameForm:
    values = {
        field.name: level_from_json(saved[field.name]) for field in fields(FrameForm)
    }
    _one_of(values["container"], get_args(Container))
    _one_of(values["target_container"], (*get_args(Container), None))
    return FrameForm(**values)


def _levels(saved: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(level_from_json(level) for level in _typed(saved, list))


def _typed(value: Any, kind: type[_Value]) -> _Value:  # noqa: ANN401
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


def _one_of(value: Any, accepted: tuple[Any, ...]) -> Any:  # noqa: ANN401
    if value not in accepted:
        raise ValueError(f"{value!r} is not one of {accepted}")
    return value


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
    return np.dtype(name).type(level_from_json(plain))


def _moment_to_json(moment: Any) -> list[Any]:  # noqa: ANN401
    count = int(moment.asm8.view(np.int64))
    zone = getattr(moment, "tz", None)
    return [str(count), moment.unit, None if zone is None else str(zone)]


def _timestamp(content: Any) -> pd.Timestamp:  # noqa: ANN401
    count, unit, zone = content
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
