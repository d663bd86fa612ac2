"""Single values as JSON and back, with their exact type.

Strings, booleans, None and finite floats are what JSON says.  Everything else is an
object with one key, the tag of its type, because 1, 1.0, True and numpy's 1 are four
different labels.  Integers are tagged text: many JSON readers keep only 53 bits.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from tabtap.errors import FileFormatError, UserInputError


def level_to_json(value: Any) -> Any:  # noqa: ANN401 - any level or column name
    """Return one value as something JSON can hold.

    Raises
    ------
    UserInputError
        If the value is of a type that JSON cannot give back exactly.
    """
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
