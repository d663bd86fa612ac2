"""Times as integers, and as the values a person knows them by.

A time is counted in the unit of its dtype from 1970 in UTC, so that time zones, clock
changes and nanoseconds survive.  As a level of a category it is a pandas Timestamp or
Timedelta of that unit, or a Python date.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.dtypes import number_name, time_limits, time_unit, time_zone

_EPOCH = dt.date(1970, 1, 1).toordinal()


def times_from_counts(counts: NDArray[np.int64], dtype: str) -> list[Any]:
    """Return counted times as Timestamps, Timedeltas or dates."""
    name, unit = number_name(dtype), time_unit(dtype)
    if name == "date":
        return [dt.date.fromordinal(_EPOCH + day) for day in counts.tolist()]
    if name == "timedelta64":
        return list(pd.TimedeltaIndex(counts.view(f"m8[{unit}]")))
    return list(as_datetime_index(counts, dtype))


def counts_from_times(times: Sequence[Any], dtype: str) -> NDArray[np.int64]:
    """Return times as counts of the dtype's unit."""
    name, unit = number_name(dtype), time_unit(dtype)
    if name == "date":
        counts = [day.toordinal() - _EPOCH for day in times]
    else:
        counts = [int(time.as_unit(unit).asm8.view(np.int64)) for time in times]
    return np.array(counts, dtype=np.int64)


def as_datetime_index(counts: NDArray[np.int64], dtype: str) -> pd.DatetimeIndex:
    """Return counted times as pandas keeps them, in the dtype's time zone."""
    index = pd.DatetimeIndex(counts.view(f"M8[{time_unit(dtype)}]"))
    zone = time_zone(dtype)
    return index if zone is None else index.tz_localize("UTC").tz_convert(zone)


def wall_clock_counts(
    counts: NDArray[np.int64], dtype: str
) -> NDArray[np.int64] | None:
    """Return times as a clock on the wall of their zone shows them.

    Returns
    -------
    array or None
        None without a zone, and when it is not exact: the hour a clock is set back
        happens twice.
    """
    low, high = time_limits(dtype)
    if time_zone(dtype) is None or counts.min() < low or counts.max() > high:
        return None
    local = as_datetime_index(counts, dtype).tz_localize(None)
    shown = np.array(local.to_numpy().view(np.int64))
    same = np.array_equal(counts_from_wall_clock(shown, dtype), counts)
    return shown if same else None


def counts_from_wall_clock(shown: NDArray[np.int64], dtype: str) -> NDArray[np.int64]:
    """Return counts in UTC of what a clock shows.

    An hour that is skipped becomes the next one; of an hour that happens twice the
    first is meant.
    """
    local = pd.DatetimeIndex(shown.view(f"M8[{time_unit(dtype)}]")).tz_localize(
        time_zone(dtype),
        ambiguous=np.ones(len(shown), dtype=bool),
        nonexistent="shift_forward",
    )
    return np.array(local.tz_convert(None).to_numpy().view(np.int64))
