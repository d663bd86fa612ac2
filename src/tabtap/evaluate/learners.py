"""Fit scikit-learn estimators on contexts and have them answer queries.

Learners see encoded rows, or the user's own columns if they go by these, and class
codes without gaps: some refuse other labels.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import Any, cast

import numpy as np
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from tabtap.domain import ClassPrediction, LearnerPrediction, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.table.frame import write_frame
from tabtap.table.schema import (
    BoolArray,
    CodeArray,
    Column,
    FloatArray,
    IntArray,
    Schema,
    Task,
)
from tabtap.table.table import NO_ROW, Table

# ---- What fitted scikit-learn models say, as probabilities or as mean and variance.
#
# Not every model states probabilities or variances; what stands in for them is said
# here and nowhere else.


Estimator = Any
"""Anything with scikit-learn's methods, which come without types."""


def class_probabilities(
    model: Estimator, matrix: FloatArray, n_classes: int
) -> FloatArray:
    """Return probabilities that sum to one, from a model fitted on codes 0, 1, ...

    Shape (n_rows, n_classes): the model's ``predict_proba`` if it has one; else the
    softmax of its ``decision_function`` (uncalibrated: right in order, not in size);
    else its labels, each with probability 1.  ``matrix`` is a frame if it was fitted on
    one.
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
    """Return mean and variance of the target, each of shape (n_rows,).

    The variance is the one the model states (``predict(..., return_std=True)``); else
    that among the trees of a forest; else the mean squared residual on ``seen`` and
    ``values``, which it was fitted on: the same for every row, and too small for a
    model that remembers its rows.
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


# ---- Fit scikit-learn estimators on contexts and have them answer queries.


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
    weights: FloatArray | None = None,
) -> list[dict[str, LearnerPrediction]]:
    """Fit every learner on every context and have it answer that context's queries.

    One dict per pair, by learner.  Learners are cloned before they are fitted; a random
    state left open becomes ``SEED``, and a number of neighbours larger than the context
    becomes the context's size.  One that goes by columns is given them as the user gave
    them.  The queries' targets are not read.  Where a context has a single class or
    target value, nothing is fitted and that is the answer.  Up to ``n_jobs`` fits run
    at a time, in processes of their own.  ``weights`` are those of the rows of the
    table that the user gave; learners that take weights are fitted with them.
    """
    task = task_of(contexts, queries)
    for name, learner in learners.items():
        _check_kind(name, learner, task)
    jobs = []
    for context, asked in zip(contexts, queries, strict=True):
        seen, (unseen,) = encode(context, [asked])
        own = None if weights is None else weights_of(context, weights)
        for name, learner in learners.items():
            pair = (context, asked)
            both = (seen, unseen)
            jobs.append(delayed(_answer_pair)(name, learner, pair, both, own))
    with one_thread():
        answers = iter(Parallel(n_jobs=n_jobs)(jobs))
    return [{name: next(answers) for name in learners} for _ in contexts]


def one_thread() -> AbstractContextManager[object]:
    """Keep learners from sharing a fit among threads, here and now.

    Tables are small: threads that wait for each other made a booster eight times slower
    on a busy machine.
    """
    return cast("AbstractContextManager[object]", _thread_pools().limit(limits=1))


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all libraries: once


def task_of(contexts: Sequence[Table], queries: Sequence[Table]) -> Task:
    """Return the task of all pairs, or raise what is wrong with them."""
    if len(contexts) != len(queries) or len(contexts) == 0:
        raise UserInputError(
            f"{len(contexts)} contexts and {len(queries)} tables of queries cannot be "
            "paired. Pass one table of queries for each context, and at least one."
        )
    for index, context in enumerate(contexts):
        if len(context) == 0:
            raise UserInputError(
                f"Context {index} has no rows to learn from. Use fewer folds."
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
    weights: FloatArray | None = None,
) -> LearnerPrediction:
    """Answer from encoded rows, or from columns if the learner asks for these."""
    context = pair[0]
    if not names_columns(learner):
        try:
            fitted = _fitted(name, learner, context, encoded[0], weights)
            return fitted.answer_rows(encoded[1])
        except LACKS_COLUMNS as error:
            if not misses_columns(error):
                raise
    seen, unseen = (rows_as_given(table) for table in pair)
    return _fitted(name, learner, context, seen, weights).answer_rows(unseen)


