"""How much of single real rows the synthetic ones give away: figures, no protection.

No figure here proves that nobody can be recognised.  They show what anyone who holds
both tables can see, and stand beside the same figure of real rows, which is its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tabtap.domain import Measured
from tabtap.domain.judgement import cross_fitted
from tabtap.fidelity import (
    MAX_BASELINE_ROWS,
    distance_ratio,
    is_copy,
    shared_cells,
)
from tabtap.table.distance import DistanceScale, nearest
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult

TELLING_CELLS = 3
"""Unchanged cells from which on a verdict speaks of them."""

_ONE_SIDE = 0.95
"""Of an interval of 90 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """What synthetic rows give away of single real rows.

    Examples
    --------
    >>> genes = Privacy(
    ...     n_cells=500,
    ...     cells_mean=80.0,
    ...     cells_most=156,
    ...     real_cells_mean=0.2,
    ...     real_cells_most=2,
    ...     n_copies=0,
    ...     distance_ratio=0.8,
    ...     real_distance_ratio=0.97,
    ...     membership=Measured(0.71, 0.04),
    ... )
    >>> genes.carries_cells, genes.tells_members
    (True, True)
    """

    n_cells: int
    """Features that are generated: cells that a row could take over."""

    cells_mean: float
    cells_most: int
    """Cells of a synthetic row that are those of one real row, unchanged: on average,
    and at most.  Holes do not count."""

    real_cells_mean: float
    real_cells_most: int
    """The same of real rows: what each has in common with another."""

    n_copies: int
    """Synthetic rows that have every feature of one real row."""

    distance_ratio: float
    """Median of the distance of the closest real row over that of the next closest: 1
    if no row points at a single real one, near 0 if each does."""

    real_distance_ratio: float
    """The same of real rows to other real rows."""

    membership: Measured | None
    """How often nearness tells which of two generators had seen a real row, where only
    one had; 0.5 is guessing.  None where there is no generator that had not seen it, or
    where the result does not say."""

    @property
    def carries_cells(self) -> bool:
        """Whether a row carries more cells of a real row than two real rows share."""
        return _is_much(self.cells_most, self.real_cells_most)

    @property
    def tells_members(self) -> bool:
        """Whether nearness is shown to tell who was learned from."""
        known = self.membership
        return known is not None and known.value - known.margin > 0.5

    def to_json(self) -> dict[str, Any]:
        """Return the figures by name; null for one that is not known."""
        known = self.membership
        return {
            "n_cells": self.n_cells,
            "cells_mean": self.cells_mean,
            "cells_most": self.cells_most,
            "real_cells_mean": self.real_cells_mean,
            "real_cells_most": self.real_cells_most,
            "n_copies": self.n_copies,
            "distance_ratio": _finite(self.distance_ratio),
            "real_distance_ratio": _finite(self.real_distance_ratio),
            "membership": None
            if known is None
            else {"value": known.value, "margin": _finite(known.margin)},
        }


def privacy_of(result: AugmentResult) -> Privacy | None:
    """Return what the synthetic rows of a result give away; None if there are none."""
    real, new = result.real, result.delivered.rows
    if not len(new):
        return None
    scale, some = DistanceScale.of(real), _some(real)
    cells, real_cells = shared_cells(new, real), _shared_by_real(real)
    return Privacy(
        n_cells=len(real.schema.numeric) + len(real.schema.categorical),
        cells_mean=float(cells.mean()),
        cells_most=int(cells.max()),
        real_cells_mean=float(real_cells.mean()),
        real_cells_most=int(real_cells.max()),
        n_copies=int(is_copy(real, new).sum()),
        distance_ratio=_median(distance_ratio(new, real, scale)),
        real_distance_ratio=_median(
            distance_ratio(some, some, scale, exclude_self=True)
        ),
        membership=membership(result, scale),
    )


def membership(result: AugmentResult, scale: DistanceScale) -> Measured | None:
    """Ask of every real row which of two generators had seen it, by nearness alone.

    Each generator has a fold that it never saw, so every real row is a member for some
    generators and held out from others.  It is said to be a member of the one whose
    rows come nearer.  That is asked for every pair of which one had seen the row, and
    a row counts once.
    """
    if result.folds is None:
        return None
    real, new = result.real, result.delivered.rows
    members = np.unique(new.unseen_fold[new.unseen_fold >= 0])
    if not len(members):
        return None
    held_out = np.array([(result.folds == m).any(axis=0) for m in members])
    near = np.array(
        [nearest(real, new.take(new.unseen_fold == m), scale)[0] for m in members]
    )
    asked = held_out.any(axis=0) & ~held_out.all(axis=0)
    if asked.sum() < 2:
        return None
    right = np.array([_told(near[:, i], held_out[:, i]) for i in np.flatnonzero(asked)])
    n_folds = len(np.unique(result.folds[0]))
    bound = cross_fitted(right, _ONE_SIDE, max(n_folds, 2), _clusters(result, asked))
    return Measured(bound.gain, bound.margin)


def cells_words(result: AugmentResult) -> str:
    """Say that a new row carries much of one real row, where it does; else nothing."""
    real, new = result.real, result.delivered.rows
    if not len(new):
        return ""
    most, usual = int(shared_cells(new, real).max()), int(_shared_by_real(real).max())
    if not _is_much(most, usual):
        return ""
    n_cells = len(real.schema.numeric) + len(real.schema.categorical)
    return (
        f"A new row carries up to {most} of {n_cells} cells of one real row unchanged "
        f"(two real rows share at most {usual}), so guard the new rows like the real."
    )


def _is_much(most: int, usual: int) -> bool:
    return most >= TELLING_CELLS and most > usual


def _told(near: FloatArray, held_out: Any) -> float:  # noqa: ANN401 - booleans
    """Return how often a generator that had seen a row comes nearer than one that not.

    Equal distances are a guess.
    """
    seen, unseen = near[~held_out][:, None], near[held_out][None, :]
    return float(np.mean((seen < unseen) + 0.5 * (seen == unseen)))


def _clusters(result: AugmentResult, asked: Any) -> IntArray | None:  # noqa: ANN401
    if result.about.groups is None:
        return None
    labels = result.real_groups.astype(str)
    codes: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return np.asarray(codes[asked])


def _some(real: Table) -> Table:
    """Return enough real rows to know what is usual among them, evenly spaced."""
    if len(real) <= MAX_BASELINE_ROWS:
        return real
    chosen = np.linspace(0, len(real) - 1, MAX_BASELINE_ROWS).astype(np.int64)
    return real.take(chosen)


def _shared_by_real(real: Table) -> IntArray:
    some = _some(real)
    return shared_cells(some, some, exclude_self=True)


def _median(ratio: FloatArray) -> float:
    known = ratio[np.isfinite(ratio)]
    return float(np.median(known)) if len(known) else float("nan")


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
