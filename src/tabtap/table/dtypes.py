"""What the text of a dtype says: family, number format, time unit and time zone.

One vocabulary serves every container.  A frame's own dtype is written as numpy writes
it (``int64``, ``datetime64[us, UTC]``); a capital letter is a pandas nullable dtype
(``Int64``); ``object[int]`` is an object column whose cells are Python ints; a trailing
``[arrow]`` is a column that pandas keeps in Arrow memory.
"""

from __future__ import annotations

from typing import Literal

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
