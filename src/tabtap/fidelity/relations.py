"""How strongly each column goes with each other one.

Numbers, and categories of two levels, are correlated; their relation has a sign.  Any
other category has a strength in [0, 1], corrected for what chance alone would give:
uncorrected, 50 rows of two unrelated categories look related and 500 do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabtap.fidelity.likeness import correlations
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table

TARGET = -1
"""Place of the target among columns."""


def associations(table: Table, columns: Sequence[int]) -> FloatArray:
    """Return how each of some columns goes with each other one.

    Parameters
    ----------
    table : Table
        Rows; a pair is judged by those that have both values.
    columns : sequence of int
        Places of generated features, or ``TARGET``.

    Returns
    -------
    array of shape (n_columns, n_columns)
        Two numbers: Pearson's correlation.  A number and a category: the root of the
        share of the number's variance between levels (epsilon squared).  Two
        categories: Cramer's V with Bergsma's correction.  0 where undefined, 1 on the
        diagonal.
    """
    values = [_values(table, column) for column in columns]
    plain = [i for i, part in enumerate(values) if part.dtype.kind == "f"]
    found = np.eye(len(columns))
    if plain:
        numbers = np.column_stack([values[i].astype(np.float64) for i in plain])
        found[np.ix_(plain, plain)] = correlations(numbers)
    for i, first in enumerate(values):
        for j, second in enumerate(values[:i]):
            if first.dtype.kind == "f" and second.dtype.kind == "f":
                continue
            found[i, j] = found[j, i] = _strength(first, second)
    np.fill_diagonal(found, 1.0)
    return found


def is_signed(table: Table, column: int) -> bool:
    """Tell whether a column's relations have a sign."""
    return _values(table.empty(), column).dtype.kind == "f"


def _values(table: Table, column: int) -> FloatArray | IntArray:
    """Return floats for what is correlated, else codes with -1 for a hole."""
    target = table.schema.target
    if column == TARGET and target is not None:
        n_levels = len(target.column.levels) if target.task == "classification" else 0
        cells, hole = table.target, np.zeros(len(table), dtype=np.bool_)
    else:
        n_levels = len(table.schema.features[column].levels)
        cells, hole = table.cells[column], table.missing[:, column] > 0
    if n_levels > 2:
        return np.where(hole, -1, cells).astype(np.int64)
    return np.where(hole, np.nan, cells.astype(np.float64))


def _strength(first: FloatArray | IntArray, second: FloatArray | IntArray) -> float:
    if first.dtype.kind == "f":
        first, second = second, first
    if second.dtype.kind == "f":
        return _variance_between(first.astype(np.int64), second.astype(np.float64))
    return _cramer(first.astype(np.int64), second.astype(np.int64))


def _variance_between(level: IntArray, number: FloatArray) -> float:
    both = (level >= 0) & ~np.isnan(number)
    number, level = number[both], np.unique(level[both], return_inverse=True)[1]
    n, n_levels = len(number), int(level.max(initial=-1)) + 1
    if n <= n_levels or n_levels < 2:
        return 0.0
    peak = np.abs(number).max()
    number = number / peak if peak > 0 else number  # so that no square overflows
    total = float(((number - number.mean()) ** 2).sum())
    means = np.bincount(level, number) / np.bincount(level)
    within = float(((number - means[level]) ** 2).sum())
    if total <= 1e-20 * n:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - n_levels))))


def _cramer(first: IntArray, second: IntArray) -> float:
    both = (first >= 0) & (second >= 0)
    n = int(both.sum())
    if n < 2:
        return 0.0
    rows, columns = (
        np.unique(part[both], return_inverse=True)[1] for part in (first, second)
    )
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows, columns), 1.0)
    usual = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    square = float(((counts - usual) ** 2 / usual).sum()) / n
    r, k = counts.shape
    square = max(0.0, square - (k - 1) * (r - 1) / (n - 1))
    smaller = min(k - (k - 1) ** 2 / (n - 1), r - (r - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(square / smaller))) if smaller > 0 else 0.0
