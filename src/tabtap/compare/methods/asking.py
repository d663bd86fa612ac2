"""A run of the loop on rows that are a table already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabtap.api.choices import (
    choose_judge,
    choose_metric,
    choose_referee,
    copies_of,
    task_of,
)
from tabtap.api.run import Request
from tabtap.config import Preset
from tabtap.table.schema import IntArray, Kind
from tabtap.table.table import Table

PAPER_REGRESSION_EVALUATOR = "holdout"
"""Who judges regression rows under the paper's protocol: the linear model of its
appendix F.  With no in-context model for numbers at hand, "auto" is an ensemble, which
is fitted ten times at every step: minutes for each table."""


def request_for(
    real: Table, preset: Preset, seed: int, groups: IntArray | None = None
) -> Request:
    """Return a run on some rows, as ``TabularAugmenter`` would ask for it.

    Parameters
    ----------
    real : Table
        Real rows, numbered from 0 in their order; see ``numbered``.
    preset : Preset
        Settings of the run.
    seed : int
        Whence all its chance comes; the folds are the same for every preset.
    groups : array of shape (n_rows,), optional
        Whom each row belongs to; by default, exact copies belong together.

    Raises
    ------
    UserInputError
        If the table has no target.
    """
    task = task_of(real)
    name = preset.evaluators[task]
    if preset.augment.commit.protocol == "paper" and task == "regression":
        name = PAPER_REGRESSION_EVALUATOR
    n_folds = preset.augment.utility.n_folds
    return Request(
        real=real,
        preset=preset,
        seed=seed,
        evaluator=choose_judge(name, task, license_policy="open", n_jobs=1),
        referee=choose_referee(
            "auto", task, license_policy="open", n_jobs=1, n_folds=n_folds
        ),
        metric=choose_metric(None),
        groups=copies_of(real, n_folds) if groups is None else groups,
    )


def numbered(train: Table) -> Table:
    """Return the same rows, numbered from 0 as a user's are."""
    return replace(train, origin=np.arange(len(train), dtype=np.int64))


def named_as_in(train: Table, rows: Table) -> Table:
    """Return descendants of ``numbered(train)`` as descendants of ``train``'s rows."""
    known = rows.origin >= 0
    origin = rows.origin.copy()
    origin[known] = train.origin[rows.origin[known]]
    return replace(rows, origin=origin)


def without_identifiers(rows: Table) -> Table:
    """Return the same rows with empty identifiers: a new row is nobody's."""
    kinds = [column.kind for column in rows.schema.features]
    named = np.array([kind is Kind.IDENTIFIER for kind in kinds], dtype=np.bool_)
    regenerate = np.broadcast_to(named, rows.missing.shape)
    return rows.redrawn(regenerate, rows.numeric, rows.categorical)
