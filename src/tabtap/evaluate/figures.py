"""The figures that people read: accuracy, AUC, log loss, Brier; RMSE, MAE, R2.

Each is a mean over rows, or is shared out among them by the jackknife, so that one rule
gives every figure its error bar, and every difference of two figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap.domain import (
    ClassPrediction,
    Figure,
    LearnerPrediction,
    Measured,
    TargetUnit,
    ValuePrediction,
)
from tabtap.domain.judgement import cross_fitted
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table

COVERAGE = 0.9
"""Of the two-sided interval around each figure."""


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One figure: what it is called, which way is better, and each row's share."""

    name: str
    larger_is_better: bool

    by_row: Callable[..., FloatArray]
    """Of a prediction and its rows, which may have weights with a mean of 1: shape
    (n_rows,).  The mean is the figure, the spread its error."""


def figure_kinds(rows: Table) -> tuple[FigureKind, ...]:
    """Return the figures of a table's task, the plain one first."""
    target = rows.schema.target
    if target is not None and target.task == "classification":
        return _OF_LABELS
    return _OF_NUMBERS


def figures(
    rows: Table,
    best_alone: Sequence[FloatArray],
    without: Sequence[FloatArray],
    with_rows: Sequence[FloatArray],
    error: ErrorBar,
) -> tuple[Figure, ...]:
    """Return every figure of a promise.

    Parameters
    ----------
    rows : Table
        The real rows, which the answers are about.
    best_alone, without, with_rows : sequences of arrays
        Answers as in ``RefereeScores.answers``; of several learners the mean is taken.
    error : ErrorBar
        How sure a mean over these rows is.
    """
    made = []
    for kind in figure_kinds(rows):
        parts = [
            _by_row(kind, rows, part, error.weights)
            for part in (best_alone, without, with_rows)
        ]
        measured = [error.measured(part) for part in (*parts, parts[2] - parts[0])]
        made.append(Figure(kind.name, kind.larger_is_better, *measured))
    return tuple(made)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBar:
    """How sure a mean over cross-fitted rows is."""

    n_folds: int
    """Folds of one partition."""

    clusters: IntArray | None = None
    """Shape (n_rows,): rows that count as one."""

    weights: FloatArray | None = None
    """Shape (n_rows,), with a mean of 1: what rows count, if not all the same."""

    def measured(self, by_row: FloatArray) -> Measured:
        """Return the mean with its two-sided interval."""
        one = (1 + COVERAGE) / 2
        bound = cross_fitted(by_row, one, self.n_folds, self.clusters)
        return Measured(bound.gain, bound.margin)


def plain_figure(
    rows: Table, answers: Sequence[FloatArray], weights: FloatArray | None = None
) -> FloatArray:
    """Return each row's share in the plain figure, accuracy or RMSE, of a learner."""
    return _by_row(figure_kinds(rows)[0], rows, answers, weights)


def prediction_of(answers: FloatArray, rows: Table) -> LearnerPrediction:
    """Return the answers of one partition as a prediction of all rows."""
    if answers.ndim > 1:
        return ClassPrediction(answers)
    return ValuePrediction(answers, np.zeros(len(answers))).in_unit_of(rows)


def _by_row(
    kind: FigureKind,
    rows: Table,
    answers: Sequence[FloatArray],
    weights: FloatArray | None,
) -> FloatArray:
    parts = [
        kind.by_row(prediction_of(part, rows), rows, weights)
        for learner in answers
        for part in learner
    ]
    return np.asarray(np.mean(parts, axis=0))


# ---- What each row contributes to a figure.


Weights = FloatArray | None
"""Of the rows, with a mean of 1; None: all the same."""


def _weighed(by_row: FloatArray, weights: Weights) -> FloatArray:
    """Return numbers whose mean is the weighted one, and whose spread its error."""
    if weights is None:
        return by_row
    mean = float(np.mean(weights * by_row))
    return np.asarray(mean + weights * (by_row - mean))


def _or_ones(weights: Weights, n_rows: int) -> FloatArray:
    return np.ones(n_rows) if weights is None else weights


