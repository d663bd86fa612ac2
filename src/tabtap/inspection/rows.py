"""What is to be said of the rows: too few, alike, or of very unequal classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.inspection.remarks import Remark, rows, share
from tabtap.table.schema import IntArray
from tabtap.table.table import Table

FEW_ROWS = 40
"""Below this only large gains can be shown."""

TINY = 5
"""A class with fewer rows is missing from some of the folds."""

RARE = 0.25
"""A class with less than this share of the most frequent one's rows is rare."""

_SHOWN = 5


def row_remarks(table: Table) -> list[Remark]:
    """Return the remarks on rows and classes."""
    return [*_few(table), *_alike(table), *_classes(table)]


def _few(table: Table) -> list[Remark]:
    if len(table) >= FEW_ROWS:
        return []
    text = (
        f"there are only {len(table)} rows: what helps by a little cannot be shown, "
        "and 'no gain' then means not shown"
    )
    return [Remark(topic="few rows", column=None, text=text)]


def _alike(table: Table) -> list[Remark]:
    features = _row_numbers([*table.cells, *table.missing.T])
    whole = _row_numbers([features, table.target])
    n_copies = len(table) - len(np.unique(whole))
    # Of each set of equal features: how many different rows, the target included.
    _, first = np.unique(whole, return_index=True)
    n_targets = np.bincount(features[first], minlength=features.max() + 1)
    n_torn = int((n_targets[features] > 1).sum())
    remarks = []
    if n_copies:
        verb = "repeats" if n_copies == 1 else "repeat"
        text = (
            f"{rows(n_copies)} {verb} another row exactly "
            f"({share(n_copies, len(table))}): a copy on both sides of a split makes "
            "every score too good; drop copies that are one and the same thing"
        )
        remarks.append(Remark(topic="duplicates", column=None, text=text))
    if n_torn:
        text = (
            f"{rows(n_torn)} are alike in every feature but differ in the target: no "
            "learner can tell them apart"
        )
        remarks.append(Remark(topic="duplicates", column=None, text=text))
    return remarks


def _row_numbers(columns: Sequence[NDArray[Any]]) -> IntArray:
    """Return a number for each row; equal rows, holes included, have the same."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        pairs = numbers * (code.max() + 1) + code
        _, numbers = np.unique(pairs, return_inverse=True)
    return numbers


def _classes(table: Table) -> list[Remark]:
    target = table.schema.target
    if target is None or target.task != "classification":
        return []
    levels = target.column.levels
    counts = np.bincount(table.condition, minlength=len(levels))
    name = target.column.name
    remarks = []
    tiny = [i for i in range(len(levels)) if counts[i] < TINY]
    if tiny:
        text = (
            f"{_named(levels, counts, tiny)}: with fewer than {TINY} a class is "
            "missing from some of the checks; collect more, or join it to another"
        )
        remarks.append(Remark(topic="tiny class", column=name, text=text))
    rare = [i for i in range(len(levels)) if TINY <= counts[i] < RARE * counts.max()]
    if rare:
        text = (
            f"{_named(levels, counts, rare)}: rare beside {counts.max()} of the most "
            "frequent; a mixture of 'balanced' asks for as many new rows of each, and "
            "a yardstick such as balanced_accuracy counts each class the same"
        )
        remarks.append(Remark(topic="imbalance", column=name, text=text))
    return remarks


def _named(levels: tuple[object, ...], counts: IntArray, chosen: list[int]) -> str:
    listed = [f"class {levels[i]!r} has {rows(int(counts[i]))}" for i in chosen]
    more = f", and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
