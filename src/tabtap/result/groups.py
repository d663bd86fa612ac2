"""Who each row belongs to, in the user's own words, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.saved_schema import level_from_json, level_to_json
from tabtap.table.schema import IntArray


def label_array(labels: Any) -> NDArray[Any]:  # noqa: ANN401 - one label per row
    """Return labels in an array of one dimension, each as it was given."""
    if not isinstance(labels, (list, tuple)):
        return np.asarray(labels)
    # numpy would make text of 1 beside "a", and a second dimension of tuples.
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.asarray(labels)
    return _objects(labels)


def told_apart(labels: NDArray[Any], origin: IntArray) -> NDArray[Any]:
    """Return labels of which none is missing.

    A row without a group is a group by itself, and gets a label that no group has:
    ``-1 - origin`` among numbers, as many units before 1970 among numpy's times, and
    the text ``"row <origin>"`` otherwise.

    Parameters
    ----------
    labels : array of shape (n_real,)
        The user's; NaN, None, NA and NaT are rows without a group.
    origin : array of shape (n_real,)
        Place of each real row in the table given.

    Examples
    --------
    >>> told_apart(np.array([7.0, np.nan, 7.0]), np.array([0, 1, 2]))
    array([ 7., -2.,  7.])
    >>> told_apart(np.array(["ann", None], dtype=object), np.array([0, 1])).tolist()
    ['ann', 'row 1']
    """
    hole = np.asarray(pd.isna(labels))
    if not hole.any():
        return labels
    if labels.dtype.kind in "mM":
        counts = _numbered(labels.view(np.int64), hole, origin)
        return np.asarray(counts.view(labels.dtype))
    if all(isinstance(label, Number) for label in labels[~hole]):
        return _numbered(labels, hole, origin)
    return _named(labels, hole, origin)


def groups_to_json(groups: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return the groups of real rows as their labels."""
    if groups is None:
        return None
    # Times as counts, which the dtype makes times again.
    plain = groups.view(np.int64) if groups.dtype.kind in "mM" else groups
    return {
        "dtype": groups.dtype.str,
        "labels": [level_to_json(label) for label in plain.tolist()],
    }


def groups_from_json(saved: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Return the groups that ``groups_to_json`` wrote."""
    if saved is None:
        return None
    groups = _objects([level_from_json(label) for label in saved["labels"]])
    dtype = np.dtype(saved["dtype"])
    if dtype.kind in "mM":
        return np.asarray(groups.astype(np.int64).view(dtype))
    return np.asarray(groups.astype(dtype))


def _numbered(
    labels: NDArray[Any], hole: NDArray[np.bool_], origin: IntArray
) -> NDArray[Any]:
    taken = set(labels[~hole].tolist())
    labels = labels.copy()
    # Steps of this length keep the numbers of two rows from ever meeting.
    step = int(origin.max()) + 1
    for place in np.flatnonzero(hole):
        number = -1 - int(origin[place])
        while number in taken:
            number -= step
        labels[place] = number
    return labels


def _named(
    labels: NDArray[Any], hole: NDArray[np.bool_], origin: IntArray
) -> NDArray[Any]:
    taken = set(labels[~hole].tolist())
    labels = labels.copy()
    for place in np.flatnonzero(hole):
        name = f"row {origin[place]}"
        while name in taken:
            name += "'"
        labels[place] = name
    return labels


def _objects(labels: Any) -> NDArray[Any]:  # noqa: ANN401
    array = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):  # at once, numpy would unpack tuples
        array[place] = label
    return array
