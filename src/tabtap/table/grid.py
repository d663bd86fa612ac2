"""The grid a column's numbers lie on: decimal places, or a base and a step.

A price with two decimals must stay one, and a date at midnight must stay a date.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.dtypes import PER_DAY, number_name, time_unit
from tabtap.table.schema import FloatArray

MAX_DECIMALS = 12
"""A double has 15 safe digits: more decimals than this are noise, not precision."""

_TRUSTED_VALUES = 8
"""Distinct values from which a common divisor is a property and not luck: that the
seven gaps of random integers share one has a chance of 1 in 120."""

_NATURAL_SECONDS = (86_400, 3_600, 60, 1)


def decimal_places(values: FloatArray, dtype: str) -> int | None:
    """Return the fewest decimal places that keep every value, or None.

    ``values`` are the distinct values.  A float32 counts as reproduced when rounding
    gives back the same float32, so 0.1 has one decimal in either width.
    """
    narrow = np.dtype(number_name(dtype))
    wanted = values.astype(narrow)
    for places in range(MAX_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(values, places)
            rounded = np.where(np.isfinite(rounded), rounded, values)
            if np.array_equal(rounded.astype(narrow), wanted):
                return places
    return None


def whole_grid(seen: NDArray[Any], distinct: NDArray[Any]) -> tuple[int, int]:
    """Return base and step of integers: the first value and the common divisor."""
    base = int(seen[0])
    if len(distinct) < _TRUSTED_VALUES:
        return base, 1
    return base, _divisor(distinct)


def time_grid(
    seen: NDArray[Any], distinct: NDArray[Any], dtype: str
) -> tuple[int, int]:
    """Return base and step of times: the coarsest unit that all gaps are made of.

    Gaps are taken from the first value, not from midnight in Greenwich.
    """
    base = int(seen[0])
    divisor = _divisor(distinct)
    if len(distinct) >= _TRUSTED_VALUES:
        return base, divisor
    for step in _natural_steps(time_unit(dtype)):
        if divisor % step == 0:
            return base, step
    return base, 1


def _natural_steps(unit: str) -> list[int]:
    if unit == "D":
        return [1]
    second = PER_DAY[unit] // 86_400
    long = [number * second for number in _NATURAL_SECONDS]
    return long + [second // 10**power for power in (3, 6, 9) if second >= 10**power]


def _divisor(distinct: NDArray[Any]) -> int:
    if int(distinct[-1]) - int(distinct[0]) >= 2**63:
        # The differences do not fit an int64.
        whole = [int(value) for value in distinct]
        return max(1, math.gcd(*(value - whole[0] for value in whole)))
    return max(1, int(np.gcd.reduce(np.diff(distinct).astype(np.int64), initial=0)))
