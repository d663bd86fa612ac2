"""The target: which task it asks for, its classes, and the bins of a number.

The task is decided here, once.  Bins are what generation is conditioned on in
regression; they follow the quantiles and survive any ties.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import bad_setting
from tabtap.table.cells import RawColumn, encode
from tabtap.table.kinds import (
    MIN_ROWS_PER_VALUE,
    are_few_texts,
    check_values,
    is_few_valued,
    read_writing,
)
from tabtap.table.problems import MIN_ROWS, call, quote, refuse
from tabtap.table.schema import FloatArray, Kind, Target, Task

TaskChoice = Literal["auto", "classification", "regression"]
N_BINS = 7
"""Quantile bins of a regression target (paper, section 3.1)."""

_NEARLY_ALL = 0.75
"""Share of the rows beyond which different texts are no classes."""


def check_target_settings(task: str, n_bins: int) -> None:
    """Raise if the task is unknown or there would be no bin."""
    if task not in ("auto", "classification", "regression"):
        raise bad_setting(
            "task",
            task,
            "be 'auto', 'classification' or 'regression'",
            "Try 'auto'.",
        )
    if not isinstance(n_bins, int) or n_bins < 1:
        raise bad_setting(
            "n_bins", n_bins, "be an integer of at least 1", f"Try {N_BINS}."
        )


def infer_task(raw: RawColumn) -> Task:
    """Return the task that a target's values ask for.

    Labels are strings, bools, categories, few-valued whole numbers, or any two of
    them, whether they are stored as integers or as floats.  All other numbers are
    regression targets.
    """
    if raw.family not in ("int", "float"):
        return "classification"
    if raw.is_whole and (len(raw.distinct) <= 2 or is_few_valued(raw)):
        return "classification"
    return "regression"


def read_target(
    raw: RawColumn, position: int, task: TaskChoice, n_bins: int
) -> tuple[Target, NDArray[Any]]:
    """Return the target and its cells, or raise what is wrong with it."""
    _check_missing(raw)
    check_values(raw)
    if task == "auto":
        _check_texts(raw)
    chosen = infer_task(raw) if task == "auto" else task
    if chosen == "classification":
        return _read_classes(raw, position)
    return _read_number(raw, position, n_bins)


def bin_edges(values: FloatArray, n_bins: int) -> tuple[float, ...]:
    """Return the inner cut points of quantile bins, none of them empty.

    They are some of the finite ``values``, ascending: bin k holds
    ``edge[k-1] < value <= edge[k]``.  There are never more bins than distinct values.
    Each bin takes its fair share of the rows that are left: a value with many ties
    fills a bin by itself and the others share the rest, where fixed quantiles would
    collapse onto it.

    Examples
    --------
    >>> bin_edges(np.array([0.0] * 8 + [1.0, 2.0, 3.0, 4.0]), 3)
    (0.0, 2.0)
    """
    distinct, counts = np.unique(values, return_counts=True)
    upto = np.cumsum(counts)
    edges: list[float] = []
    first, rows_before = 0, 0
    for bins_left in range(min(n_bins, len(distinct)), 1, -1):
        fair = (upto[-1] - rows_before) / bins_left
        last = int(np.searchsorted(upto, rows_before + fair, side="left"))
        if last > first and _overshoots(upto, last, rows_before + fair):
            last -= 1
        # Every later bin needs a distinct value of its own.
        last = min(last, len(distinct) - bins_left)
        edges.append(float(distinct[last]))
        first, rows_before = last + 1, int(upto[last])
    return tuple(edges)


def _overshoots(upto: NDArray[np.int64], last: int, wanted: float) -> bool:
    return bool(upto[last] - wanted > wanted - upto[last - 1])


def _check_missing(raw: RawColumn) -> None:
    hole = np.flatnonzero(~raw.present)
    if len(hole):
        raise refuse(
            raw.name,
            f"is the target and has {len(hole)} missing labels, the first in row "
            f"{hole[0]}",
            f"Drop those rows, in pandas: frame.dropna(subset=[{raw.name!r}])",
        )


def _check_texts(raw: RawColumn) -> None:
    """Raise if strings are too many to be classes, or are numbers to a person."""
    n_texts, n_rows = len(raw.levels), len(raw.values)
    if raw.family != "text" or n_rows < MIN_ROWS or are_few_texts(n_texts, n_rows):
        return
    writing = read_writing(raw.levels)
    if writing is not None and n_rows < MIN_ROWS_PER_VALUE * n_texts:
        fix = f"Convert it: {writing.code.format(call(raw.name))}"
        example = f"{writing.what} such as {quote(writing.example)}"
    elif _NEARLY_ALL * n_rows < n_texts < n_rows:
        fix = "Pass another column as target"
        example = f"such as {quote(raw.levels[raw.values[0]])} (row 0)"
    else:
        return
    raise refuse(
        raw.name,
        f"is the target and holds {n_texts} different texts in {n_rows} rows, "
        f"{example}: neither classes nor numbers",
        f"{fix}, or pass task='classification' if each of them is a class",
        "Name another --target, write all of its cells in one way, or pass --task "
        "classification if each of them is a class",
    )


def _read_classes(raw: RawColumn, position: int) -> tuple[Target, NDArray[Any]]:
    n_classes, n_rows = len(raw.distinct), len(raw.values)
    column, codes = encode(raw, Kind.CATEGORY, ordered=raw.ordered)
    if n_classes == 1:
        raise refuse(
            raw.name,
            f"is the target and has one class only, {quote(column.levels[0])}",
            "Pass rows of at least two classes",
        )
    if n_classes == n_rows and n_rows > 2:
        raise refuse(
            raw.name,
            f"is the target and each of its {n_rows} labels occurs once, such as "
            f"{quote(column.levels[codes[0]])} (row 0)",
            "Pass task='regression' if it is a number, or another column as target",
            "Pass --task regression if it is a number, or name another --target",
        )
    target = Target(column=column, task="classification", position=position)
    return target, codes.astype(np.int64)


def _read_number(
    raw: RawColumn, position: int, n_bins: int
) -> tuple[Target, NDArray[Any]]:
    if raw.family not in ("int", "float"):
        raise refuse(
            raw.name,
            f"is a regression target but has dtype {raw.dtype}",
            "Pass task='classification', or convert it with pd.to_numeric",
            "Pass --task classification, or write all of its cells as numbers",
        )
    kind = Kind.INTEGER if raw.is_whole else Kind.CONTINUOUS
    column, cells = encode(raw, kind, ordered=False)
    numbers = cells.astype(np.float64)
    if len(np.unique(numbers)) == 1:
        raise refuse(
            raw.name,
            f"is a regression target and is always {numbers[0]:g}",
            "Pass rows with different target values",
        )
    edges = bin_edges(numbers, n_bins)
    target = Target(column=column, task="regression", position=position, edges=edges)
    return target, cells
