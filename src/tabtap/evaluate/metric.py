"""The user's own yardstick: any scikit-learn scorer, or a loss, on predictions.

One number per query is worth more than one per fold (its error bar is tighter), so what
can be told apart query by query is.  Larger is better, always.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from tabtap.domain import (
    ClassPrediction,
    LearnerPrediction,
    Prediction,
    ValuePrediction,
)
from tabtap.errors import UserInputError, bad_setting
from tabtap.evaluate.evaluators import PanelPrediction
from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import Table

Judge = Callable[[LearnerPrediction, Table], Any]
"""Gives an array of one score per query, or a single number."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Turns a prediction and its queries into scores; larger is better."""

    name: str

    judge: Judge

    weigh: Callable[[FloatArray], Judge] | None = None
    """Makes a judge by whom rows count by their weights; None where none can."""

    def weighted(self, weights: FloatArray) -> Metric:
        """Return the same by which rows count by their weights.

        ``weights`` are those of the rows of the table given; those of real rows have a
        mean of 1.
        """
        if self.weigh is None:
            raise UserInputError(
                f"scoring={self.name!r} takes no sample_weight. Leave the weights out, "
                "or use a scoring that takes them, such as 'score'."
            )
        return Metric(f"weighted {self.name}", self.weigh(weights))

    def score(self, prediction: Prediction, queries: Table) -> FloatArray:
        """Score some answers.

        Parameters
        ----------
        prediction : Prediction
            A learner's, or a panel's: then each member is scored and the mean taken.
        queries : Table
            The rows it is about, whose targets are now read.

        Returns
        -------
        array of shape (n_queries,) or (1,)
            One score per query where the metric is a mean over rows; otherwise one for
            all (an area under a curve, an F score, a correlation).
        """
        if isinstance(prediction, PanelPrediction):
            parts = [self.score(part, queries) for part in prediction.members.values()]
            return np.asarray(np.mean(parts, axis=0))
        if not isinstance(prediction, (ClassPrediction, ValuePrediction)):
            raise UserInputError(
                f"{self.name} cannot score a {type(prediction).__name__}. Pass a "
                "ClassPrediction, a ValuePrediction or a panel's."
            )
        return np.atleast_1d(np.asarray(self.judge(prediction, queries), np.float64))

    def by_row(self, prediction: LearnerPrediction, queries: Table) -> FloatArray:
        """Return one score per query, whose mean is the score of all.

        Where the metric tells only all queries together, each has its share by the
        jackknife: how much the score of all owes to it.
        """
        score = self.score(prediction, queries)
        if len(score) == len(queries):
            return score

        def without(left: IntArray) -> float:
            try:
                return float(self.score(prediction.take(left), queries.take(left))[0])
            except UserInputError:  # the only row of a class went
                return float("nan")

        return shares(float(score[0]), without, len(queries))


MOST_BLOCKS = 200
"""Times that a metric of many rows is computed without some of them."""

_MANY_ROWS, _FEWER_BLOCKS = 20_000, 50
"""From so many rows on fewer times, each of which is dear; what an error bar is
computed from is then 50 numbers."""


def shares(
    whole: float, without: Callable[[IntArray], float], n_rows: int
) -> FloatArray:
    """Return jackknife pseudo-values of a statistic, shifted so that their mean is it.

    ``without`` takes the numbers of the rows that are left.  Of many rows whole blocks
    are left out at a time; the rows of a block deviate the more, so that the error of
    their mean is that of the blocks'.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> shares(x.mean(), lambda left: x[left].mean(), 3)
    array([1., 2., 6.])
    """
    n_blocks = min(n_rows, _FEWER_BLOCKS if n_rows > _MANY_ROWS else MOST_BLOCKS)
    block = np.arange(n_rows) % n_blocks
    rest = np.array([without(np.flatnonzero(block != b)) for b in range(n_blocks)])
    rest = np.where(np.isfinite(rest), rest, whole)
    deviation = (n_blocks - 1) * (rest.mean() - rest)
    return np.asarray(whole + (deviation * np.sqrt(n_rows / n_blocks))[block])


def metric_of(scoring: str | Callable[..., Any] = "score") -> Metric:
    """Return the metric that a name or a scikit-learn scorer stands for.

    Parameters
    ----------
    scoring : str or callable, default="score"
        ``"score"``, the proper score of predictions; ``"loss"``, minus their loss; the
        name of any scikit-learn scorer; or a callable ``scorer(estimator, X, y)``.
        A scorer sees labels and targets as the user gave them, and no features.  Of
        two labels the last level is the positive one, unless one of them is 1.

    Returns
    -------
    Metric
        Per query for the two of tabtap, accuracy, neg_log_loss,
        neg_mean_squared_error and neg_mean_absolute_error; of all together for others.

    Raises
    ------
    UserInputError
        If no scorer has that name.

    Examples
    --------
    >>> metric_of("accuracy").name
    'accuracy'
    """
    if callable(scoring):
        name = str(getattr(scoring, "__name__", scoring))
        return _metric_of_scorer(name, scoring, labels_as_given)
    if scoring in _PER_QUERY:
        judge = _PER_QUERY[scoring]
        return Metric(scoring, judge, partial(_weighed, judge))
    if scoring not in get_scorer_names():
        raise bad_setting(
            "scoring",
            scoring,
            "be 'score', 'loss', a scikit-learn scorer or the name of one",
            "sklearn.metrics.get_scorer_names() lists them.",
        )
    labels = labels_with_positive if scoring in _OF_ONE_CLASS else labels_as_given
    return _metric_of_scorer(scoring, get_scorer(scoring), labels)


