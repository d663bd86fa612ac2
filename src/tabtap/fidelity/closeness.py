"""How near synthetic rows come to real ones, beside how near real rows are to others.

Distances are those of ``table.distance``, in standard deviations of the real columns;
targets take no part.  A figure of nearness is not a proof of privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.fidelity.likeness import NEAR_SHARE, is_copy
from tabtap.table.distance import DistanceScale, nearest
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table

LOW_SHARE = 0.05
"""Share of the real rows that are nearer to another than ``Closeness.threshold``."""

MAX_BASELINE_ROWS = 3000
"""Real rows whose nearest neighbours suffice to know what is usual."""


@dataclass(frozen=True, slots=True, eq=False)
class Closeness:
    """Distances to the closest real row."""

    distance: FloatArray
    """Shape (n_synthetic,): from each synthetic row to the closest real one."""

    row: IntArray
    """Shape (n_synthetic,): place of that row among the real ones."""

    baseline: FloatArray
    """From each real row to the closest other one; of a long table, some rows."""

    exact: BoolArray
    """Shape (n_synthetic,): every feature equals that of one real row."""

    @property
    def threshold(self) -> float:
        """Distance that 5 % of the real rows stay below; NaN for a single row."""
        if not np.isfinite(self.baseline).any():
            return float("nan")
        return float(np.quantile(self.baseline, LOW_SHARE))

    @property
    def nearer(self) -> BoolArray:
        """Whether each synthetic row is nearer to a real one than that."""
        return np.asarray(self.distance < self.threshold)

    @property
    def near(self) -> BoolArray:
        """Exact copies, and rows nearer than a tenth of the usual gap."""
        gap = np.median(self.baseline) if len(self.baseline) else np.inf
        if not np.isfinite(gap):
            return self.exact
        return np.asarray(self.exact | (self.distance < NEAR_SHARE * gap))

    @property
    def reach(self) -> float:
        """Distance of the loneliest real row from the closest other; NaN for one."""
        if not np.isfinite(self.baseline).any():
            return float("nan")
        return float(self.baseline.max())


def measure_closeness(real: Table, synthetic: Table) -> Closeness:
    """Measure how near synthetic rows come to real ones.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema; ``real`` has rows.

    Returns
    -------
    Closeness
        In a table of more than ``MAX_BASELINE_ROWS`` rows the baseline is taken over
        that many evenly spaced ones, each against all that are not among them.
    """
    scale = DistanceScale.of(real)
    distance, row = nearest(synthetic, real, scale)
    return Closeness(distance, row, _baseline(real, scale), is_copy(real, synthetic))


def _baseline(real: Table, scale: DistanceScale) -> FloatArray:
    if len(real) <= MAX_BASELINE_ROWS:
        return nearest(real, real, scale, exclude_self=True)[0]
    chosen = np.zeros(len(real), dtype=np.bool_)
    chosen[np.linspace(0, len(real) - 1, MAX_BASELINE_ROWS).astype(np.int64)] = True
    return nearest(real.take(chosen), real.take(~chosen), scale)[0]
