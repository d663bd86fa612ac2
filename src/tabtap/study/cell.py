"""The work of one cell: split, let the method make rows, train predictors, score.

A method that raises adds nothing, and its record says so with the reason: it is scored
like real rows alone, and counted as failed.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from tabtap.compare.runner import attempt, peak_bytes, reset_peak
from tabtap.compare.store import Cell
from tabtap.result import installed_versions
from tabtap.rivals import describe_method, method_named
from tabtap.stopwatch import Stopwatch
from tabtap.study.protocol import Repetition, repetition
from tabtap.study.sources import load_source
from tabtap.table import Table, read_frame
from tabtap.table.schema import IntArray

FORMAT = 1
"""Of a record."""


def run_cell(cell: Cell, table: Table | None = None) -> dict[str, Any]:
    """Do the work of a cell and return its record.

    It holds ``cell``, the ``method`` with all its settings, ``n_rows`` that it made,
    ``scores`` by predictor and metric, ``failure`` (None, or why nothing was added),
    ``costs`` by stage, and what it was run with.
    ``table`` holds all rows of a dataset that is not one of the study's.
    """
    watch = Stopwatch()
    reset_peak()
    groups = None
    if table is None:
        table, groups = load_table(cell.dataset)
    part = _repetition(cell, table, groups)
    method = method_named(cell.method, **cell.settings)
    rows, failure = attempt(method, part.real, cell, watch, part.groups)
    peak = {"method": peak_bytes()}
    reset_peak()
    with watch.running("score"):
        names = cell.terms.predictors or None
        scores = part.score(rows, names)
    return {
        "format": FORMAT,
        "cell": cell.written(),
        "method": describe_method(method),
        "task": "classification" if "accuracy" in _any(scores) else "regression",
        "n_rows": 0 if rows is None else len(rows),
        "n_train": len(part.real),
        "scores": scores,
        "failure": failure,
        "costs": {
            "cpu_seconds": watch.cpu_seconds,
            "seconds": watch.seconds,
            "peak_bytes": {**peak, "score": peak_bytes()},
        },
        "versions": installed_versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _repetition(cell: Cell, table: Table, groups: IntArray | None) -> Repetition:
    return repetition(
        table,
        cell.n_real,
        cell.split,
        seed=cell.terms.seed,
        variant=cell.terms.variant,
        groups=groups,
    ).renumbered()


@lru_cache(maxsize=2)
def load_table(name: str) -> tuple[Table, IntArray | None]:
    """Read one of the study's tables, and which of its rows belong together.

    Kept for the next call: a worker does many cells of the same table.
    """
    source = load_source(name)
    kinds: dict[Hashable, str] = dict.fromkeys(source.categorical, "category")
    table = read_frame(source.frame, source.target, task=source.task, kinds=kinds)
    if source.groups is None:
        return table, None
    return table, np.unique(source.groups, return_inverse=True)[1]


def _any(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    return next(iter(scores.values()))
