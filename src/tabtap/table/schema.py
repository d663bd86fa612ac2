"""What a table is made of: the kind, storage and exact form of every column.

A schema describes values and never holds rows.  It is inferred in ``kinds.py``,
shown to the user before anything runs, and travels with every ``Table``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
Task = Literal["classification", "regression"]
Marker = Literal["nan", "none", "na", "nat"]
Container = Literal["pandas", "polars", "numpy"]

_SAFE_INTEGER = 2**62
"""Below this the sum of two int64 cannot overflow."""


class Kind(str, Enum):
    """How a column is understood, and so how it is generated."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    CONSTANT = "constant"
    IDENTIFIER = "identifier"

    @property
    def is_numeric(self) -> bool:
        """Generated on a scale: continuous numbers, integers and points in time."""
        return self in _NUMERIC

    @property
    def is_categorical(self) -> bool:
        """Generated as one of a set of levels."""
        return self in _CATEGORICAL


_NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATETIME)
_CATEGORICAL = (Kind.BOOLEAN, Kind.CATEGORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: how it is understood and how its values are restored exactly."""

    name: Hashable
    kind: Kind

    dtype: str
    """The frame's own dtype, as text (see "dtype" below): decoding restores it."""

    ordered: bool = False
    """Whether the levels of a category have an order that means something."""

    levels: tuple[Any, ...] = ()
    """Values seen, in code order; empty for numeric kinds, whose cells are numbers."""

    categories: tuple[Any, ...] = ()
    """Every category a categorical dtype declares, in its order, seen or not."""

    markers: tuple[Marker, ...] = ()
    """Forms a missing value takes in this column, the most frequent first."""

    decimals: int | None = None
    """Decimal places every value of a continuous column is rounded to; None: as is."""

    support: tuple[float, ...] = field(default=(), repr=False)
    """Values that a continuous column keeps to, ascending; empty for any."""

    base: int = 0
    step: int = 1
    """Integers and points in time lie on ``base + k * step``."""

    wall_clock: bool = False
    """Whether times are counted as the clock on the wall of their zone shows them."""

    @property
    def has_missing(self) -> bool:
        """Whether the real column has holes, so that synthetic rows may have them."""
        return bool(self.markers)

    @property
    def storage(self) -> np.dtype[Any]:
        """The array dtype that holds this column's cells without loss."""
        if self.kind is Kind.CONTINUOUS:
            return np.dtype(np.float64)
        if self.kind.is_numeric:
            unsigned = number_name(self.dtype) == "uint64"
            return np.dtype(np.uint64 if unsigned else np.int64)
        return np.dtype(np.int32)

    def store(self, values: FloatArray) -> NDArray[Any]:
        """Return drawn numbers in exact storage, on this column's grid of values.

        Only for numeric kinds.  A number outside what the dtype can hold is moved to
        the nearest grid value that it can.
        """
        if self.kind is Kind.CONTINUOUS:
            return self._store_continuous(values)
        low, high = self._integer_limits()
        values = np.clip(values, float(low), float(high))
        steps = np.rint((values - float(self.base)) / self.step)
        first = -((self.base - low) // self.step)
        last = (high - self.base) // self.step
        reach = float(np.abs(steps).max(initial=0.0)) * self.step + abs(self.base)
        if reach < _SAFE_INTEGER and self.storage == np.int64:
            edges = max(first, -_SAFE_INTEGER), min(last, _SAFE_INTEGER)
            exact: Any = np.clip(steps.astype(np.int64), *edges) * self.step + self.base
        else:
            # Python's integers, because int64 would overflow on the way.
            exact = [
                self.base + min(max(int(k), first), last) * self.step for k in steps
            ]
        return np.array(exact, dtype=self.storage)

    def _store_continuous(self, values: FloatArray) -> FloatArray:
        if self.decimals is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                rounded = np.round(values, self.decimals)
            # Rounding a huge number overflows on the way; it has no decimals anyway.
            values = np.where(np.isfinite(rounded), rounded, values)
        name = number_name(self.dtype)
        if name in ("float32", "float16"):
            narrow = np.dtype(name)
            top = float(np.finfo(narrow).max)
            values = np.clip(values, -top, top).astype(narrow).astype(np.float64)
        return self._nearest(values) if self.support else values

    def _nearest(self, values: FloatArray) -> FloatArray:
        """Return the value nearest to each that this column keeps to."""
        known = np.asarray(self.support, dtype=np.float64)
        middle = known[:-1] / 2 + known[1:] / 2
        return np.asarray(known[np.searchsorted(middle, values)])

    def _integer_limits(self) -> tuple[int, int]:
        name = number_name(self.dtype)
        if name.startswith(("int", "uint")):
            info = np.iinfo(name)
            return int(info.min), int(info.max)
        if name.startswith("float"):
            # Whole numbers kept as floats: every one up to here has its own float.
            top = 2 ** (np.finfo(name).nmant + 1)
            return -top, top
        return time_limits(self.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The label or the number to be predicted, and how it conditions generation."""

    column: Column
    task: Task

    position: int
    """Place of the target among the frame's columns."""

    edges: tuple[float, ...] = ()
    """Inner cut points of a regression target's bins; bin k holds edge k-1 < y <= k."""

    @property
    def n_conditions(self) -> int:
        """Number of class labels, or of target bins in regression."""
        if self.task == "classification":
            return len(self.column.levels)
        return len(self.edges) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameForm:
    """The container a table came in, so that it goes out the same way."""

    container: Container = "pandas"

    target_container: Container | None = None
    """Container of a target that was given apart; None when it is in the frame."""

    array_dtype: str = ""
    """Dtype of a numpy array of features; empty for frames."""

    target_dtype: str = ""
    """Dtype of a numpy array that holds the target alone; empty otherwise."""

    columns_dtype: str = ""
    """Dtype of the pandas index of column names; ``range`` for a RangeIndex."""

    columns_name: Hashable = None
    """Name of the pandas index of column names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Every feature in frame order, and the target if there is one."""

    features: tuple[Column, ...]
    target: Target | None = None
    form: FrameForm = FrameForm()

    @property
    def numeric(self) -> IntArray:
        """Positions, among the features, of the columns generated on a scale."""
        return self._positions("is_numeric")

    @property
    def categorical(self) -> IntArray:
        """Positions, among the features, of the columns generated as levels."""
        return self._positions("is_categorical")

    @property
    def n_conditions(self) -> int:
        """Number of targets generation can be asked for; 1 without a target."""
        return 1 if self.target is None else self.target.n_conditions

    def _positions(self, claim: str) -> IntArray:
        positions = [i for i, c in enumerate(self.features) if getattr(c.kind, claim)]
        return np.array(positions, dtype=np.int64)


# ---- What the text of a dtype says: family, number format, time unit and time zone.
#
# One vocabulary serves every container. A frame's own dtype is written as numpy writes
# it (``int64``, ``datetime64[us, UTC]``); a capital letter is a pandas nullable dtype
# (``Int64``); ``object[int]`` is an object column whose cells are Python ints; a
# trailing ``[arrow]`` is a column that pandas keeps in Arrow memory.


Family = Literal["float", "int", "bool", "time", "text", "category", "other"]

PER_DAY = {
    "D": 1,
    "s": 86_400,
    "ms": 86_400 * 10**3,
    "us": 86_400 * 10**6,
    "ns": 86_400 * 10**9,
}
"""How many of each unit of time make a day."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Dates run from 0001-01-01 to 9999-12-31, counted from 1970-01-01."""

_ARROW = "[arrow]"
_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("float16", "float32", "float64"), "float"),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "int"),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "int"),
    "bool": "bool",
    "boolean": "bool",
    "datetime64": "time",
    "timedelta64": "time",
    "date": "time",
    "str": "text",
    "string": "text",
    "utf8": "text",
    "large_utf8": "text",
    "category": "category",
    "enum": "category",
}


