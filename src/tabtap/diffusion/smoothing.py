"""The smoothed table that a backbone learns when rows are few.

A network trained on forty rows remembers forty rows, and its samples are near copies.
So with few rows it learns the smoothed bootstrap of the table instead: a real row,
drawn towards the mean of its class, plus noise with the covariance of the rows within
classes (Ledoit-Wolf), so that mean and covariance of each class stay what they are.
The bandwidth shrinks with the number of rows and ends at nothing.  DECISIONS.md says
what this was measured to bring.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.covariance import ledoit_wolf

from tabtap.config import DiffusionConfig
from tabtap.table.schema import BoolArray, FloatArray, IntArray

BANDWIDTH = 0.65
"""Bandwidth for ``FEW_ROWS`` rows and fewer with very many numbers."""

FEW_ROWS = 50
_LEAST = 0.1
"""A bandwidth below this one is none."""


class Smoothing(NamedTuple):
    """What turns a real row into a draw from the smoothed table."""

    bandwidth: float

    means: FloatArray
    """Mean of each condition, shape (n_conditions, n_numbers)."""

    factor: FloatArray
    """Square root of the covariance within conditions."""


def bandwidth_for(n_rows: int, n_numbers: int) -> float:
    """Return the bandwidth for a table of so many rows and numbers.

    Few rows say little of a density over many numbers, so more numbers ask for more
    smoothing, as in the usual rules for kernel density estimates.

    Examples
    --------
    >>> [round(bandwidth_for(n, 77), 2) for n in (20, 50, 200, 1000, 5000)]
    [0.62, 0.62, 0.31, 0.14, 0.0]
    >>> [round(bandwidth_for(50, n_numbers), 2) for n_numbers in (1, 3, 8, 30)]
    [0.13, 0.28, 0.43, 0.57]
    """
    bandwidth = BANDWIDTH * n_numbers / (n_numbers + 4)
    bandwidth *= min(1.0, (FEW_ROWS / n_rows) ** 0.5)
    return bandwidth if bandwidth >= _LEAST else 0.0


def bandwidth_of(n_rows: int, n_numbers: int, config: DiffusionConfig) -> float:
    """Return the bandwidth that is set, or else the one for such a table."""
    if config.smoothing is not None:
        return config.smoothing
    return bandwidth_for(n_rows, n_numbers)


def fit_smoothing(
    numbers: FloatArray, observed: BoolArray, condition: IntArray, bandwidth: float
) -> Smoothing:
    """Fit means and covariance of standardised numbers within conditions."""
    n_conditions = int(condition.max()) + 1
    means = np.zeros((n_conditions, numbers.shape[1]))
    for k in np.unique(condition):
        rows = condition == k
        count = np.maximum(observed[rows].sum(axis=0), 1)
        means[k] = np.where(observed[rows], numbers[rows], 0.0).sum(axis=0) / count
    off = np.where(observed, numbers - means[condition], 0.0)
    # One degree of freedom went into the mean of each condition.
    free = max(1, len(off) - len(np.unique(condition)))
    covariance, _ = ledoit_wolf(off * np.sqrt(len(off) / free), assume_centered=True)
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    return Smoothing(bandwidth, means, factor)