@dataclass(frozen=True, slots=True, eq=False)
class FittedLearner:
    """A learner that has learned a context and can be asked again and again."""

    context: Table

    seen: Rows
    """The context as the learner knows it."""

    model: Estimator | None
    """None where the context has one class or value only, which is the answer."""

    by_columns: bool = False
    """Whether it goes by the columns of a frame."""

    def answer(self, queries: Table, encoded: FloatArray) -> LearnerPrediction:
        """Answer queries, which are ``encoded`` beside the context as well."""
        rows = rows_as_given(queries) if self.by_columns else encoded
        return self.answer_rows(rows)

    def answer_rows(self, unseen: Rows) -> LearnerPrediction:
        """Answer queries that look as the rows it has learned do."""
        target = self.context.schema.target
        if target is not None and target.task == "regression":
            return self._values(unseen)
        present = np.unique(self.context.target)
        probabilities = np.zeros((len(unseen), self.context.schema.n_conditions))
        known = np.full((len(unseen), len(present)), 1.0 / len(present))
        if self.model is not None and len(unseen):
            known = class_probabilities(self.model, unseen, len(present))
        probabilities[:, present.astype(np.int64)] = known
        return ClassPrediction(probabilities)

    def _values(self, unseen: Rows) -> ValuePrediction:
        values = self.context.target_values
        if self.model is None or len(unseen) == 0:
            flat = np.full(len(unseen), values[0])
            return ValuePrediction(flat, np.zeros(len(unseen)))
        moments = value_moments(self.model, unseen, self.seen, values)
        return ValuePrediction(*moments)


def fit_learner(name: str, learner: Estimator, context: Table) -> FittedLearner:
    """Return a learner fitted on a context, to be asked as often as one likes.

    As in ``answer_with``: it sees encoded rows, or columns if it goes by these.
    """
    if not names_columns(learner):
        try:
            return _fitted(name, learner, context, encode(context, [])[0])
        except LACKS_COLUMNS as error:
            if not misses_columns(error):
                raise
    fitted = _fitted(name, learner, context, rows_as_given(context))
    return replace(fitted, by_columns=True)


def _fitted(
    name: str,
    learner: Estimator,
    context: Table,
    seen: Rows,
    weights: FloatArray | None = None,
) -> FittedLearner:
    target = context.target
    if (target == target[0]).all():  # LightGBM refuses one value, others one class
        return FittedLearner(context, seen, None)
    schema = context.schema.target
    if schema is not None and schema.task == "regression":
        known: FloatArray | IntArray = context.target_values
    else:
        known = np.unique(target, return_inverse=True)[1].astype(np.int64)
    return FittedLearner(context, seen, _fit(name, learner, seen, known, weights))


def _fit(
    name: str,
    learner: Estimator,
    rows: Rows,
    target: FloatArray | IntArray,
    weights: FloatArray | None = None,
) -> Estimator:
    model = _prepare(learner, len(rows))
    given: dict[str, FloatArray] = {}
    taken_as = weight_argument(model)
    if weights is not None and weights.any() and taken_as is not None:
        given = {taken_as: weights}
    # Where metadata is routed, a pipeline would ask who wants the weights.
    routed = config_context(enable_metadata_routing=False) if given else nullcontext()
    with warnings.catch_warnings(), routed:
        # Few steps are a setting; a user who wants more of them raises the limit.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(rows, target, **given)
        except ValueError as error:
            raise UserInputError(
                f"{name} cannot be fitted on a context of {len(rows)} rows: {error} "
                "Use a learner that can, or fewer folds."
            ) from error


def weight_argument(learner: Estimator) -> str | None:
    """Return what a learner's ``fit`` calls the weights of rows; None: takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> weight_argument(make_pipeline(StandardScaler(), Ridge()))
    'ridge__sample_weight'
    """
    if isinstance(learner, Pipeline):
        name, last = learner.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    if isinstance(learner, TransformedTargetRegressor) and learner.regressor:
        return weight_argument(learner.regressor)
    return "sample_weight" if has_fit_parameter(learner, "sample_weight") else None


def weights_of(rows: Table, weights: FloatArray) -> FloatArray:
    """Return the weight of every row: that of the real row it descends from.

    ``weights`` are those of the table that the user gave; a row that descends from none
    of its rows has their mean.
    """
    return np.where(rows.origin == NO_ROW, weights.mean(), weights[rows.origin])


def _prepare(learner: Estimator, n_rows: int) -> Estimator:
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


# ---- Tables as matrices: standardised numbers and one-hot categories.
#
# Everything is fitted on the training rows, so no test row leaks into a scale. A column
# of numbers that is *generated* as a category (a 0/1 flag, a few-valued integer) is
# still read as a number here, as any user's pipeline would by its dtype: one-hot flags
# cost the six predictors 4 points on the steel plates, real rows alone.


