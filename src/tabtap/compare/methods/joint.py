"""Rows with their target as one more column, and back.

Most generators know nothing of labels: to them the target is a column like any other,
drawn together with the rest of its row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabtap.table.schema import CodeArray, FloatArray, Schema
from tabtap.table.table import Table, blank


def joined(train: Table) -> Table:
    """Return the same rows without a target; it is the last feature instead."""
    target = train.schema.target
    if target is None:
        return train
    features = (*train.schema.features, target.column)
    observed = np.zeros((len(train), 1), dtype=np.int8)
    return Table(
        replace(train.schema, features=features, target=None),
        (*train.cells, train.target.astype(target.column.storage)),
        np.hstack([train.missing, observed]),
        np.zeros(len(train), dtype=np.int64),
        train.origin,
        train.unseen_fold,
    )


def parted(rows: Table, train: Table) -> Table:
    """Return rows of ``joined(train)`` as rows of the schema of ``train``."""
    if train.schema.target is None:
        return rows
    return Table(
        train.schema,
        rows.cells[:-1],
        rows.missing[:, :-1],
        rows.cells[-1].astype(train.target.dtype),
        rows.origin,
        rows.unseen_fold,
    )


def whole_rows(schema: Schema, numeric: FloatArray, categorical: CodeArray) -> Table:
    """Return rows without a target that hold drawn values.

    Parameters
    ----------
    schema : Schema
        Of a table without a target, such as ``joined`` gives.
    numeric, categorical : arrays
        Laid out as the properties of a table; NaN and -1 are holes.

    Returns
    -------
    Table
        Rows that descend from no real row.  Numbers are on their column's grid,
        constants what they always are, identifiers empty.
    """
    start = blank(schema, np.zeros(len(numeric), dtype=np.int64))
    everything = np.ones(start.missing.shape, dtype=np.bool_)
    return start.redrawn(everything, numeric, categorical)
