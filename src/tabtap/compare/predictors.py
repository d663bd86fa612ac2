"""The paper's six classifiers and four regressors, trained and scored on tables.

LightGBM's leaves need 20 rows, so below 40 training rows it predicts a constant; rows
of any kind bring it back to life.  That is the paper's setting and is kept: compare
with copies of real rows before crediting a generator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier

from tabtap.errors import UserInputError, require
from tabtap.evaluate.learners import encode
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.table import Table

SEED = 42
"""The paper gives every predictor this random state."""

N_ESTIMATORS = 100
"""Trees in every ensemble."""


class Predictor(Protocol):
    """What scikit-learn, LightGBM and XGBoost models have in common."""

    def fit(self, matrix: FloatArray, target: NDArray[np.generic], /) -> object:
        """Learn from encoded rows."""

    def predict(self, matrix: FloatArray, /) -> NDArray[np.generic]:
        """Return one prediction per encoded row."""


Factory = Callable[[int], Predictor]
"""Makes an unfitted predictor for a number of training rows."""


def _boosted(module: str, name: str, **quiet: int) -> Factory:
    def make(n_rows: int) -> Predictor:  # noqa: ARG001  one signature for all
        model: Predictor = getattr(require(module), name)(
            n_estimators=N_ESTIMATORS, random_state=SEED, n_jobs=1, **quiet
        )
        return model

    return make


CLASSIFIERS: Mapping[str, Factory] = MappingProxyType(
    {
        "LR": lambda _: LogisticRegression(max_iter=1000, random_state=SEED),
        "KNN": lambda n_rows: KNeighborsClassifier(min(5, n_rows), n_jobs=1),
        "MLP": lambda _: MLPClassifier((100,), max_iter=500, random_state=SEED),
        "RF": lambda _: RandomForestClassifier(
            N_ESTIMATORS, random_state=SEED, n_jobs=1
        ),
        "XGB": _boosted("xgboost", "XGBClassifier", verbosity=0),
        "LGBM": _boosted("lightgbm", "LGBMClassifier", verbosity=-1),
    }
)
"""Classifiers by the paper's short names."""

REGRESSORS: Mapping[str, Factory] = MappingProxyType(
    {
        "KNN": lambda n_rows: KNeighborsRegressor(min(5, n_rows), n_jobs=1),
        "RF": lambda _: RandomForestRegressor(
            N_ESTIMATORS, random_state=SEED, n_jobs=1
        ),
        "XGB": _boosted("xgboost", "XGBRegressor", verbosity=0),
        "LGBM": _boosted("lightgbm", "LGBMRegressor", verbosity=-1),
    }
)
"""Regressors by the paper's short names."""


def score_predictors(
    train: Table,
    test: Table,
    names: Sequence[str] | None = None,
    *,
    reference: Table | None = None,
) -> dict[str, dict[str, float]]:
    """Train each predictor on one table and score it on another.

    All predictors of the task are used unless some are named.  Scores are ``accuracy``
    and ``macro_f1`` in [0, 1], or ``rmse`` and ``mae`` of the target, standardised by
    its mean and deviation in ``reference`` (default: ``train``).  Give the real
    training rows there whenever ``train`` holds synthetic ones.  An unknown name or an
    absent package raises ``UserInputError``.
    """
    task, predicted, truth = _predictions(train, test, names, reference)
    score = _classification_scores if task == "classification" else _regression_scores
    return {name: score(part, truth) for name, part in predicted.items()}


def row_losses(
    train: Table,
    test: Table,
    names: Sequence[str] | None = None,
    *,
    reference: Table | None = None,
) -> dict[str, FloatArray]:
    """Train each predictor on one table, and tell how it errs on every row of another.

    A loss is 1 where a class is wrong and else 0, or the squared error of the
    standardised target.  Otherwise as ``score_predictors``.
    """
    task, predicted, truth = _predictions(train, test, names, reference)
    if task == "classification":
        return {
            name: (part != truth).astype(np.float64) for name, part in predicted.items()
        }
    return {name: (part - truth) ** 2 for name, part in predicted.items()}


def _predictions(
    train: Table,
    test: Table,
    names: Sequence[str] | None,
    reference: Table | None,
) -> tuple[Task, dict[str, Any], NDArray[Any]]:
    """Return the task, what each predictor says of the test rows, and the truth."""
    task = _task_of(train, test)
    known = CLASSIFIERS if task == "classification" else REGRESSORS
    chosen = list(known) if names is None else list(names)
    if unknown := sorted(set(chosen) - set(known)):
        raise UserInputError(
            f"No {task} predictor is called {', '.join(unknown)}. "
            f"Choose from {', '.join(known)}."
        )
    seen, (unseen,) = encode(train, [test])
    if task == "classification":
        labels = train.target.astype(np.int64)
        predicted = {n: _classify(known[n], seen, labels, unseen) for n in chosen}
        return task, predicted, test.target
    center, unit = _target_scale(train if reference is None else reference)
    learned = (train.target_values - center) / unit
    values = {n: _regress(known[n], seen, learned, unseen) for n in chosen}
    return task, values, (test.target_values - center) / unit


def mean_score(scores: Mapping[str, Mapping[str, float]], metric: str) -> float:
    """Average one metric over predictors, as the paper's main table does."""
    return float(np.mean([score[metric] for score in scores.values()]))


def _classify(
    factory: Factory, seen: FloatArray, target: IntArray, unseen: FloatArray
) -> IntArray:
    # XGBoost wants codes without gaps, and no classifier wants a single class.
    labels, code = np.unique(target, return_inverse=True)
    if len(labels) == 1:
        return np.full(len(unseen), labels[0], dtype=np.int64)
    predicted = _fit(factory, seen, code).predict(unseen)
    return np.asarray(labels[np.asarray(predicted, dtype=np.int64)])


def _regress(
    factory: Factory, seen: FloatArray, target: FloatArray, unseen: FloatArray
) -> FloatArray:
    if (target == target[0]).all():  # LightGBM refuses a single row
        return np.full(len(unseen), target[0])
    predicted = _fit(factory, seen, target).predict(unseen)
    return np.asarray(predicted, dtype=np.float64)


def _fit(
    factory: Factory, matrix: FloatArray, target: NDArray[np.generic]
) -> Predictor:
    model = factory(len(matrix))
    with warnings.catch_warnings():
        # The paper's iteration limits are kept, reached or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix, target)
    return model


def _classification_scores(predicted: IntArray, truth: IntArray) -> dict[str, float]:
    macro = f1_score(truth, predicted, average="macro", zero_division=0.0)
    return {"accuracy": float(np.mean(predicted == truth)), "macro_f1": float(macro)}


def _regression_scores(predicted: FloatArray, truth: FloatArray) -> dict[str, float]:
    error = predicted - truth
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
    }


def _target_scale(table: Table) -> tuple[float, float]:
    values = table.target_values
    spread = float(values.std())
    return float(values.mean()), spread if spread > 0 else 1.0


def _task_of(train: Table, test: Table) -> Task:
    if train.schema.target is None:
        raise UserInputError("The training table has no target. Name one.")
    if len(train) == 0 or len(test) == 0:
        raise UserInputError(
            f"Nothing to score: {len(train)} training rows and {len(test)} test rows. "
            "Give at least one of each."
        )
    return train.schema.target.task
