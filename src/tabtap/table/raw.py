"""A column as it was read: plain numpy values beside what was missing and how.

Readers for pandas, Arrow and polars all end here, so that kinds are inferred and cells
are made in one place for every container.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.dtypes import Family, family
from tabtap.table.schema import BoolArray, Marker


@dataclass(frozen=True, kw_only=True, eq=False)
class RawColumn:
    """The values of one column in the plainest exact form of their family."""

    name: Hashable
    dtype: str

    values: NDArray[Any]
    """float64, int64 or uint64, bool, times as int64; codes for everything else."""

    missing: NDArray[np.int8]
    """0 where a value is, k where marker k - 1 stands."""

    markers: tuple[Marker, ...] = ()

    levels: tuple[Any, ...] = ()
    """What the codes stand for, in order; empty for numbers, bools and times."""

    categories: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def family(self) -> Family:
        """The family of values, by dtype."""
        return family(self.dtype)

    @property
    def is_coded(self) -> bool:
        """Whether ``values`` are codes into ``levels``."""
        return self.family in ("text", "category", "other")

    @cached_property
    def present(self) -> BoolArray:
        """True where there is a value."""
        return np.asarray(self.missing == 0)

    @cached_property
    def seen(self) -> NDArray[Any]:
        """The values that are there, in row order."""
        return self.values[self.present]

    @cached_property
    def distinct(self) -> NDArray[Any]:
        """The distinct values, sorted; -0.0 and 0.0 are two values."""
        if self.seen.dtype.kind != "f":
            return np.unique(self.seen)
        bits = np.unique(self.seen.view(np.int64))
        found = bits.view(np.float64)
        return found[np.lexsort((~np.signbit(found), found))]

    @cached_property
    def is_whole(self) -> bool:
        """Whether every value is an integer that a float holds beside its sign."""
        if self.family == "int":
            return True
        if self.family != "float":
            return False
        found = self.distinct
        whole = (np.rint(found) == found) & (np.abs(found) <= 2**53)
        negative_zero = (found == 0) & np.signbit(found)
        return bool((whole & ~negative_zero).all())


def rank_markers(
    forms: Sequence[tuple[Marker, BoolArray]], n_rows: int
) -> tuple[NDArray[np.int8], tuple[Marker, ...]]:
    """Return marker numbers per row and the markers found, the most frequent first."""
    counted = [(int(where.sum()), marker, where) for marker, where in forms]
    found = sorted((c for c in counted if c[0]), key=lambda c: -c[0])
    missing = np.zeros(n_rows, dtype=np.int8)
    for number, (_, _, where) in enumerate(found, start=1):
        missing[where] = number
    return missing, tuple(marker for _, marker, _ in found)


def marker_masks(
    missing: NDArray[np.int8], markers: tuple[Marker, ...], default: Marker
) -> dict[Marker, BoolArray]:
    """Return where each form of a hole stands; holes beyond the markers: default."""
    masks: dict[Marker, BoolArray] = {}
    for number in range(1, int(missing.max(initial=0)) + 1):
        marker = markers[number - 1] if number <= len(markers) else default
        where = missing == number
        masks[marker] = masks[marker] | where if marker in masks else where
    return masks


def code_values(values: Sequence[Any]) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """Return codes and the distinct values, sorted where they can be compared."""
    numbers: dict[Any, int] = {}
    first = np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values),
        dtype=np.int32,
        count=len(values),
    )
    levels = list(numbers)
    try:
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        # Values without an order keep the one in which they first came.
        order = list(range(len(levels)))
    place = np.empty(len(levels), dtype=np.int32)
    place[np.array(order, dtype=np.int64)] = np.arange(len(levels), dtype=np.int32)
    return place[first], tuple(levels[number] for number in order)
