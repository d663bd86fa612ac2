"""What fitted scikit-learn models say, as probabilities or as mean and variance.

Not every model states probabilities or variances; what stands in for them is said here
and nowhere else.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from tabtap.table.schema import FloatArray

Estimator = Any
"""Anything with scikit-learn's methods, which come without types."""


def class_probabilities(
    model: Estimator, matrix: FloatArray, n_classes: int
) -> FloatArray:
    """Return probabilities that sum to one, from a model fitted on codes 0, 1, ...

    Parameters
    ----------
    model : fitted classifier
        Its ``predict_proba`` if it has one; else the softmax of its
        ``decision_function`` (uncalibrated: right in order, not in size); else its
        labels, each with probability 1.
    matrix : array of shape (n_rows, n_columns), or frame
        Rows, encoded or not as those that it was fitted on.
    n_classes : int
        Number of classes it was fitted on.

    Returns
    -------
    array of shape (n_rows, n_classes)
    """
    if hasattr(model, "predict_proba"):
        stated = np.asarray(model.predict_proba(matrix), dtype=np.float64)
        return np.asarray(stated / stated.sum(axis=1, keepdims=True))
    if hasattr(model, "decision_function"):
        margin = np.asarray(model.decision_function(matrix), dtype=np.float64)
        if margin.ndim == 1:
            margin = np.column_stack([np.zeros(len(margin)), margin])
        if margin.shape[1] == n_classes:  # not so where classes are compared in pairs
            return np.asarray(softmax(margin, axis=1))
    votes = np.asarray(model.predict(matrix), dtype=np.int64)
    return np.eye(n_classes)[votes]


def value_moments(
    model: Estimator, matrix: FloatArray, seen: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the target for each row.

    Parameters
    ----------
    model : fitted regressor
        The variance is the one it states (``predict(..., return_std=True)``); else
        that among the trees of a forest; else the mean squared residual on ``seen``,
        the same for every row and too small for a model that remembers its rows.
    matrix : array of shape (n_rows, n_columns)
        Encoded rows to be answered.
    seen, values : arrays
        Encoded rows and targets that it was fitted on.

    Returns
    -------
    tuple of two arrays of shape (n_rows,)
    """
    if _states_deviation(model):
        mean, deviation = model.predict(matrix, return_std=True)
        return np.ravel(mean), np.ravel(deviation) ** 2
    mean = np.ravel(np.asarray(model.predict(matrix), dtype=np.float64))
    if isinstance(model, (RandomForestRegressor, ExtraTreesRegressor)):
        trees = np.array([tree.predict(matrix) for tree in model.estimators_])
        return mean, np.asarray(trees.var(axis=0))
    residual = np.ravel(model.predict(seen)) - values
    return mean, np.full(len(mean), np.mean(residual**2))


def _states_deviation(model: Estimator) -> bool:
    return "return_std" in inspect.signature(type(model).predict).parameters