def encode(
    train: Table, others: Sequence[Table]
) -> tuple[FloatArray, list[FloatArray]]:
    """Turn tables into matrices that any predictor can read.

    Returns the training matrix and one for each other table.  The training rows fix
    means, scales and levels.  A missing number is the training mean, a missing category
    a level of its own; a level not met in training is all zeros.  Columns that are
    neither (constants, identifiers) are left out; with no column left there is one
    column of zeros.
    """
    tables = [train, *others]
    blocks = [
        _encode_numbers([numbers_of(table) for table in tables]),
        _encode_categories([codes_of(table) for table in tables]),
    ]
    joined = [np.hstack(parts) for parts in zip(*blocks, strict=True)]
    if joined[0].shape[1] == 0:
        joined = [np.zeros((len(table), 1)) for table in tables]
    return joined[0], joined[1:]


def coded_numbers(schema: Schema) -> BoolArray:
    """Tell which of the categorical columns hold numbers, by their dtype."""
    columns = [schema.features[position] for position in schema.categorical]
    return np.array([_is_number(column) for column in columns], dtype=np.bool_)


def numbers_of(table: Table) -> FloatArray:
    """Return numeric columns, then categories that are numbers; NaN where missing."""
    coded = np.flatnonzero(coded_numbers(table.schema))
    codes = table.categorical
    values = [
        # Code -1 reads the NaN at the end: a missing value.
        np.append(levels_of(table.schema, int(index)), np.nan)[codes[:, index]]
        for index in coded
    ]
    return np.column_stack([table.numeric, *values])


def codes_of(table: Table) -> CodeArray:
    """Return the codes of categories that are not numbers; -1 where missing."""
    return table.categorical[:, ~coded_numbers(table.schema)]


def levels_of(schema: Schema, index: int) -> FloatArray:
    """Return, in code order, the numbers that one categorical column holds."""
    column = schema.features[schema.categorical[index]]
    return np.array(column.levels, dtype=np.float64)


def _is_number(column: Column) -> bool:
    named = column.dtype.lower().startswith(("int", "uint", "float", "bool"))
    return named and all(isinstance(x, (Real, np.bool_)) for x in column.levels)


def _encode_numbers(views: list[FloatArray]) -> list[FloatArray]:
    if views[0].shape[1] == 0:
        return views
    # Powers of two bring each column near 1: squares of 1e300 would overflow.
    peak = np.fmax.reduce(np.abs(views[0]), axis=0, initial=0.0)
    tame = [np.ldexp(view, -np.frexp(peak)[1]) for view in views]
    scale = make_pipeline(
        SimpleImputer(strategy="mean", keep_empty_features=True), StandardScaler()
    ).fit(tame[0])
    return [_transform(scale, view) for view in tame]


def _encode_categories(views: list[CodeArray]) -> list[FloatArray]:
    if views[0].shape[1] == 0:
        return [view.astype(np.float64) for view in views]
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(views[0])
    return [_transform(levels, view) for view in views]


def _transform(fitted: BaseEstimator, view: FloatArray | CodeArray) -> FloatArray:
    if len(view) == 0:  # scikit-learn refuses a matrix without rows
        return np.empty((0, len(fitted.get_feature_names_out())))
    return np.asarray(fitted.transform(view))


# ---- Learners that name their columns, and the rows as such learners know them.
#
# A pipeline that treats columns one by one was written for the user's own frame: in a
# matrix of encoded rows there is no column that it could name.


_FRAME_PACKAGES = ("feature_engine", "sklearn_pandas", "skrub")
"""Their transformers tell columns apart by name or dtype."""

LACKS_COLUMNS = (AttributeError, IndexError, TypeError, ValueError)
"""What a learner may raise that looks for columns in a matrix."""

_OF_COLUMNS = re.compile(
    r"data_?frame|column|feature.names|ndarray|only integers, slices", re.IGNORECASE
)


def names_columns(learner: Estimator) -> bool:
    """Tell whether a learner, or any part of it, goes by the columns of a frame."""
    parts = [learner]
    if hasattr(learner, "get_params"):
        parts += learner.get_params(deep=True).values()
    return any(_goes_by_columns(part) for part in parts)


def misses_columns(error: Exception) -> bool:
    """Tell whether an error is about columns that a matrix does not have."""
    cause = error.__cause__ or error
    return _OF_COLUMNS.search(str(cause)) is not None


def rows_as_given(table: Table) -> Any:  # noqa: ANN401  a frame, or an array
    """Return features in the container, order and dtypes in which they were given.

    Identifiers are among them, for a pipeline may name them; new rows have none.
    """
    features = replace(table.schema, target=None)
    return write_frame(replace(table, schema=features))


def _goes_by_columns(part: object) -> bool:
    package = type(part).__module__.partition(".")[0]
    known = isinstance(part, (ColumnTransformer, make_column_selector))
    return known or package in _FRAME_PACKAGES
