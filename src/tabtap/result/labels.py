"""Row labels of a pandas frame that grows: real ones kept, new ones never seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tabtap.errors import UserInputError
from tabtap.table.pandas_columns import dtype_from_text, dtype_text
from tabtap.table.saved_schema import level_from_json, level_to_json


def continued(index: pd.Index, n_new: int) -> pd.Index:
    """Return an index with labels for further rows at its end.

    Parameters
    ----------
    index : pandas.Index
        Labels of the real rows; they stay what they are, in this order.
    n_new : int
        Rows to be added.

    Returns
    -------
    pandas.Index
        A RangeIndex goes on; integers go on after the largest; all other labels are
        followed by ``"synthetic 0"``, ``"synthetic 1"`` and so on, as text among
        text and as objects among dates and the like.

    Examples
    --------
    >>> continued(pd.RangeIndex(0, 6, 2), 2)
    RangeIndex(start=0, stop=10, step=2)
    >>> continued(pd.Index([7, 3]), 2).tolist()
    [7, 3, 8, 9]
    >>> continued(pd.Index(["ann", "bob"]), 1).tolist()
    ['ann', 'bob', 'synthetic 0']
    """
    if isinstance(index, pd.RangeIndex):
        stop = index.start + (len(index) + n_new) * index.step
        return pd.RangeIndex(index.start, stop, index.step, name=index.name)
    if not n_new:
        return index
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu":
        first = int(index.max()) + 1 if len(index) else 0
        added = range(first, first + n_new)
        # A narrow dtype may have no room; int64, and beyond it objects, have.
        return pd.Index([*index.tolist(), *added], name=index.name)
    return _with_texts(index, n_new)


def index_to_json(index: pd.Index | None) -> Any:  # noqa: ANN401
    """Return labels as JSON, or None if it could not give them back exactly."""
    if index is None:
        return None
    try:
        names = [level_to_json(name) for name in index.names]
        if isinstance(index, pd.RangeIndex):
            return {"range": [index.start, index.stop, index.step], "names": names}
        labels = [level_to_json(label) for label in index]
    except UserInputError:
        return None
    if isinstance(index, pd.MultiIndex):
        return {"tuples": labels, "names": names}
    dtype = dtype_text(index.dtype)
    return None if dtype is None else {"labels": labels, "dtype": dtype, "names": names}


def index_from_json(saved: Mapping[str, Any] | None) -> pd.Index | None:
    """Return the labels that ``index_to_json`` wrote."""
    if saved is None:
        return None
    names = [level_from_json(name) for name in saved["names"]]
    if "range" in saved:
        return pd.RangeIndex(*saved["range"], name=names[0])
    if "tuples" in saved:
        tuples = [level_from_json(label) for label in saved["tuples"]]
        return pd.MultiIndex.from_tuples(tuples, names=names)
    labels = [level_from_json(label) for label in saved["labels"]]
    dtype = dtype_from_text(saved["dtype"])
    return pd.Index(labels, dtype=dtype, name=names[0], tupleize_cols=False)


def _with_texts(index: pd.Index, n_new: int) -> pd.Index:
    several = isinstance(index, pd.MultiIndex)
    taken = set(index.get_level_values(0) if several else index)
    added: list[Any] = []
    number = 0
    while len(added) < n_new:
        if (label := f"synthetic {number}") not in taken:
            added.append(label)
        number += 1
    if several:
        rest = ("",) * (index.nlevels - 1)
        tuples = [*index, *((label, *rest) for label in added)]
        return pd.MultiIndex.from_tuples(tuples, names=index.names)
    text = isinstance(index.dtype, pd.StringDtype)
    dtype = index.dtype if text else object
    return pd.Index([*index, *added], dtype=dtype, name=index.name, tupleize_cols=False)
