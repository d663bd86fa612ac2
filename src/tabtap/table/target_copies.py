"""Features that are the target once more: equal to it in every row.

With such a feature there is nothing to predict, every learner is perfect already, and
no row can be shown to help.  Columns that only tell the target are ``inspection``'s.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import Column, Kind
from tabtap.table.table import Table


def target_copies(table: Table) -> list[Hashable]:
    """Return the names of learned features that equal the target in every row.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"dose": [1, 2, 3] * 4, "sick": [0, 1, 1] * 4})
    >>> target_copies(read_frame(frame.assign(ill=frame["sick"] * 1.0), "sick"))
    ['ill']
    """
    target = table.schema.target
    if target is None:
        return []
    return [
        column.name
        for place, column in enumerate(table.schema.features)
        if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)
        and not table.missing[:, place].any()
        and are_equal(column, table.cells[place], target.column, table.target)
    ]


def are_equal(
    column: Column, cells: NDArray[Any], other: Column, other_cells: NDArray[Any]
) -> bool:
    """Whether two columns without holes have the same value in every row.

    Numbers are compared as numbers, whatever their kinds: 1, 1.0 and True are equal.
    """
    if not len(cells) or Kind.DATETIME in (column.kind, other.kind):
        return False
    # The first row tells most columns apart, before all of them are looked at.
    if not _are_equal(column, cells[:1], other, other_cells[:1]):
        return False
    return _are_equal(column, cells, other, other_cells)


def _are_equal(
    column: Column, cells: NDArray[Any], other: Column, other_cells: NDArray[Any]
) -> bool:
    same = _values(column, cells) == _values(other, other_cells)
    return bool(np.all(same))


def _values(column: Column, cells: NDArray[Any]) -> NDArray[Any]:
    if column.kind.is_numeric:
        return cells
    levels = np.empty(len(column.levels), dtype=object)
    levels[:] = column.levels
    return np.asarray(levels[cells])
