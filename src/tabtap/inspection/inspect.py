"""Everything that a person should look at in a table before rows are added to it."""

from __future__ import annotations

from collections.abc import Container, Hashable

from tabtap.inspection.columns import column_remarks
from tabtap.inspection.leaks import leak_remarks
from tabtap.inspection.remarks import Remark
from tabtap.inspection.rows import row_remarks
from tabtap.table.table import Table


def inspect_table(table: Table, *, declared: Container[Hashable] = ()) -> list[Remark]:
    """Look a table over: what may spoil it, and which setting answers that.

    Parameters
    ----------
    table : Table
        As ``tabtap.table.read_frame`` gives it, with a target.
    declared : container of column names
        Columns whose kind was named by the user, and is not to be doubted.

    Returns
    -------
    list of Remark
        Columns that give the target away first, then what concerns columns, then
        rows and classes.  Empty if there is nothing to say.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"code": [1, 2] * 30, "sick": ["no", "yes"] * 30})
    >>> frame["age"] = range(20, 140, 2)
    >>> [(r.topic, r.column) for r in inspect_table(read_frame(frame, "sick"))]
    [('leak', 'code')]
    """
    return [
        *leak_remarks(table),
        *column_remarks(table, declared),
        *row_remarks(table),
    ]