def is_object(dtype: str) -> bool:
    """Whether the cells are Python objects, one by one."""
    return dtype.startswith("object")


def is_arrow(dtype: str) -> bool:
    """Whether pandas keeps the column in Arrow memory."""
    return dtype.endswith(_ARROW)


def is_nullable(dtype: str) -> bool:
    """Whether it is one of the pandas dtypes with a mask: Int8 to Float64, boolean."""
    return dtype[:1].isupper() or dtype == "boolean"


def arguments(dtype: str) -> str:
    """Return what stands inside the outer brackets, or nothing."""
    _, _, inside = dtype.removesuffix(_ARROW).partition("[")
    return inside[:-1]


def number_name(dtype: str) -> str:
    """Return the lower-case element type, such as ``int64``, without any wrapping.

    Examples
    --------
    >>> number_name("Int8"), number_name("object[int]"), number_name("float32[arrow]")
    ('int8', 'int64', 'float32')
    """
    plain = arguments(dtype) if is_object(dtype) else dtype
    name = plain.partition("[")[0].lower()
    return {"int": "int64", "float": "float64"}.get(name, name)


def family(dtype: str) -> Family:
    """Return the family of values that a dtype holds."""
    return _FAMILIES.get(number_name(dtype), "other")


def time_unit(dtype: str) -> str:
    """Return the unit that a time is counted in; days for dates."""
    if number_name(dtype) == "date":
        return "D"
    return arguments(dtype).partition(",")[0]


def time_zone(dtype: str) -> str | None:
    """Return the name of the time zone, or None for times without one."""
    zone = arguments(dtype).partition(",")[2].strip()
    return zone or None


def is_time(dtype: str) -> bool:
    """Whether a time has a unit that is known, and a zone that names no file."""
    zone = time_zone(dtype) or ""
    return time_unit(dtype) in PER_DAY and not zone.startswith("dateutil/")


def time_limits(dtype: str) -> tuple[int, int]:
    """Return the earliest and the latest time that may be drawn, as counts.

    Dates and datetimes stay within the years that Python knows, with a day to spare
    for time zones; durations within 64 bits.  The smallest int64 means "not a time".
    """
    if number_name(dtype) == "timedelta64":
        return -(2**63 - 1), 2**63 - 1
    unit = time_unit(dtype)
    if unit == "D":
        return _FIRST_DAY, _LAST_DAY
    per_day = PER_DAY[unit]
    reach = 2**63 // per_day
    first, last = max(_FIRST_DAY, -reach) + 1, min(_LAST_DAY, reach) - 1
    return first * per_day, last * per_day
