"""Which real row each row descends from."""

from __future__ import annotations

import numpy as np

from tabtap.table.schema import IntArray
from tabtap.table.table import NO_ROW, Table


def ancestor_rows(real: Table, rows: Table) -> IntArray:
    """Find the real row that each of some rows descends from.

    Parameters
    ----------
    real : Table
        The real rows, or some of them in any order: origins name rows of the table
        that the user gave, of which this may be a part.
    rows : Table
        Real or synthetic rows.

    Returns
    -------
    array of shape (n_rows,)
        Numbers of rows of ``real``; -1 for a row without an ancestor there.
    """
    if not len(real):
        return np.full(len(rows), NO_ROW, dtype=np.int64)
    order = np.argsort(real.origin, kind="stable")
    place = np.searchsorted(real.origin[order], rows.origin)
    found = order[np.minimum(place, len(real) - 1)]
    known = (rows.origin != NO_ROW) & (real.origin[found] == rows.origin)
    return np.where(known, found, NO_ROW)
