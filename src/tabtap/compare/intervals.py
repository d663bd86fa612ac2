"""Intervals of several mean differences that hold together.

Of seven methods that change nothing, one looks good by chance far more often than a
single one would.  So the intervals are widened until all of them hold at once, by what
their differences have in common: methods that are wrong about the same rows are hardly
more than one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from tabtap.domain.judgement import one_sided
from tabtap.table.schema import FloatArray, IntArray

CONFIDENCE = 0.9
"""That all of the two-sided intervals hold."""

_N_DRAWS = 20_000


def intervals(differences: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """Return the mean of each column, and both ends of its interval.

    Parameters
    ----------
    differences : array of shape (n_rows, n_columns)
        How much smaller the loss of a row is, one column for each method.
    clusters : array of shape (n_rows,), optional
        Rows of one cluster say the same thing again, and count as one.

    Returns
    -------
    array of shape (n_columns, 3)
        Mean, low, high.  All intervals hold together with ``CONFIDENCE``.

    Examples
    --------
    >>> together = intervals(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> alone = intervals(np.array([[0.0], [1.0], [1.0]]))
    >>> bool(together[0, 1] < alone[0, 1] < alone[0, 0])
    True
    """
    # One standard error: the margin of a one-sided bound over its quantile.
    one = (1 + CONFIDENCE) / 2
    bounds = [one_sided(column, one, clusters) for column in differences.T]
    count = len(differences) if clusters is None else len(np.unique(clusters))
    means = np.array([bound.gain for bound in bounds])
    margins = np.array([bound.margin for bound in bounds])
    if count > 1:
        centred = _totals(differences - means, clusters)
        margins *= _critical(centred, count - 1) / stdtrit(count - 1, one)
    return np.column_stack([means, means - margins, means + margins])


def _totals(centred: FloatArray, clusters: IntArray | None) -> FloatArray:
    if clusters is None:
        return centred
    names, place = np.unique(clusters, return_inverse=True)
    totals = np.zeros((len(names), centred.shape[1]))
    np.add.at(totals, place, centred)
    return totals


def _critical(centred: FloatArray, freedom: int) -> float:
    """Return how many standard errors the largest of several t values reaches."""
    size = np.sqrt((centred**2).sum(axis=0))
    varied = size > 0
    alone = float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    if varied.sum() < 2:
        return alone
    unit = centred[:, varied] / size[varied]
    # Rotated noise has the columns' correlation, whatever their number.
    rng = np.random.default_rng(0)
    root = np.asarray(np.linalg.qr(unit, mode="r"))
    noise = rng.standard_normal((_N_DRAWS, root.shape[0])) @ root
    scale = np.sqrt(rng.chisquare(freedom, _N_DRAWS) / freedom)
    largest = np.abs(noise).max(axis=1) / scale
    return max(alone, float(np.quantile(largest, CONFIDENCE)))
