"""Regions of a table in which rows score low, said in words.

A tree of two questions finds them.  Any tree finds something, so it is asked about rows
it has not seen first, and believed only if it does better there than the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from tabtap.report.drawing import clean
from tabtap.report.values import (
    ColumnValues,
    column_title,
    column_values,
    number_text,
)
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table

N_QUESTIONS = 2
N_FOLDS = 5
MIN_ROWS = 20
"""Fewer rows are too few to find a region in."""

MIN_REGION = 5
MIN_SHARE = 0.1
_NAME_WIDTH = 40


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Some rows that answer the same questions alike."""

    words: str
    rows: BoolArray
    mean: float
    """Mean score of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """One thing to ask of every row."""

    answers: FloatArray
    """Ranks of numbers with -1 for holes, or 1 for a level and 0 for others."""

    column: ColumnValues

    level: int | None = None
    """The level asked about; None for numbers."""

    values: FloatArray | None = None
    """The number of each rank."""


def low_regions(
    real: Table, scores: FloatArray, *, families: IntArray | None = None, seed: int = 0
) -> list[Region]:
    """Find the regions whose rows score below the mean, the lowest first.

    Parameters
    ----------
    real : Table
        Real rows.
    scores : array of shape (n_rows,)
        Larger is better.
    families : array of shape (n_rows,), optional
        Who a row belongs to; rows of one family are held out together.
    seed : int
        Of the folds, and of ties between questions.

    Returns
    -------
    list of Region
        Empty where no region stands out on rows that were held out.
    """
    questions = _questions(real)
    if len(real) < MIN_ROWS or not questions or not np.isfinite(scores).all():
        return []
    answers = np.column_stack([question.answers for question in questions])
    smallest = max(MIN_REGION, math.ceil(MIN_SHARE * len(real)))
    tree = DecisionTreeRegressor(
        max_depth=N_QUESTIONS, min_samples_leaf=smallest, random_state=seed
    )
    if not _holds(tree, answers, scores, _families(families, len(real), seed)):
        return []
    tree.fit(answers, scores)
    leaf = tree.apply(answers)
    paths = _paths(tree.tree_)
    found = [
        Region(
            _words(questions, paths[one]),
            leaf == one,
            float(scores[leaf == one].mean()),
        )
        for one in np.unique(leaf)
    ]
    below = [part for part in found if part.mean < scores.mean() and part.words]
    return sorted(below, key=lambda part: part.mean)


def _holds(
    tree: DecisionTreeRegressor,
    answers: FloatArray,
    scores: FloatArray,
    families: IntArray,
) -> bool:
    """Tell whether the tree does better than the mean on rows it has not seen."""
    n_folds = min(N_FOLDS, len(np.unique(families)))
    if n_folds < 2:
        return False
    folds = GroupKFold(n_folds)
    said = cross_val_predict(tree, answers, scores, groups=families, cv=folds)
    plain = np.zeros(len(scores))
    for train, test in folds.split(answers, scores, families):
        plain[test] = scores[train].mean()
    return bool(((said - scores) ** 2).sum() < ((plain - scores) ** 2).sum())


def _families(families: IntArray | None, n_rows: int, seed: int) -> IntArray:
    if families is not None:
        return families
    # In a random order: a table may be sorted.
    return np.random.default_rng(seed).permutation(n_rows)


def _questions(real: Table) -> list[_Question]:
    schema = real.schema
    found: list[_Question] = []
    for place in sorted([*schema.numeric, *schema.categorical]):
        column = column_values(real, real.empty(), int(place))
        found.extend(_of_levels(column) if column.levels else [_of_numbers(column)])
    return [question for question in found if np.ptp(question.answers) > 0]


def _of_numbers(column: ColumnValues) -> _Question:
    hole = np.isnan(column.real)
    values, rank = np.unique(column.real[~hole], return_inverse=True)
    answers = np.full(len(hole), -1.0)
    answers[~hole] = rank
    return _Question(answers, column, values=values)


def _of_levels(column: ColumnValues) -> list[_Question]:
    codes, counts = np.unique(column.real, return_counts=True)
    return [
        _Question((column.real == code).astype(np.float64), column, level=int(code))
        for code in codes[counts >= MIN_REGION]
    ]


def _paths(tree: Any) -> dict[int, list[tuple[int, bool, float]]]:  # noqa: ANN401
    """Return for each leaf the questions on the way to it, and the answers."""
    found: dict[int, list[tuple[int, bool, float]]] = {}

    def walk(node: int, path: list[tuple[int, bool, float]]) -> None:
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left == right:
            found[node] = path
            return
        asked = int(tree.feature[node]), float(tree.threshold[node])
        walk(left, [*path, (asked[0], True, asked[1])])
        walk(right, [*path, (asked[0], False, asked[1])])

    walk(0, [])
    return found


def _words(
    questions: Sequence[_Question], path: Sequence[tuple[int, bool, float]]
) -> str:
    return " and ".join(
        _answer(questions[number], cut, is_low=is_low) for number, is_low, cut in path
    )


def _answer(question: _Question, cut: float, *, is_low: bool) -> str:
    column = question.column
    name = column_title(column.name)
    if question.level is not None:
        level = clean(column.text(question.level), _NAME_WIDTH)
        return f"{name} is not {level}" if is_low else f"{name} is {level}"
    values = question.values
    has_holes = bool((question.answers < 0).any())
    below = math.floor(cut)
    if values is None or below < 0:
        return f"{name} is missing" if is_low else f"{name} is known"
    border = _border(column, float(values[below]), float(values[below + 1]))
    if not is_low:
        return f"{name} above {border}"
    return f"{name} up to {border}" + (" or missing" if has_holes else "")


def _border(column: ColumnValues, low: float, high: float) -> str:
    """Return the shortest number that is not below ``low`` and below ``high``."""
    if column.sort == "date" or column.step:
        return column.text(low) if column.sort == "date" else _exact(column, low)
    for digits in range(1, 17):
        border = float(f"{(low + high) / 2:.{digits}g}")
        if low <= border < high:
            return number_text(border, column.power, max(digits, 3))
    return _exact(column, low)


def _exact(column: ColumnValues, value: float) -> str:
    unit = f" {column.unit}" if column.unit else ""
    return number_text(value, column.power, 15) + unit
