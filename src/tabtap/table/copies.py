"""Rows that are exact copies of each other, told from rows that are equal by chance.

A copy on both sides of a split is an answer known beforehand.  But where there are few
columns of few levels equal rows are natural, and are not one and the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import IntArray, Kind
from tabtap.table.table import Table

CHANCE = 0.1
"""Equal pairs are copies if chance would make less than this share of them."""


def copy_groups(table: Table) -> IntArray | None:
    """Give every row a number that exact copies share.

    Parameters
    ----------
    table : Table
        Rows with or without a target.

    Returns
    -------
    array of shape (n_rows,) or None
        Numbers from 0, equal for rows that agree in every feature, in their holes and
        in the target.  Identifiers are not compared: a row number would hide every
        copy.  None if no rows agree, or about as many as chance would make agree.

    Notes
    -----
    Were columns and target independent, ``C(n, 2) * prod_j sum_v p_jv ** 2`` pairs of
    rows would agree, ``p_jv`` being how often value v occurs in column j.  These are
    counted among the distinct rows, or copies would pass for frequent values.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"a": range(6), "b": [5, 3, 1, 0, 2, 4], "y": [0, 1] * 3})
    >>> frame["c"] = frame["a"] ** 2
    >>> copy_groups(read_frame(pd.concat([frame, frame]), "y"))
    array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5])
    >>> few = pd.DataFrame({"a": [0, 1, 1] * 4, "y": [0, 0, 1] * 4})
    >>> copy_groups(read_frame(few, "y")) is None
    True
    """
    columns = list(_compared(table))
    numbers = _row_numbers(columns, len(table))
    sizes = np.bincount(numbers)
    n_equal = _pairs(sizes).sum()
    if n_equal == 0:
        return None
    _, first = np.unique(numbers, return_index=True)
    by_chance = _pairs(np.array([len(table)])).sum()
    for codes in columns:
        share = np.bincount(codes[first]) / len(first)
        by_chance *= (share**2).sum()
    return numbers if by_chance < CHANCE * n_equal else None


def _compared(table: Table) -> Iterator[IntArray]:
    """Give every column that counts as codes, a hole being a value like any other."""
    for place, column in enumerate(table.schema.features):
        if column.kind is not Kind.IDENTIFIER:
            code = _codes(table.cells[place])
            # What lies under a hole is not part of the row.
            yield np.where(table.missing[:, place] > 0, 0, code + 1)
    yield _codes(table.target)


def _row_numbers(columns: Iterable[IntArray], n_rows: int) -> IntArray:
    """Return a number for each row, from 0 as they appear; equal rows share it."""
    numbers = np.zeros(n_rows, dtype=np.int64)
    for code in columns:
        numbers = _codes(numbers * (code.max(initial=0) + 1) + code)
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]


def _codes(values: NDArray[Any]) -> IntArray:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _pairs(sizes: IntArray) -> NDArray[np.float64]:
    """Return how many pairs of rows there are in sets of so many rows."""
    return sizes * (sizes - 1) / 2.0
