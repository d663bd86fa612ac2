"""Predictions dressed as fitted estimators, so that any scikit-learn scorer can read.

Reads from: domain, table.  Read by: evaluate.metric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from tabtap.domain import ClassPrediction, LearnerPrediction
from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import Table


class _AnsweredClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Its rows are row numbers, and its answers were given before."""

    def __init__(self, classes: NDArray[Any], probabilities: FloatArray) -> None:
        self.classes = classes
        self.probabilities = probabilities
        self.classes_ = classes

    def fit(self, rows: IntArray, target: NDArray[Any]) -> _AnsweredClassifier:  # noqa: ARG002
        """Do nothing: a scorer only wants to know that this could be fitted."""
        return self

    def predict_proba(self, rows: IntArray) -> FloatArray:
        """Return the probabilities of the rows, classes in ascending order."""
        return self.probabilities[np.ravel(rows)]

    def predict(self, rows: IntArray) -> NDArray[Any]:
        """Return the most likely label of each row."""
        return np.asarray(self.classes[self.predict_proba(rows).argmax(axis=1)])


class _AnsweredRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Its rows are row numbers, and its answers were given before."""

    def __init__(self, mean: FloatArray) -> None:
        self.mean = mean

    def fit(self, rows: IntArray, target: FloatArray) -> _AnsweredRegressor:  # noqa: ARG002
        """Do nothing: a scorer only wants to know that this could be fitted."""
        return self

    def predict(self, rows: IntArray) -> FloatArray:
        """Return the predicted target of each row."""
        return self.mean[np.ravel(rows)]


def as_estimator(prediction: LearnerPrediction, schema: Schema) -> BaseEstimator:
    """Return an estimator that gives these answers to row numbers."""
    if not isinstance(prediction, ClassPrediction):
        return _AnsweredRegressor(prediction.mean)
    labels = _labels(schema)
    ascending = np.argsort(labels)  # as every classifier of scikit-learn has them
    return _AnsweredClassifier(
        labels[ascending], prediction.probabilities[:, ascending]
    )


def as_truth(queries: Table) -> NDArray[Any]:
    """Return the queries' targets as the user gave them."""
    target = queries.schema.target
    if target is not None and target.task == "classification":
        return np.asarray(_labels(queries.schema)[queries.target])
    return queries.target_values


def _labels(schema: Schema) -> NDArray[Any]:
    levels = schema.target.column.levels if schema.target is not None else ()
    labels = np.array(levels)
    # Scorers do not sort labels of several types; codes stand for these.
    return labels if labels.dtype.kind in "biufU" else np.arange(len(levels))
