"""Numbers in standard deviations from their mean, column by column.

Holes stay holes, a column without spread becomes 0, and numbers near the largest float
do not overflow on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NumberScale:
    """Mean and standard deviation of each column of a matrix with holes."""

    exponent: NDArray[np.int32]
    """Power of two that brings each column near 1, so that no square overflows."""

    center: FloatArray
    """Mean of each column, in those powers of two."""

    spread: FloatArray
    """Standard deviation, in those powers of two; 0 for a column without spread."""

    @classmethod
    def of(cls, numbers: FloatArray) -> NumberScale:
        """Fit the scale on the numbers that are not missing."""
        present = ~np.isnan(numbers)
        peak = np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0)
        exponent = np.frexp(peak)[1].astype(np.int32)
        near_one = np.where(present, np.ldexp(numbers, -exponent), 0.0)
        count = np.maximum(present.sum(axis=0), 1)
        center = near_one.sum(axis=0) / count
        off = np.where(present, near_one - center, 0.0)
        spread = np.sqrt((off**2).sum(axis=0) / count)
        # Asked of the numbers, not of the spread: a mean of equals may be off a bit.
        top = np.fmax.reduce(numbers, axis=0, initial=-np.inf)
        bottom = np.fmin.reduce(numbers, axis=0, initial=np.inf)
        return cls(exponent, center, np.where(top > bottom, spread, 0.0))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column in its own units."""
        return np.asarray(np.ldexp(self.spread, self.exponent))

    def standardise(self, numbers: FloatArray) -> FloatArray:
        """Return numbers in standard deviations from the mean, NaN where missing.

        Examples
        --------
        >>> numbers = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
        >>> NumberScale.of(numbers).standardise(numbers)
        array([[-1.,  0.],
               [ 1.,  0.],
               [nan,  0.]])
        """
        off = np.ldexp(numbers, -self.exponent) - self.center
        flat = self.spread == 0
        return np.asarray(off * ~flat / np.where(flat, 1.0, self.spread))

    def restore(self, scores: FloatArray) -> FloatArray:
        """Return standardised numbers in the columns' own units.

        Examples
        --------
        >>> NumberScale.of(np.array([[1.0], [3.0]])).restore(np.array([[-1.0], [2.0]]))
        array([[1.],
               [4.]])
        """
        return np.asarray(np.ldexp(scores * self.spread + self.center, self.exponent))
