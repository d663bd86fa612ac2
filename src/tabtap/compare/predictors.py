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

from tabtap.domain import ClassPrediction
from tabtap.errors import UserInputError, require
from tabtap.evaluate.learners import encode
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.table import Table, concat

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
    return score_parts(train, [test], names, reference=reference)[0]


def score_parts(
    train: Table,
    parts: Sequence[Table],
    names: Sequence[str] | None = None,
    *,
    reference: Table | None = None,
) -> list[dict[str, dict[str, float]]]:
    """Train each predictor once, and score it on each of several tables.

    Otherwise as ``score_predictors``.
    """
    asked = parts[0] if len(parts) == 1 else concat(parts)
    task, predicted, truth = _predictions(train, asked, names, reference)
    score = _classification_scores if task == "classification" else _regression_scores
    ends = np.cumsum([len(part) for part in parts])[:-1]
    truths = np.split(truth, ends)
    scores: list[dict[str, dict[str, float]]] = [{} for _ in parts]
    for name, whole in predicted.items():
        for place, part in enumerate(np.split(whole, ends)):
            scores[place][name] = score(part, truths[place])
    return scores


def mean_losses(
    train: Table,
    parts: Sequence[Table],
    names: Sequence[str] | None = None,
    *,
    reference: Table | None = None,
) -> list[dict[str, float]]:
    """Train each predictor on one table, and return its mean loss on several others.

    The loss of equation 1: cross-entropy in nats, or the squared error of the target,
    standardised by ``reference`` (default: ``train``).
    """
    task = _task_of(train, parts[0])
    if task == "regression":
        scores = score_parts(train, parts, names, reference=reference)
        return [{n: s["rmse"] ** 2 for n, s in part.items()} for part in scores]
    known = _known(task, names)
    seen, unseen = encode(train, parts)
    labels, code = np.unique(train.target.astype(np.int64), return_inverse=True)
    losses: list[dict[str, float]] = [{} for _ in parts]
    for name, factory in known.items():
        model = _fit(factory, seen, code) if len(labels) > 1 else None
        for place, (part, matrix) in enumerate(zip(parts, unseen, strict=True)):
            stated = (
                np.ones((len(part), 1)) if model is None else _stated(model, matrix)
            )
            target = part.schema.target
            n_classes = len(target.column.levels) if target is not None else 0
            probabilities = np.zeros((len(part), n_classes))
            probabilities[:, labels] = stated
            answer = ClassPrediction(probabilities)
            losses[place][name] = float(answer.losses(part).mean())
    return losses


def _stated(model: Any, matrix: FloatArray) -> FloatArray:  # noqa: ANN401
    return np.asarray(model.predict_proba(matrix), dtype=np.float64)


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
    known = _known(task, names)
    seen, (unseen,) = encode(train, [test])
    if task == "classification":
        labels = train.target.astype(np.int64)
        predicted = {n: _classify(f, seen, labels, unseen) for n, f in known.items()}
        return task, predicted, test.target
    center, unit = _target_scale(train if reference is None else reference)
    learned = (train.target_values - center) / unit
    values = {n: _regress(f, seen, learned, unseen) for n, f in known.items()}
    return task, values, (test.target_values - center) / unit


def _known(task: Task, names: Sequence[str] | None) -> dict[str, Factory]:
    """Return the predictors of a task, or those of some names."""
    known = CLASSIFIERS if task == "classification" else REGRESSORS
    chosen = list(known) if names is None else list(names)
    if unknown := sorted(set(chosen) - set(known)):
        raise UserInputError(
            f"No {task} predictor is called {', '.join(unknown)}. "
            f"Choose from {', '.join(known)}."
        )
    return {name: known[name] for name in chosen}


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