def metric_of_loss(loss: Callable[[Any, Any], Any], name: str | None = None) -> Metric:
    """Return the metric of a loss, which is the smaller the better.

    Parameters
    ----------
    loss : callable
        ``loss(truth, predicted)``: class codes and probabilities of shape
        (n_queries, n_classes), or true and predicted target in their own units.  It
        returns one loss per query, or one number for all.
    name : str, optional
        What it is reported by.  Default: the function's name.
    """

    def judge(prediction: LearnerPrediction, queries: Table) -> FloatArray:
        if isinstance(prediction, ClassPrediction):
            codes = queries.target.astype(np.int64)
            return -np.asarray(loss(codes, prediction.probabilities))
        return -np.asarray(loss(queries.target_values, prediction.mean))

    return Metric(name or str(getattr(loss, "__name__", "loss")), judge)


def _weighed(judge: Judge, weights: FloatArray) -> Judge:
    """Return a judge whose mean over rows is the weighted mean of another's scores.

    What a row lacks to a score of 1 is what is weighed.
    """

    def weighed(prediction: LearnerPrediction, queries: Table) -> FloatArray:
        lacks = 1.0 - np.asarray(judge(prediction, queries))
        return np.asarray(1.0 - weights[queries.origin] * lacks)

    return weighed


def _metric_of_scorer(
    name: str, scorer: Callable[..., Any], labels_of: Callable[[Schema], NDArray[Any]]
) -> Metric:
    function = getattr(scorer, "_score_func", scorer)
    takes_weights = "sample_weight" in inspect.signature(function).parameters
    weigh = partial(_scorer, name, scorer, labels_of) if takes_weights else None
    return Metric(name, _scorer(name, scorer, labels_of), weigh)


def _scorer(
    name: str,
    scorer: Callable[..., Any],
    labels_of: Callable[[Schema], NDArray[Any]],
    weights: FloatArray | None = None,
) -> Judge:
    def judge(prediction: LearnerPrediction, queries: Table) -> float:
        rows = np.arange(len(queries))[:, None]
        labels = labels_of(queries.schema)
        estimator, truth = as_estimator(prediction, labels), as_truth(queries, labels)
        given = {} if weights is None else {"sample_weight": weights[queries.origin]}
        with warnings.catch_warnings():
            # What cannot be told of a fold, such as an area under the curve of one
            # class, is a NaN and is dealt with where folds are scored.
            warnings.filterwarnings("ignore", category=UndefinedMetricWarning)
            warnings.filterwarnings("ignore", module=r"sklearn\.metrics")
            try:
                return float(scorer(estimator, rows, truth, **given))
            except (UserInputError, MemoryError):
                raise
            except Exception as error:
                raise _unscorable(name, queries, error) from error

    return judge


def _unscorable(name: str, queries: Table, error: Exception) -> UserInputError:
    target = queries.schema.target
    about, others = "numbers", "'score' or 'r2'"
    if target is not None and target.task == "classification":
        n_there, n_levels = len(np.unique(queries.target)), len(target.column.levels)
        about = f"{n_there} of {n_levels} classes"
        others = "'score', 'accuracy' or 'f1_macro'"
    message = " ".join(str(error).split()).rstrip(".")
    message = re.sub(r"_Answered\w+", "a prediction", message)
    return UserInputError(
        f"scoring={name!r} cannot score {len(queries)} rows of {about}: {message}. "
        f"Use another, such as {others}."
    )


def _accuracy(prediction: LearnerPrediction, queries: Table) -> FloatArray:
    # The first of several equally likely labels, as every scikit-learn classifier.
    chosen = _classes("accuracy", prediction).probabilities.argmax(axis=1)
    return np.asarray(chosen == queries.target, dtype=np.float64)


def _log_likelihood(prediction: LearnerPrediction, queries: Table) -> FloatArray:
    likely = _classes("neg_log_loss", prediction).of_label(queries)
    return np.asarray(np.log(np.clip(likely, np.finfo(np.float64).eps, 1.0)))


def _squared_error(prediction: LearnerPrediction, queries: Table) -> FloatArray:
    mean = _values("neg_mean_squared_error", prediction).mean
    return np.asarray(-((mean - queries.target_values) ** 2))


def _absolute_error(prediction: LearnerPrediction, queries: Table) -> FloatArray:
    mean = _values("neg_mean_absolute_error", prediction).mean
    return np.asarray(-np.abs(mean - queries.target_values))


def _classes(name: str, prediction: LearnerPrediction) -> ClassPrediction:
    if isinstance(prediction, ClassPrediction):
        return prediction
    raise UserInputError(f"{name} scores labels. For numbers try 'r2' or 'score'.")


def _values(name: str, prediction: LearnerPrediction) -> ValuePrediction:
    if isinstance(prediction, ValuePrediction):
        return prediction
    raise UserInputError(f"{name} scores numbers. For labels try 'accuracy'.")


_PER_QUERY: Mapping[str, Judge] = MappingProxyType(
    {
        "score": lambda prediction, queries: prediction.scores(queries),
        "loss": lambda prediction, queries: -prediction.losses(queries),
        "accuracy": _accuracy,
        "neg_log_loss": _log_likelihood,
        "neg_mean_squared_error": _squared_error,
        "neg_mean_absolute_error": _absolute_error,
    }
)

_OF_ONE_CLASS = frozenset(
    {
        "average_precision",
        "d2_brier_score",
        "f1",
        "jaccard",
        "neg_brier_score",
        "neg_negative_likelihood_ratio",
        "positive_likelihood_ratio",
        "precision",
        "recall",
        "roc_auc",
    }
)
"""Scorers that tell one of two classes, the positive one, from the other."""


# ---- Predictions dressed as fitted estimators, so that any scorer can read them.


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
