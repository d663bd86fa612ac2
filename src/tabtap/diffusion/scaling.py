"""Numbers on the scale the network sees, smoothed where rows are few, and back.

Standard deviations are the default: with few rows a quantile map has nothing to
interpolate between (DECISIONS.md).  The quantile-normal scale is TabDiff's.

Real columns pile up on single values: zeros of what most rows do not have, a default
somebody never changed.  A density cannot hit a point, so such a value, a *spike*, is a
state of the cell, drawn as a token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.covariance import ledoit_wolf

from tabtap.config import DiffusionConfig
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray
from tabtap.table.table import NumberScale

_SKEWED = 2.0
"""A column is skewed when its deviation is so many times what its quartiles suggest."""

_QUARTILES_APART = 1.349
"""Standard deviations between the quartiles of a normal column."""

HOLE = 1
"""State of a cell that has no number."""

_SPIKE_SHARE = 0.1
_SPIKE_ROWS = 5
_SPIKE_EXCESS = 5
_MAX_SPIKES = 8
_MAX_GRID = 256
_ROWS_PER_VALUE = 20
"""A column whose values are met so often each has no others."""

_MAX_KNOTS = 1000
_TAIL = 1e-3
"""Probability the outermost knots of the quantile scale stand for."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Fitted scale of every number column of one training table."""

    scale: NumberScale

    low: FloatArray
    high: FloatArray
    """Drawn numbers stay in this range, in the column's own units."""

    in_logs: BoolArray
    """Columns that are positive and so skewed that their logarithm is scaled."""

    knots: FloatArray
    """Quantiles of each column, shape (n_knots, n_columns); no rows: standard scale."""

    spikes: FloatArray
    """Values a column piles up on, shape (most, n_columns); NaN where there is none."""

    grid: FloatArray
    """All values of a column that has few, ascending, then NaN; drawn numbers go to
    the nearest.  Shape (most, n_columns)."""

    @classmethod
    def of(cls, numbers: FloatArray, config: DiffusionConfig) -> Scaling:
        """Fit the scale on numbers with NaN where missing."""
        filled = _without_holes(numbers)
        low, high = np.quantile(filled, config.clip_quantiles, axis=0)
        knots = np.zeros((0, numbers.shape[1]))
        if config.scale == "quantile":
            n_knots = min(_MAX_KNOTS, max(10, len(filled) // 30))
            knots = np.quantile(filled, np.linspace(0, 1, n_knots), axis=0)
        in_logs = _are_skewed(filled)
        scale = NumberScale.of(_logs(numbers, in_logs))
        spikes, grid = find_spikes(numbers), _columns_with_nan(filled, _few)
        return cls(scale, low, high, in_logs, knots, spikes, grid)

    def states(self, numbers: FloatArray) -> CodeArray:
        """Return 0 for a common number, 1 for a hole, 2 + k for spike k."""
        states = np.isnan(numbers).astype(np.int32)
        for k, spike in enumerate(self.spikes):
            states[numbers == spike] = k + 2
        return states

    def at_states(self, numbers: FloatArray, states: CodeArray) -> FloatArray:
        """Return numbers with holes and spikes put where the states say so."""
        numbers = np.where(states == HOLE, np.nan, numbers)
        for k, spike in enumerate(self.spikes):
            numbers = np.where(states == k + 2, spike, numbers)
        return numbers

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Return numbers as the network sees them; NaN where missing."""
        if not len(self.knots):
            return self.scale.standardise(_logs(numbers, self.in_logs))
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
        numbers = self._restore(scores)
        # The paper's scale comes with its clipping (appendix C.2.4).
        kept = np.clip if len(self.knots) else fold_into
        numbers = kept(numbers, self.low, self.high)
        for j, grid in enumerate(self.grid.T):
            known = grid[~np.isnan(grid)]
            if len(known):
                middle = (known[1:] + known[:-1]) / 2
                numbers[:, j] = known[np.searchsorted(middle, numbers[:, j])]
        return numbers

    def _restore(self, scores: FloatArray) -> FloatArray:
        if not len(self.knots):
            numbers = self.scale.restore(scores)
            with np.errstate(over="ignore"):
                return np.where(self.in_logs, np.exp(numbers), numbers)
        grid = np.linspace(_TAIL, 1 - _TAIL, len(self.knots))
        numbers = np.empty_like(scores)
        for j, knots in enumerate(self.knots.T):
            numbers[:, j] = np.interp(ndtr(scores[:, j]), grid, knots)
        return numbers


def _are_skewed(filled: FloatArray) -> BoolArray:
    """Find positive columns whose spread is mostly their tail's.

    In standard deviations most rows of such a column are one point, and what is drawn
    there is lost in the noise.
    """
    quarter, half, three = np.quantile(filled, [0.25, 0.5, 0.75], axis=0)
    core = np.maximum(three - quarter, 0.1 * np.abs(half)) / _QUARTILES_APART
    spread = NumberScale.of(filled).deviation
    positive = (filled > 0).all(axis=0)
    return np.asarray(positive & (spread > _SKEWED * core))


def _logs(numbers: FloatArray, in_logs: BoolArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(in_logs, np.log(np.where(in_logs, numbers, 1.0)), numbers)


def fold_into(numbers: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Reflect what is beyond a range back into it, as often as need be.

    Clipping would pile it up on the ends: a third of the rows of a very skewed column.

    Examples
    --------
    >>> fold_into(np.array([-0.25, 0.5, 1.25, 2.25]), 0.0, 1.0)
    array([0.25, 0.5 , 0.75, 0.25])
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        width = high - low
        beyond = np.mod(numbers - low, 2 * width)
        folded = low + np.where(beyond > width, 2 * width - beyond, beyond)
    # Inside nothing moves by rounding; a range without width, or too wide, is clipped.
    inside = (numbers >= low) & (numbers <= high)
    moved = np.where(np.isfinite(folded), folded, numbers)
    return np.clip(np.where(inside, numbers, moved), low, high)


def find_spikes(numbers: FloatArray) -> FloatArray:
    """Find the values that columns pile up on.

    A spike has a tenth of a column's rows, at least five, and five times as many as
    the other values have on average.  A column has at most eight.

    Examples
    --------
    >>> zero_inflated = np.r_[np.zeros(10), np.arange(1.0, 31.0)]
    >>> find_spikes(zero_inflated[:, None])
    array([[0.]])
    """
    return _columns_with_nan(numbers, _spikes)


def _spikes(column: FloatArray) -> FloatArray:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    often = counts >= max(_SPIKE_ROWS, _SPIKE_SHARE * counts.sum())
    if often.all():
        return values[:0]
    # Where every value repeats, as on a coarse grid, repeating is nothing special.
    often &= counts >= _SPIKE_EXCESS * counts[~often].mean()
    kept = np.flatnonzero(often)[np.argsort(-counts[often], kind="stable")]
    return np.sort(values[kept[:_MAX_SPIKES]])


def _few(column: FloatArray) -> FloatArray:
    values = np.unique(column)
    few = len(values) <= min(_MAX_GRID, len(column) / _ROWS_PER_VALUE)
    return values if few else values[:0]


def _columns_with_nan(
    numbers: FloatArray, find: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return what is found in each column, as columns padded with NaN."""
    by_column = [find(column) for column in numbers.T]
    padded = np.full((max(map(len, by_column), default=0), len(by_column)), np.nan)
    for j, values in enumerate(by_column):
        padded[: len(values), j] = values
    return padded


def _without_holes(numbers: FloatArray) -> FloatArray:
    """Fill holes with values of the same column, so that quantiles need no care."""
    filled = numbers.copy()
    for column in filled.T:
        present = column[~np.isnan(column)]
        hole = np.flatnonzero(np.isnan(column))
        column[hole] = present[hole % len(present)] if len(present) else 0.0
    return filled


# ---- The smoothed table that a backbone learns when rows are few.
#
# A network trained on forty rows remembers forty rows, and its samples are near copies.
# So with few rows it learns the smoothed bootstrap of the table instead: a real row,
# drawn towards the mean of its class, plus noise with the covariance of the rows within
# classes (Ledoit-Wolf), so that mean and covariance of each class stay what they are.
# The bandwidth shrinks with the number of rows and ends at nothing.  DECISIONS.md says
# what this was measured to bring.


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
