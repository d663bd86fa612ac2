"""Where every synthetic row comes from, and what every step did, as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.domain import Candidates, Certificate, StepRecord
from tabtap.errors import UserInputError
from tabtap.table.frame import write_target
from tabtap.table.pandas_columns import dtype_from_text, dtype_text
from tabtap.table.saved_schema import level_from_json, level_to_json
from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import Table

NO_WINDOW = -1

NO_TARGET = -1
"""In an action: the class that was asked for is one that nobody has any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """How many rows were left after each stage; all lineages, delivered ones last."""

    proposed: int

    refused: Mapping[str, int]
    """By the gate that refused them, in the order of the gates."""

    admitted: int
    """Rows that passed every gate."""

    committed: int
    """Rows in pools that passed their check."""

    delivered: int
    """Rows that the user gets: every M-th, where M lineages judge M folds."""


def waterfall(
    steps: Sequence[StepRecord],
    certificates: Sequence[Certificate],
    n_delivered: int,
) -> Waterfall:
    """Count the rows of a run, stage by stage."""
    refused: dict[str, int] = {}
    for record in steps:
        for gate, count in record.refused.items():
            refused[gate] = refused.get(gate, 0) + count
    return Waterfall(
        proposed=sum(record.n_proposed for record in steps),
        refused=refused,
        admitted=sum(record.n_admitted for record in steps),
        committed=sum(c.n_judged for c in certificates if c.committed),
        delivered=n_delivered,
    )


def row_windows(rows: Candidates, steps: Sequence[StepRecord]) -> IntArray:
    """Return the window that each row was made in; -1 where no step says so."""
    window = {record.step: record.window for record in steps}
    found = [window.get(int(step), NO_WINDOW) for step in rows.step]
    return np.array(found, dtype=np.int64)


def provenance_frame(
    rows: Candidates, steps: Sequence[StepRecord], teacher: str = ""
) -> pd.DataFrame:
    """Return one row per synthetic row: its ancestor and how it was made."""
    names = [column.name for column in rows.rows.schema.features]
    by_step = {record.step: record for record in steps}
    asked = [by_step.get(int(step)) for step in rows.step]
    frame = pd.DataFrame(index=pd.RangeIndex(len(rows)))
    frame["anchor_row"] = rows.rows.origin
    frame["redrawn"] = _objects([_chosen(names, drawn) for drawn in rows.regenerate])
    frame["target"] = target_labels(rows.rows)
    if rows.asked is not None:
        frame["asked_target"] = target_labels(replace(rows.rows, target=rows.asked))
    frame["template"] = _objects([r and r.action.template.value for r in asked])
    frame["exploration"] = np.array(
        [np.nan if r is None else r.action.exploration for r in asked], np.float64
    )
    frame["step"] = rows.step
    frame["window"] = row_windows(rows, steps)
    frame["fold"] = rows.rows.unseen_fold
    for gate, score in rows.scores.items():
        frame[f"score: {gate}"] = score
    if teacher and rows.asked is not None:
        frame["teacher"] = teacher
    return frame


def trace_frame(
    steps: Sequence[StepRecord], certificates: Sequence[Certificate], schema: Schema
) -> pd.DataFrame:
    """Return one row per step: what was chosen, what came of it, what was learned."""
    names = dict(enumerate(condition_names(schema)))
    committed = {c.window: c.committed for c in certificates}
    gates = dict.fromkeys(gate for record in steps for gate in record.refused)
    frame = pd.DataFrame(index=pd.RangeIndex(len(steps)))
    frame["step"] = np.array([r.step for r in steps], np.int64)
    frame["window"] = np.array([r.window for r in steps], np.int64)
    frame["target"] = _objects([names.get(r.action.target) for r in steps])
    frame["template"] = _objects([r.action.template.value for r in steps])
    for name, values in (
        ("exploration", [r.action.exploration for r in steps]),
        ("deficit", [_of_target(r, r.state.deficit) for r in steps]),
        ("uncertainty", [_of_target(r, r.state.uncertainty) for r in steps]),
        ("novelty", [r.state.novelty for r in steps]),
        ("gain", [r.gain for r in steps]),
        ("advantage", [r.advantage for r in steps]),
    ):
        frame[name] = np.array(values, np.float64)
    frame["feedback"] = _objects([r.feedback.name.lower() for r in steps])
    frame["n_proposed"] = np.array([r.n_proposed for r in steps], np.int64)
    for gate in gates:
        counts = [r.refused.get(gate, 0) for r in steps]
        frame[f"refused: {gate}"] = np.array(counts, np.int64)
    frame["n_admitted"] = np.array([r.n_admitted for r in steps], np.int64)
    frame["committed"] = np.array([committed.get(r.window, False) for r in steps], bool)
    return frame


def target_labels(rows: Table) -> pd.Series:
    """Return the labels or target values of some rows, in pandas whatever they were."""
    target = write_target(rows)
    if isinstance(target, pd.Series):
        return target.reset_index(drop=True)
    if isinstance(target, np.ndarray):
        return pd.Series(list(target) if target.dtype.kind in "US" else target)
    return pd.Series(target.to_list(), dtype=object).infer_objects()


def condition_names(schema: Schema) -> tuple[Any, ...]:
    """Return what an action's target stands for: a label, or a range as text."""
    target = schema.target
    if target is None:
        return ("any",)
    if target.task == "classification":
        return target.column.levels
    if not target.edges:
        return ("any",)
    texts = [f"{edge:.6g}" for edge in target.edges]
    inner = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"up to {texts[0]}", *inner, f"above {texts[-1]}")


def _of_target(record: StepRecord, values: FloatArray) -> float:
    target = record.action.target
    return float("nan") if target == NO_TARGET else float(values[target])


def _chosen(names: Sequence[Any], drawn: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(name for name, yes in zip(names, drawn, strict=True) if yes)


def _objects(values: Sequence[Any]) -> pd.Series:
    return pd.Series(list(values), dtype=object)


# ---- Row labels of a pandas frame that grows: real ones kept, new ones never seen.


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


# ---- Who each row belongs to, in the user's own words, and as JSON.


def label_array(labels: Any) -> NDArray[Any]:  # noqa: ANN401 - one label per row
    """Return labels in an array of one dimension, each as it was given."""
    if not isinstance(labels, (list, tuple)):
        return np.asarray(labels)
    # numpy would make text of 1 beside "a", and a second dimension of tuples.
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.asarray(labels)
    return _object_array(labels)


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
    groups = _object_array([level_from_json(label) for label in saved["labels"]])
    dtype = np.dtype(saved["dtype"])
    if dtype.kind not in "biufmMOU":
        raise ValueError(f"groups of dtype {saved['dtype']!r}")
    if dtype.kind == "U" and dtype.itemsize * len(groups) > _MOST_BYTES:
        dtype = np.dtype(str)  # of the length that the labels need
    if dtype.kind in "mM":
        return np.asarray(groups.astype(np.int64).view(dtype))
    return np.asarray(groups.astype(dtype))


_MOST_BYTES = 2**28
"""Of labels whose dtype is taken as the file has it."""


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


def _object_array(labels: Any) -> NDArray[Any]:  # noqa: ANN401
    array = np.empty(len(labels), dtype=object)
    for place, label in enumerate(labels):  # at once, numpy would unpack tuples
        array[place] = label
    return array