def _right(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    return _weighed(_labels(prediction).right(rows), weights)


def _log_loss(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    return _weighed(_labels(prediction).losses(rows), weights)


def _brier(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    return _weighed(_labels(prediction).brier(rows), weights)


def _area(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    """Share out the area under the curve; of several classes each against the rest."""
    stated = _labels(prediction).probabilities
    weight = _or_ones(weights, len(rows))
    counts = weight > 0
    there = [
        code for code in range(stated.shape[1]) if (rows.target[counts] == code).any()
    ]
    if len(there) < 2:
        return np.full(len(rows), np.nan)
    if stated.shape[1] == 2:
        there = there[-1:]  # the other area is the same
    parts = [_area_of(stated[:, code], rows.target == code, weight) for code in there]
    return np.asarray(np.mean(parts, axis=0))


def _area_of(stated: FloatArray, own: BoolArray, weight: FloatArray) -> FloatArray:
    """Return jackknife shares of one area."""
    n_own, n_rest = float(weight[own].sum()), float(weight[~own].sum())
    # Of each row: how many of the other side it is on the right side of.
    wins = np.empty(len(stated))
    wins[own] = _weight_below(stated[own], stated[~own], weight[~own])
    wins[~own] = n_own - _weight_below(stated[~own], stated[own], weight[own])
    wins *= weight
    total = float(wins[own].sum())
    n_left = np.where(own, (n_own - weight) * n_rest, n_own * (n_rest - weight))
    whole = total / (n_own * n_rest)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(n_left > 0, (total - wins) / n_left, whole)
    return _shared_out(whole, rest)


def _weight_below(
    stated: FloatArray, others: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return the weight of the others that lie below each number, half that of ties."""
    order = np.argsort(others)
    upto = np.concatenate([[0.0], np.cumsum(weight[order])])
    below, equal = (
        upto[np.searchsorted(others[order], stated, side)] for side in _SIDES
    )
    return np.asarray((below + equal) / 2.0)


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def _root_mean_square(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    errors, unit = _errors(prediction, rows)
    weight = _or_ones(weights, len(errors))
    squared = weight * errors**2
    left = len(squared) - weight
    left = np.where(left > 0, left, 1.0)
    rest = np.sqrt(np.maximum(squared.sum() - squared, 0.0) / left)
    return unit.spread * _shared_out(float(np.sqrt(squared.mean())), rest)


def _absolute(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    errors, unit = _errors(prediction, rows)
    return unit.spread * _weighed(np.abs(errors), weights)


def _r_squared(
    prediction: LearnerPrediction, rows: Table, weights: Weights = None
) -> FloatArray:
    errors, unit = _errors(prediction, rows)
    truth = unit.standardise(rows.target_values)
    n_rows = len(truth)
    weight = _or_ones(weights, n_rows)
    squared = weight * errors**2
    centred = truth - np.mean(weight * truth)
    spread = float((weight * centred**2).sum())
    if not spread or n_rows < 3:
        return np.full(n_rows, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_left = spread - weight * centred**2 * n_rows / (n_rows - weight)
        rest = 1.0 - (squared.sum() - squared) / spread_left
    return _shared_out(1.0 - float(squared.sum()) / spread, rest)


def _shared_out(whole: float, rest: FloatArray) -> FloatArray:
    """Return pseudo-values, shifted so that their mean is the whole."""
    rest = np.where(np.isfinite(rest), rest, whole)
    return np.asarray(whole + (len(rest) - 1) * (rest.mean() - rest))


def _labels(prediction: LearnerPrediction) -> ClassPrediction:
    if not isinstance(prediction, ClassPrediction):
        raise AssertionError("a figure of labels is asked of labels")
    return prediction


def _errors(
    prediction: LearnerPrediction, rows: Table
) -> tuple[FloatArray, TargetUnit]:
    """Return errors in deviations of the target, whose squares are no infinity."""
    if not isinstance(prediction, ValuePrediction):
        raise AssertionError("a figure of numbers is asked of numbers")
    return prediction.residuals(rows), prediction.unit or TargetUnit.of(rows)


_OF_LABELS = (
    FigureKind("accuracy", larger_is_better=True, by_row=_right),
    FigureKind("AUC", larger_is_better=True, by_row=_area),
    FigureKind("log loss", larger_is_better=False, by_row=_log_loss),
    FigureKind("Brier score", larger_is_better=False, by_row=_brier),
)
_OF_NUMBERS = (
    FigureKind("RMSE", larger_is_better=False, by_row=_root_mean_square),
    FigureKind("MAE", larger_is_better=False, by_row=_absolute),
    FigureKind("R2", larger_is_better=True, by_row=_r_squared),
)

FIGURE_WORDS: Mapping[str, str] = {
    "accuracy": "share of rows whose label was predicted right",
    "AUC": "chance that a row of a class is told from one of the others",
    "log loss": "how surprised the learner was by the truth, in nats",
    "Brier score": "squared distance of what was stated from the truth, halved",
    "RMSE": "typical error, in the target's own units, large ones counting more",
    "MAE": "mean error, in the target's own units",
    "R2": "share of the target's variance that is explained",
}
"""What each figure is, for people who meet it first."""
