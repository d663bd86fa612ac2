"""Numbers on the scale the network sees, and back, inside the real range.

Reads from: config, table.  Read by: diffusion.encoding.

Standard deviations are the default: with few rows a quantile map has nothing to
interpolate between (DECISIONS.md).  The quantile-normal scale is TabDiff's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from tabtap.config import DiffusionConfig
from tabtap.table.scale import NumberScale
from tabtap.table.schema import FloatArray

_MAX_KNOTS = 1000
_TAIL = 1e-3
"""Probability the outermost knots of the quantile scale stand for."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Fitted scale of every number column of one training table."""

    scale: NumberScale

    low: FloatArray
    high: FloatArray
    """Drawn numbers are clipped to this range, in the column's own units."""

    knots: FloatArray
    """Quantiles of each column, shape (n_knots, n_columns); no rows: standard scale."""

    @classmethod
    def of(cls, numbers: FloatArray, config: DiffusionConfig) -> Scaling:
        """Fit the scale on numbers with NaN where missing."""
        filled = _without_holes(numbers)
        low, high = np.quantile(filled, config.clip_quantiles, axis=0)
        knots = np.zeros((0, numbers.shape[1]))
        if config.scale == "quantile":
            n_knots = min(_MAX_KNOTS, max(10, len(filled) // 30))
            knots = np.quantile(filled, np.linspace(0, 1, n_knots), axis=0)
        return cls(NumberScale.of(numbers), low, high, knots)

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Return numbers as the network sees them; NaN where missing."""
        if not len(self.knots):
            return self.scale.standardise(numbers)
        grid = np.linspace(_TAIL, 1 - _TAIL, len(self.knots))
        scores = np.empty_like(numbers)
        for j, knots in enumerate(self.knots.T):
            # Ties: the middle of the probabilities that share a value.
            upper = np.interp(numbers[:, j], knots, grid)
            lower = 1 - np.interp(-numbers[:, j], -knots[::-1], 1 - grid[::-1])
            scores[:, j] = ndtri((upper + lower) / 2)
        return np.where(np.isnan(numbers), np.nan, scores)

    def decode(self, scores: FloatArray) -> FloatArray:
        """Return drawn scores in the column's own units, inside the real range."""
        if not len(self.knots):
            numbers = self.scale.restore(scores)
        else:
            grid = np.linspace(_TAIL, 1 - _TAIL, len(self.knots))
            columns = zip(scores.T, self.knots.T, strict=True)
            numbers = np.empty_like(scores)
            for j, (column, knots) in enumerate(columns):
                numbers[:, j] = np.interp(ndtr(column), grid, knots)
        return np.clip(numbers, self.low, self.high)


def _without_holes(numbers: FloatArray) -> FloatArray:
    """Fill holes with values of the same column, so that quantiles need no care."""
    filled = numbers.copy()
    for column in filled.T:
        present = column[~np.isnan(column)]
        hole = np.flatnonzero(np.isnan(column))
        column[hole] = present[hole % len(present)] if len(present) else 0.0
    return filled
