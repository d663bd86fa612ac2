"""Informative and learnable: two diagnostics of rows that were made (section 4.2).

A row is informative where a learner of the real rows is unsure (equation 21), and
learnable where that learner agrees with its target (equation 22).  Neither is known to
a run: they are computed afterwards, of rows that are there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from tabtap.domain.prediction import MIN_PROBABILITY, TargetUnit, ValuePrediction
from tabtap.evaluate import EnsembleEvaluator
from tabtap.evaluate.learners import encode
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table

N_NEIGHBOURS = 5
"""Of a row, among the real ones; the paper does not say how many, its KNN has five."""

TAIL_SHARE = 0.2
"""Share of the rows, the least learnable, that tail risk is about."""


def boundary_score(
    stated: FloatArray, neighbours: IntArray | None = None
) -> FloatArray:
    """Return how near each row is to the learner's decision boundary (equation 21).

    Parameters
    ----------
    stated : array
        Probabilities that the learner gives to the classes of each row, shape (n_rows,
        n_classes); or the numbers that it predicts for the real rows, shape (n_real,).
    neighbours : array of shape (n_rows, k), optional
        Numbers of the real rows nearest to each row; of a regression only.

    Returns
    -------
    array of shape (n_rows,)
        Entropy in nats, or the variance of what is predicted for the neighbours.

    Examples
    --------
    >>> boundary_score(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931, 0.    ])
    >>> boundary_score(np.array([1.0, 3.0, 8.0]), np.array([[0, 1], [1, 1]]))
    array([1., 0.])
    """
    if neighbours is not None:
        return np.asarray(np.var(stated[neighbours], axis=1))
    positive = np.where(stated > 0, stated, 1.0)
    return np.asarray(-(positive * np.log(positive)).sum(axis=1) + 0.0)


def inconsistency(stated: FloatArray, target: FloatArray | IntArray) -> FloatArray:
    """Return how much each row's target surprises the learner (equation 22).

    Smaller is more learnable.

    Parameters
    ----------
    stated : array
        Probabilities of the classes, shape (n_rows, n_classes); or the number predicted
        for each row, shape (n_rows,).
    target : array of shape (n_rows,)
        Class codes, or numbers.

    Returns
    -------
    array of shape (n_rows,)
        -log p of the row's own class, in nats; or its squared residual.

    Examples
    --------
    >>> inconsistency(np.array([[0.25, 0.75]]), np.array([0])).round(4)
    array([1.3863])
    >>> inconsistency(np.array([1.5]), np.array([1.0]))
    array([0.25])
    """
    if stated.ndim == 1:
        return np.asarray((target - stated) ** 2)
    own = stated[np.arange(len(stated)), np.asarray(target, dtype=np.int64)]
    return np.asarray(-np.log(np.clip(own, MIN_PROBABILITY, 1.0)) + 0.0)


def percentiles(values: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the share of reference values below each value, in percent; ties half.

    Examples
    --------
    >>> percentiles(np.array([0.0, 2.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([  0. ,  37.5, 100. ])
    """
    ordered = np.sort(reference)
    below = np.searchsorted(ordered, values, side="left")
    upto = np.searchsorted(ordered, values, side="right")
    return np.asarray(100.0 * (below + upto) / 2.0 / len(ordered))


def bucket_of(percentile: FloatArray, n_buckets: int) -> IntArray:
    """Return the number, from 0, of the bucket of equal width that a percentile is in.

    Examples
    --------
    >>> bucket_of(np.array([0.0, 19.9, 20.0, 100.0]), 5)
    array([0, 0, 1, 4])
    """
    bucket = np.floor(percentile / 100.0 * n_buckets).astype(np.int64)
    return np.minimum(bucket, n_buckets - 1)


def equal_bins(values: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each value, from 0 for the smallest; bins hold as many each.

    Equal values keep their order, and may lie in two bins.

    Examples
    --------
    >>> equal_bins(np.array([5.0, 1.0, 3.0, 2.0, 4.0, 0.0]), 3)
    array([2, 0, 1, 1, 2, 0])
    """
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return np.asarray(rank * n_bins // max(len(values), 1))


def tail_mean(values: FloatArray, share: float = TAIL_SHARE) -> float:
    """Return the mean of the largest values: the tail risk of Table 2, of percentiles.

    Examples
    --------
    >>> tail_mean(np.array([1.0, 9.0, 2.0, 7.0, 3.0, 4.0, 5.0, 6.0, 0.0, 8.0]))
    8.5
    """
    n_tail = max(1, round(share * len(values)))
    return float(np.sort(values)[-n_tail:].mean())


class Diagnostics(NamedTuple):
    """Both scores of some rows; of each, shape (n_rows,)."""

    boundary: FloatArray
    inconsistency: FloatArray


def diagnose(
    rows: Table,
    seen: Table,
    judge: Evaluator | None = None,
    *,
    real: Table | None = None,
) -> Diagnostics:
    """Score rows by what a learner of other rows says of them.

    Parameters
    ----------
    rows : Table
        What is scored.
    seen : Table
        What the learner is fitted on, and among which neighbours are looked for.
    judge : Evaluator, optional
        The learner; by default the mean of a forest, a linear model and a network.
    real : Table, optional
        In whose unit a regression target is counted; by default ``seen``.
    """
    judge = EnsembleEvaluator() if judge is None else judge
    answer, of_seen = judge.predict([seen, seen], [rows, seen])
    if not isinstance(answer, ValuePrediction):
        stated = answer.probabilities  # type: ignore[attr-defined]
        return Diagnostics(
            boundary_score(stated), inconsistency(stated, rows.target.astype(np.int64))
        )
    unit = TargetUnit.of(seen if real is None else real)
    predicted = unit.standardise(of_seen.mean)  # type: ignore[attr-defined]
    near = nearest_rows(rows, seen)
    return Diagnostics(
        boundary_score(predicted, near),
        inconsistency(
            unit.standardise(answer.mean), unit.standardise(rows.target_values)
        ),
    )


def nearest_rows(
    rows: Table, seen: Table, n_neighbours: int = N_NEIGHBOURS
) -> IntArray:
    """Return the numbers of the seen rows nearest to each row, as predictors see them.

    Shape (n_rows, k), k being ``n_neighbours`` or all that there are.
    """
    matrix, (asked,) = encode(seen, [rows])
    k = min(n_neighbours, len(seen))
    found = NearestNeighbors(n_neighbors=k).fit(matrix).kneighbors(asked)[1]
    return np.asarray(found, dtype=np.int64)
