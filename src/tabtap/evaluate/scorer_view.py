"""Predictions dressed as fitted estimators, so that any scorer can read them."""

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


def as_estimator(prediction: LearnerPrediction, labels: NDArray[Any]) -> BaseEstimator:
    """Return an estimator that gives these answers to row numbers."""
    if not isinstance(prediction, ClassPrediction):
        return _AnsweredRegressor(prediction.mean)
    ascending = np.argsort(labels)  # as every classifier of scikit-learn has them
    return _AnsweredClassifier(
        labels[ascending], prediction.probabilities[:, ascending]
    )


def as_truth(queries: Table, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the queries' targets: labels, or numbers in their own units."""
    target = queries.schema.target
    if target is not None and target.task == "classification":
        return np.asarray(labels[queries.target])
    return queries.target_values


def labels_as_given(schema: Schema) -> NDArray[Any]:
    """Return the target's labels by code, as the user gave them."""
    levels = schema.target.column.levels if schema.target is not None else ()
    labels = np.array(levels)
    # Scorers do not sort labels of several types; codes stand for these.
    return labels if labels.dtype.kind in "biufU" else np.arange(len(levels))


def labels_with_positive(schema: Schema) -> NDArray[Any]:
    """Return labels of which 1 is the positive one, if there are two.

    Labels among which there is a 1 are read as scikit-learn reads them.  Of two others,
    texts as a rule, the first level is 0 and the last is 1.
    """
    labels = labels_as_given(schema)
    has_positive = labels.dtype.kind in "biuf" and bool((labels == 1).any())
    return labels if has_positive or len(labels) != 2 else np.arange(2)
