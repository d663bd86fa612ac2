"""Two hard gates: cells that could stand in the real table, and numbers in its range.

Both judge the decoded, rounded row.  Cells that no one redraws are excused: an
identifier is empty in a new row, and a number that a row has from the real row it
descends from is real, however extreme (the paper clips what it draws, no more).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabtap.domain import GateContext
from tabtap.table.schema import BoolArray, Column, FloatArray, Kind
from tabtap.table.table import NO_ROW, Table, ancestor_rows

Ends = tuple[NDArray[Any], NDArray[Any]]

MAX_TABLES = 16
"""Tables whose figures are remembered: one for each lineage of a run, and spare."""


@dataclass(frozen=True, slots=True)
class ValidTypes:
    """Levels and targets that real rows have, finite numbers, holes where they do."""

    name: ClassVar[str] = "types"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether every cell and the target could stand in a real row."""
        fine = _valid_target(candidates, context.real)
        for place, column in enumerate(candidates.schema.features):
            if column.kind is not Kind.IDENTIFIER:
                fine &= _valid_cells(candidates, context.real, place)
        return fine


@dataclass(frozen=True, slots=True)
class InRange:
    """Numbers between two quantiles of the real column, both ends included.

    Parameters
    ----------
    quantiles : tuple of two floats
        The paper's q_min and q_max.  The ends are rounded as the column is, so that
        a number drawn at an end and rounded is inside.

    Notes
    -----
    Holes pass: whether a cell may be empty is a matter of types.  Targets are not
    judged.  A number equal to that of the row's origin was kept, not drawn.
    """

    quantiles: tuple[float, float]

    name: ClassVar[str] = "range"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether every number that was drawn lies in the real range."""
        fine = np.ones(len(candidates), dtype=np.bool_)
        ends = _real_ends(context.real, self.quantiles)
        kept = _kept_cells(candidates, context.real)
        for place, pair in zip(candidates.schema.numeric, ends, strict=True):
            inside = candidates.missing[:, place] > 0
            if pair is not None:
                cells = candidates.cells[place]
                inside = inside | ((cells >= pair[0]) & (cells <= pair[1]))
            fine &= inside | kept[:, place]
        return fine


def _valid_target(candidates: Table, real: Table) -> BoolArray:
    finite = np.isfinite(candidates.target_values)
    # In regression the bin must have been seen; the exact value may be new.
    seen = np.isin(candidates.condition, real.condition)
    return np.asarray(finite & seen)


def _valid_cells(candidates: Table, real: Table, place: int) -> BoolArray:
    column = candidates.schema.features[place]
    cells, marker = candidates.cells[place], candidates.missing[:, place]
    real_hole = real.missing[:, place] > 0
    hole_allowed = (marker <= len(column.markers)) & bool(real_hole.any())
    if column.kind.is_numeric:
        value_allowed = np.isfinite(cells)
    else:
        value_allowed = np.isin(cells, real.cells[place][~real_hole])
    return np.where(marker > 0, hole_allowed, value_allowed)


# Tables never change and are hashed by identity; a run asks about the same few ones
# at every step.
@lru_cache(maxsize=MAX_TABLES)
def _real_ends(real: Table, quantiles: tuple[float, float]) -> tuple[Ends | None, ...]:
    """Return the ends of each numeric column; None without a single number."""
    lows, highs = _quantiles(real.numeric, quantiles)
    ends: list[Ends | None] = []
    for place, low, high in zip(real.schema.numeric, lows, highs, strict=True):
        seen = real.cells[place][real.missing[:, place] == 0]
        if not len(seen):
            ends.append(None)
            continue
        column = real.schema.features[place]
        # Exact at the very ends: large integers and nanoseconds outgrow a float.
        least = seen.min() if quantiles[0] == 0 else _stored(column, low)
        most = seen.max() if quantiles[1] == 1 else _stored(column, high)
        ends.append((least, most))
    return tuple(ends)


def _quantiles(numbers: FloatArray, quantiles: tuple[float, float]) -> FloatArray:
    """Return the quantiles of each column, of its numbers alone; 0 without any."""
    found = np.zeros((2, numbers.shape[1]))
    hole = np.isnan(numbers)
    whole = ~hole.any(axis=0)
    # All at once: one by one they would be the dearest part of a gate.
    if len(numbers):
        found[:, whole] = np.quantile(numbers[:, whole], quantiles, axis=0)
    for place in np.flatnonzero(~whole & ~hole.all(axis=0)):
        found[:, place] = np.quantile(numbers[~hole[:, place], place], quantiles)
    return found


def _stored(column: Column, number: float) -> NDArray[Any]:
    return np.asarray(column.store(np.array([number]))[0])


def _kept_cells(candidates: Table, real: Table) -> BoolArray:
    """Return where a candidate has exactly what the real row it descends from has."""
    kept = np.zeros(candidates.missing.shape, dtype=np.bool_)
    if not len(real):
        return kept
    parent = ancestor_rows(real, candidates)
    known = parent != NO_ROW
    for place in candidates.schema.numeric:
        same = candidates.cells[place] == real.cells[place][parent]
        kept[:, place] = known & same & (real.missing[parent, place] == 0)
    return kept
