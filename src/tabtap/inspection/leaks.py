"""Columns that give the target away: copies of it, and those that tell it alone.

A column that says the target by itself is rarely a measurement and mostly something
that was written down after the fact.  Rows made with it teach nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabtap.inspection.remarks import Remark
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Kind
from tabtap.table.split import folds
from tabtap.table.table import Table

MAX_ROWS = 2_000
"""Rows that are looked at; more would not change the answer."""

ALONE = 0.98
"""Share of the classes told, or of the variance explained, by one column alone."""

_SAME_ORDER = 0.9995
_N_FOLDS = 5
_LEAST_LEAF = 2


def leak_remarks(table: Table) -> list[Remark]:
    """Return a remark for each column that gives the target away."""
    target = table.schema.target
    if target is None:
        return []
    rng = stream(0, "leaks")
    if len(table) > MAX_ROWS:
        table = table.take(np.sort(rng.choice(len(table), MAX_ROWS, replace=False)))
    n_folds = min(_N_FOLDS, len(table))
    fold = folds(table.condition, n_folds, rng)
    remarks = []
    for place, column in enumerate(table.schema.features):
        if column.kind in (Kind.IDENTIFIER, Kind.CONSTANT):
            continue
        found = _found(table, place, fold, is_class=target.task == "classification")
        if found:
            remarks.append(
                Remark(topic="leak", column=column.name, text=found, setting="ignore")
            )
    return remarks


def _found(table: Table, place: int, fold: IntArray, *, is_class: bool) -> str:
    values = _values(table, place)
    if _is_copy(values, table.target):
        return (
            "says the same as the target in other words: each of its values goes "
            "with one of the target's"
        )
    if is_class:
        told = _told(values, table.target.astype(np.int64), fold)
        if told >= ALONE:
            return (
                f"tells the target almost alone: {told:.0%} of each class are right "
                "from this column only"
            )
        return ""
    numbers = table.target_values
    explained = max(_explained(values, numbers, fold), _same_order(values, numbers))
    if explained >= ALONE:
        return "tells the target almost alone: it explains nearly all of its spread"
    return ""


def _values(table: Table, place: int) -> FloatArray:
    """Return a column as numbers; a hole is a value of its own, below all others."""
    values = np.asarray(table.cells[place], dtype=np.float64).copy()
    hole = table.missing[:, place] > 0
    present = values[~hole]
    values[hole] = (present.min() if len(present) else 0.0) - 1.0
    return values


def _is_copy(values: FloatArray, target: NDArray[np.generic]) -> bool:
    _, code = np.unique(values, return_inverse=True)
    _, label = np.unique(target, return_inverse=True)
    n_codes, n_labels = code.max() + 1, label.max() + 1
    # Where nothing comes back, any two columns go together.
    if n_codes != n_labels or n_codes == len(values):
        return False
    return bool(len(np.unique(code * n_labels + label)) == n_codes)


def _told(values: FloatArray, label: IntArray, fold: IntArray) -> float:
    """Return the mean over classes of the share that a tree tells out of fold."""
    from sklearn.tree import DecisionTreeClassifier

    said = np.full(len(label), -1, dtype=np.int64)
    for left_out in _splits(fold):
        tree = DecisionTreeClassifier(min_samples_leaf=_LEAST_LEAF, random_state=0)
        tree.fit(values[~left_out, None], label[~left_out])
        said[left_out] = tree.predict(values[left_out, None])
    shares = [float((said[label == k] == k).mean()) for k in np.unique(label)]
    return float(np.mean(shares))


def _explained(values: FloatArray, numbers: FloatArray, fold: IntArray) -> float:
    from sklearn.tree import DecisionTreeRegressor

    said = np.zeros(len(numbers))
    for left_out in _splits(fold):
        tree = DecisionTreeRegressor(min_samples_leaf=_LEAST_LEAF, random_state=0)
        tree.fit(values[~left_out, None], numbers[~left_out])
        said[left_out] = tree.predict(values[left_out, None])
    return 1.0 - float(np.mean((numbers - said) ** 2) / np.var(numbers))


def _same_order(values: FloatArray, numbers: FloatArray) -> float:
    """Return 1 where a column puts the rows in the target's order, or its reverse."""
    from scipy.stats import rankdata

    ranks = rankdata(values), rankdata(numbers)
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    alike = abs(float(np.corrcoef(*ranks)[0, 1]))
    return 1.0 if alike >= _SAME_ORDER else 0.0


def _splits(fold: IntArray) -> list[BoolArray]:
    return [fold == number for number in np.unique(fold)]
