"""The gate against copies: a row must be new to the real rows and to those kept.

Distances are counted in typical gaps, the median distance from a real row to its
nearest real neighbour, so the threshold does not depend on how columns were measured.

Where real rows repeat each other a repeat proves nothing, and to refuse it could mean
to refuse everything: a table of two yes/no columns has four rows to offer.  So nothing
is refused when the typical gap is 0, nor in a table of categories alone of whose rows a
tenth have a twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tabtap.domain import GateContext
from tabtap.gates.validity import MAX_TABLES
from tabtap.table.distance import DistanceScale, nearest, typical_gap
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.table.table import Table

NATURAL_REPEATS = 0.1
"""Share of real rows with a twin from which on repeats of categories are natural."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """Far enough from every real row and every row kept so far.

    Parameters
    ----------
    min_distance : float
        Nearer than this to another row is a copy; in typical gaps of real rows.
    """

    min_distance: float

    name: ClassVar[str] = "diversity"

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether each row is new to the real and the kept ones."""
        least = self.min_distance * _ruler(context.real).gap
        return np.asarray(_distance(candidates, context) >= least)

    def firsts(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return which rows are new to the rows before them.

        Of a pair that is too near the later one goes.  A row that goes takes no other
        with it.
        """
        ruler = _ruler(context.real)
        least = self.min_distance * ruler.gap
        gap, _ = nearest(candidates, candidates, ruler.scale, exclude_self=True)
        stays = gap >= least
        # Few are left to be looked at in turn: those that are near to any other.
        for row in np.flatnonzero(~stays):
            before = candidates.take(np.flatnonzero(stays[:row]))
            alone = candidates.take(np.array([row]))
            stays[row] = nearest(alone, before, ruler.scale)[0][0] >= least
        return stays

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return each row's distance to the nearest other, in typical gaps.

        Where the typical gap is no unit (see above), in the distance's own.
        """
        unit = _ruler(context.real).gap or 1.0
        return {"distance": _distance(candidates, context) / unit}


@dataclass(frozen=True, slots=True, eq=False)
class _Ruler:
    """What distances of one table are measured with."""

    scale: DistanceScale

    gap: float
    """The typical gap; 0 where no distance says that a row is a copy."""


# Tables never change and are hashed by identity; a run asks about the same few ones
# at every step.
@lru_cache(maxsize=MAX_TABLES)
def _ruler(real: Table) -> _Ruler:
    scale = DistanceScale.of(real)
    gap = typical_gap(real, scale)
    if not np.isfinite(gap) or _repeats_are_natural(real):
        gap = 0.0
    return _Ruler(scale, gap)


def _repeats_are_natural(real: Table) -> bool:
    if len(real.schema.numeric):
        return False
    _, group, size = np.unique(
        real.categorical, axis=0, return_inverse=True, return_counts=True
    )
    has_twin = size[group.ravel()] > 1
    return bool(has_twin.mean() >= NATURAL_REPEATS)


def _distance(candidates: Table, context: GateContext) -> FloatArray:
    scale = _ruler(context.real).scale
    # An infinite number is near nothing; to refuse it is the types gate's business.
    with np.errstate(invalid="ignore", over="ignore"):
        to_real, _ = nearest(candidates, context.real, scale)
        to_kept, _ = nearest(candidates, context.kept, scale)
    return np.nan_to_num(np.minimum(to_real, to_kept), nan=np.inf, posinf=np.inf)
