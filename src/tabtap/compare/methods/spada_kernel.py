"""Draw the row of a table that a new row's cell is taken from, or drawn around.

A real row counts the more, the nearer its parents are to the new row's: by a Gaussian
kernel in their numbers, and by whether their categories are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.table.schema import BoolArray, FloatArray, IntArray

_MISMATCH = 0.02
"""What a row counts for each category in which it differs."""

_AT_ONCE = 512
"""New rows that are compared with all real ones at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Real rows as one column's parents see them."""

    parents: FloatArray
    """Shape (n_rows, n_parents): standardised numbers, NaN where missing, and codes."""

    is_number: BoolArray
    """Which of the parents are numbers."""

    @property
    def bandwidth(self) -> float:
        """Silverman's, for so many numbers in units of their deviation."""
        n_numbers = int(self.is_number.sum())
        scale = (4 / (n_numbers + 2)) ** (1 / (n_numbers + 4))
        return float(scale * len(self.parents) ** (-1 / (n_numbers + 4)))

    def draw(
        self, wanted: FloatArray, usable: BoolArray, rng: np.random.Generator
    ) -> IntArray:
        """Draw a real row for each new row, by the parents of both.

        Parameters
        ----------
        wanted : array of shape (n_new, n_parents)
            Parents of the new rows.
        usable : bool array of shape (n_rows,)
            Real rows that may be drawn; at least one.
        """
        luck = rng.random(len(wanted))
        drawn = [
            _pick(self.weights(wanted[part], usable), luck[part])
            for part in _parts(len(wanted))
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *drawn])

    def around(
        self,
        values: FloatArray,
        wanted: FloatArray,
        usable: BoolArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw a number for each new row: a real one of its like, and noise.

        The noise is Silverman's bandwidth of the numbers that count.
        """
        row = self.draw(wanted, usable, rng)
        filled = np.where(usable, values, 0.0)
        width = [np.zeros(0)]
        for part in _parts(len(wanted)):
            weights = self.weights(wanted[part], usable)
            n_like = 1 / (weights**2).sum(axis=1)
            mean = weights @ filled
            spread = np.sqrt(np.maximum(weights @ filled**2 - mean**2, 0.0))
            width.append(1.06 * spread * n_like**-0.2)
        return filled[row] + np.concatenate(width) * rng.normal(size=len(wanted))

    def weights(self, wanted: FloatArray, usable: BoolArray) -> FloatArray:
        """Return how much each real row counts for each new one; sums are 1."""
        logs = np.where(usable, 0.0, -np.inf)[None, :].repeat(len(wanted), axis=0)
        for place, is_number in enumerate(self.is_number):
            new, real = wanted[:, place][:, None], self.parents[:, place][None, :]
            if is_number:
                distance = (new - real) / self.bandwidth
                # A hole is like a hole, and like nothing else.
                one, both = (
                    np.isnan(new) ^ np.isnan(real),
                    np.isnan(new) & np.isnan(real),
                )
                term = np.where(one, np.log(_MISMATCH), -0.5 * distance**2)
                logs += np.where(both, 0.0, term)
            else:
                logs += np.where(new == real, 0.0, np.log(_MISMATCH))
        logs -= logs.max(axis=1, keepdims=True)
        weights = np.exp(logs)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _pick(weights: FloatArray, luck: FloatArray) -> IntArray:
    upto = np.cumsum(weights, axis=1)
    # Never beyond the last row that counts, whatever the sum was rounded to.
    threshold = luck[:, None] * upto[:, -1:]
    return np.asarray((upto <= threshold).sum(axis=1))


def _parts(n_rows: int) -> list[slice]:
    starts = range(0, n_rows, _AT_ONCE)
    return [slice(start, start + _AT_ONCE) for start in starts]
