"""Fit scikit-learn estimators on contexts and have them answer queries.

Learners see encoded rows, or the user's own columns if they go by these, and class
codes without gaps: some refuse other labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from tabtap.domain import ClassPrediction, LearnerPrediction, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.evaluate.answers import Estimator, class_probabilities, value_moments
from tabtap.evaluate.encoding import encode
from tabtap.evaluate.named_columns import (
    LACKS_COLUMNS,
    misses_columns,
    names_columns,
    rows_as_given,
)
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.table import Table

SEED = 42
"""Random state of learners that have none of their own; the paper's."""

Learners = Mapping[str, Estimator]
"""Unfitted estimators by name."""

Rows = Any
"""A matrix of encoded rows, or a frame of the user's columns."""


def answer_with(
    learners: Learners,
    contexts: Sequence[Table],
    queries: Sequence[Table],
    *,
    n_jobs: int = 1,
) -> list[dict[str, LearnerPrediction]]:
    """Fit every learner on every context and have it answer that context's queries.

    Parameters
    ----------
    learners : mapping of str to estimator
        Cloned before they are fitted.  A random state left open becomes ``SEED``, and
        a number of neighbours larger than the context becomes the context's size.  One
        that goes by columns is given them as the user gave them.
    contexts, queries : sequences of Table
        One pair per fold; the queries' targets are not read.
    n_jobs : int, default=1
        Fits at a time, in processes of their own.

    Returns
    -------
    list of dict of str to ClassPrediction or ValuePrediction
        One per pair, by learner.  Where a context has a single class or target value,
        nothing is fitted and that is the answer.

    Raises
    ------
    UserInputError
        If a context has no rows, tables have no target, a learner is of the wrong
        kind, or a learner refuses the rows.
    """
    task = task_of(contexts, queries)
    for name, learner in learners.items():
        _check_kind(name, learner, task)
    jobs = []
    for context, asked in zip(contexts, queries, strict=True):
        seen, (unseen,) = encode(context, [asked])
        for name, learner in learners.items():
            pair = (context, asked)
            jobs.append(delayed(_answer_pair)(name, learner, pair, (seen, unseen)))
    answers = iter(Parallel(n_jobs=n_jobs)(jobs))
    return [{name: next(answers) for name in learners} for _ in contexts]


def task_of(contexts: Sequence[Table], queries: Sequence[Table]) -> Task:
    """Return the task of all pairs, or raise what is wrong with them."""
    if len(contexts) != len(queries) or len(contexts) == 0:
        raise UserInputError(
            f"{len(contexts)} contexts and {len(queries)} tables of queries cannot be "
            "paired. Pass one table of queries for each context, and at least one."
        )
    for place, context in enumerate(contexts):
        if len(context) == 0:
            raise UserInputError(
                f"Context {place} has no rows to learn from. Use fewer folds."
            )
    target = contexts[0].schema.target
    if target is None:
        raise UserInputError(
            "The table has no target, so there is nothing to predict. Name one when "
            "it is read: read_frame(frame, target)."
        )
    return target.task


def _answer_pair(
    name: str,
    learner: Estimator,
    pair: tuple[Table, Table],
    encoded: tuple[FloatArray, FloatArray],
) -> LearnerPrediction:
    """Answer from encoded rows, or from columns if the learner asks for these."""
    if not names_columns(learner):
        try:
            return _answer(name, learner, pair[0], *encoded)
        except LACKS_COLUMNS as error:
            if not misses_columns(error):
                raise
    given = [rows_as_given(table) for table in pair]
    return _answer(name, learner, pair[0], *given)


def _answer(
    name: str, learner: Estimator, context: Table, seen: Rows, unseen: Rows
) -> LearnerPrediction:
    target = context.schema.target
    if target is not None and target.task == "regression":
        return _predict_values(name, learner, context.target_values, seen, unseen)
    labels = context.target.astype(np.int64)
    known = _predict_classes(name, learner, labels, seen, unseen)
    probabilities = np.zeros((len(unseen), context.schema.n_conditions))
    probabilities[:, np.unique(labels)] = known
    return ClassPrediction(probabilities)


def _predict_classes(
    name: str,
    learner: Estimator,
    labels: IntArray,
    seen: Rows,
    unseen: Rows,
) -> FloatArray:
    """Return probabilities of the classes that the context has, in code order."""
    present, code = np.unique(labels, return_inverse=True)
    if len(present) == 1 or len(unseen) == 0:
        return np.full((len(unseen), len(present)), 1.0 / len(present))
    model = _fitted(name, learner, seen, code)
    return class_probabilities(model, unseen, len(present))


def _predict_values(
    name: str,
    learner: Estimator,
    values: FloatArray,
    seen: Rows,
    unseen: Rows,
) -> ValuePrediction:
    if (values == values[0]).all() or len(unseen) == 0:  # LightGBM refuses one row
        return ValuePrediction(np.full(len(unseen), values[0]), np.zeros(len(unseen)))
    model = _fitted(name, learner, seen, values)
    return ValuePrediction(*value_moments(model, unseen, seen, values))


def _fitted(
    name: str, learner: Estimator, rows: Rows, target: FloatArray | IntArray
) -> Estimator:
    model = _prepared(learner, len(rows))
    with warnings.catch_warnings():
        # Few steps are a setting; a user who wants more of them raises the limit.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(rows, target)
        except ValueError as error:
            raise UserInputError(
                f"{name} cannot be fitted on a context of {len(rows)} rows: {error} "
                "Use a learner that can, or fewer folds."
            ) from error


def _prepared(learner: Estimator, n_rows: int) -> Estimator:
    model = clone(learner)
    changed: dict[str, int] = {}
    for path, value in model.get_params(deep=True).items():
        setting = path.rpartition("__")[2]
        if setting == "random_state" and value is None:
            changed[path] = SEED
        elif setting == "n_neighbors" and isinstance(value, int) and value > n_rows:
            changed[path] = n_rows
    return model.set_params(**changed)


def _check_kind(name: str, learner: Estimator, task: Task) -> None:
    is_wrong, got = is_regressor, "regressor"
    if task == "regression":
        is_wrong, got = is_classifier, "classifier"
    if is_wrong(learner):
        raise UserInputError(
            f"{name} is a {got}, but the table asks for {task}. Pass the learner of "
            "the other kind, or read the table with another task."
        )
