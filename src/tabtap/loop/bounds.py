"""One-sided bounds on a mean difference, and how confidence is shared among looks."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from tabtap.domain import Bound
from tabtap.table.schema import FloatArray, IntArray


def one_sided(
    differences: FloatArray, confidence: float, clusters: IntArray | None = None
) -> Bound:
    """Bound the mean of some paired differences from below.

    Parameters
    ----------
    differences : array of shape (n,)
        Score with a pool minus score without, one per query or per fold.
    confidence : float
        How often the mean may not fall below the bound.
    clusters : array of shape (n,), optional
        Group of each difference.  Rows of one group say the same thing again, so the
        groups' means are what is counted.

    Returns
    -------
    Bound
        Student's t with one degree of freedom less than there are differences or
        groups.  With fewer than two of them the margin is infinite.

    Examples
    --------
    >>> bound = one_sided(np.array([0.1, 0.2, 0.3]), 0.9)
    >>> round(bound.gain, 3), round(bound.margin, 3)
    (0.2, 0.109)
    """
    gain = float(np.mean(differences)) if len(differences) else float("nan")
    if clusters is not None and len(clusters) == len(differences):
        _, place = np.unique(clusters, return_inverse=True)
        count = len(np.bincount(place))
        totals = np.bincount(place, weights=differences - gain)
        # The error of the mean when whole groups are drawn, not rows.
        spread = np.sqrt(np.sum(totals**2) * count / max(count - 1, 1))
        error = spread / len(differences)
    else:
        count = len(differences)
        error = np.std(differences, ddof=1) / np.sqrt(count) if count > 1 else 0.0
    if count < 2:
        return Bound(gain, float("inf"), confidence)
    return Bound(gain, float(stdtrit(count - 1, confidence) * error), confidence)


def two_sided_fold_margin(fold_gains: FloatArray, confidence: float) -> float:
    """Return the paper's error bar: a t interval over folds (equation 49)."""
    n_folds = len(fold_gains)
    if n_folds < 2:
        return float("inf")
    spread = float(np.std(fold_gains, ddof=1))
    quantile = float(stdtrit(n_folds - 1, (1 + confidence) / 2))
    return quantile * spread / float(np.sqrt(n_folds))


def confidence_at(look: int, confidence: float) -> float:
    """Return the confidence one check needs so that the run as a whole has its own.

    What is kept is the chance that a run commits anything although nothing beats the
    real rows.  A check after a success needs no correction: testing one hypothesis
    after another, each at the full level and only as long as all before were accepted,
    keeps the level.  A check after a failure is another attempt.  The attempts share
    the run's error probability as 1/2, 1/6, 1/12, ..., which add up to 1.  The size of
    the gain is not covered that way: of several pools the luckiest tends to be kept.

    Parameters
    ----------
    look : int
        1 for the first attempt, 2 after one that showed no gain, and so on.
    confidence : float
        Of the whole run.

    Examples
    --------
    >>> [round(confidence_at(look, 0.9), 3) for look in (1, 2, 3)]
    [0.95, 0.983, 0.992]
    """
    return 1.0 - (1.0 - confidence) / (look * (look + 1))
