"""What packages with trained in-context networks have in common, asked one by one.

Such a package takes numbers, categories and holes as they are, and a context at a time.
What it cannot be asked (a single class, a constant target, no column that varies) is
answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tabtap.domain import ClassPrediction, Prediction, TargetUnit, ValuePrediction
from tabtap.evaluate.encoding import codes_of, numbers_of
from tabtap.evaluate.fitting import task_of
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray, Task
from tabtap.table.table import Table

_BLOCK = 16
"""Queries are filled up to a multiple of this: a matrix product of few rows rounds in
its own way, and a query's answer must not depend on its company."""

_SAFE_EXPONENT = 30
"""Columns whose largest number is within 2**30 or 2**-30 have squares in float32."""

_FAR = 2.0**60
"""Queries beyond this are as far from any context as a network can tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One context and its queries as matrices; NaN where a value is missing."""

    context: FloatArray
    """Numbers, then codes of categories; every column varies."""

    queries: FloatArray
    """The same columns, the rows repeated to fill a block; a level that the context
    does not have is missing."""

    categorical: list[int]
    """Which columns are codes."""

    target: FloatArray | IntArray
    """Class codes without gaps, or the standardised target."""


Classify = Callable[[Asked], FloatArray]
"""Gives probabilities of shape (n_queries, n_classes of the context)."""

Estimate = Callable[[Asked], tuple[FloatArray, FloatArray]]
"""Gives mean and variance of the standardised target, each of shape (n_queries,)."""


def answer_in_context(
    contexts: Sequence[Table],
    queries: Sequence[Table],
    *,
    classify: Classify,
    estimate: Estimate,
) -> list[Prediction]:
    """Return one prediction per (context, queries) pair, in the order given.

    Raises
    ------
    UserInputError
        If a context has no rows, or tables have no target.
    """
    task = task_of(contexts, queries)
    pairs = zip(contexts, queries, strict=True)
    if task == "classification":
        return [_labels(context, asked, classify) for context, asked in pairs]
    return [_values(context, asked, estimate) for context, asked in pairs]


def smallest_question(task: Task) -> Asked:
    """Return the smallest question there is, to have a network loaded."""
    target = np.array([0, 1]) if task == "classification" else np.array([-1.0, 1.0])
    rows = np.array([[0.0], [1.0]])
    return Asked(rows, rows, [], target)


def _labels(context: Table, queries: Table, classify: Classify) -> ClassPrediction:
    present, codes = np.unique(context.target.astype(np.int64), return_inverse=True)
    everything = np.zeros((len(queries), context.schema.n_conditions))
    asked = _asked(context, queries, codes)
    if len(present) == 1 or len(queries) == 0 or asked.context.shape[1] == 0:
        everything[:, present] = np.bincount(codes) / len(codes)
    else:
        found = np.asarray(classify(asked), dtype=np.float64)[: len(queries)]
        everything[:, present] = found / found.sum(axis=1, keepdims=True)
    return ClassPrediction(everything)


def _values(context: Table, queries: Table, estimate: Estimate) -> ValuePrediction:
    # Standardised here in float64: a network's float32 has seven digits, and a target
    # around 1e6 would leave few of them for what differs.
    unit = TargetUnit.of(context)
    target = unit.standardise(context.target_values)
    asked = _asked(context, queries, target)
    if np.ptp(target) == 0 or len(queries) == 0 or asked.context.shape[1] == 0:
        size = len(queries)
        mean, variance = np.full(size, target.mean()), np.full(size, target.var())
    else:
        mean, variance = (told[: len(queries)] for told in estimate(asked))
    return ValuePrediction(unit.center + unit.spread * mean, unit.spread**2 * variance)


def _asked(context: Table, queries: Table, target: FloatArray | IntArray) -> Asked:
    numbers = _tame(numbers_of(context), numbers_of(queries))
    levels = _known_levels(codes_of(context), codes_of(queries))
    known, asked = (np.hstack(both) for both in zip(numbers, levels, strict=True))
    varies = _varies(known)
    is_code = np.arange(known.shape[1]) >= numbers[0].shape[1]
    categorical = np.flatnonzero(is_code[varies]).tolist()
    filled = np.arange(-(-len(asked) // _BLOCK) * _BLOCK) % max(len(asked), 1)
    return Asked(known[:, varies], asked[filled][:, varies], categorical, target)


def _tame(known: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bring columns that float32 cannot hold near 1, and leave all others alone."""
    whole = np.isfinite(known)
    peak = np.where(whole, np.abs(known), 0.0).max(axis=0, initial=0.0)
    exponent = -np.frexp(peak)[1]
    exponent[np.abs(exponent) <= _SAFE_EXPONENT] = 0
    known, asked = np.ldexp(known, exponent), np.ldexp(asked, exponent)
    asked = np.where(np.isfinite(asked), np.clip(asked, -_FAR, _FAR), np.nan)
    return np.where(whole, known, np.nan), asked


def _known_levels(known: CodeArray, asked: CodeArray) -> tuple[FloatArray, FloatArray]:
    met = np.zeros(asked.shape, dtype=np.bool_)
    for place, column in enumerate(known.T):
        met[:, place] = np.isin(asked[:, place], column)
    return (
        np.where(known >= 0, known, np.nan),
        np.where(met & (asked >= 0), asked, np.nan),
    )


def _varies(known: FloatArray) -> BoolArray:
    """Tell which columns have two values, one of which may be a hole."""
    first = known[:1]
    same = (known == first) | (np.isnan(known) & np.isnan(first))
    return np.asarray(~same.all(axis=0))
