"""The work of one cell: split, let the method make rows, train predictors, score.

A method that raises adds nothing, and its record says so with the reason: it is scored
like real rows alone, and counted as failed.  The rows are kept beside the record.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from tabtap.compare.runner import attempt, peak_bytes, reset_peak
from tabtap.compare.store import ROWS, Cell, Store
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
    ``scores`` on the test rows by predictor and metric, the same on the ``validation``
    rows, ``failure`` (None, or why nothing was added),
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
        scores, validation = part.score_both(rows, names)
    return {
        "format": FORMAT,
        "cell": cell.written(),
        "method": describe_method(method),
        "task": "classification" if "accuracy" in _any(scores) else "regression",
        "n_rows": 0 if rows is None else len(rows),
        "n_train": len(part.real),
        "scores": scores,
        "validation": validation,
        "failure": failure,
        "costs": {
            "cpu_seconds": watch.cpu_seconds,
            "seconds": watch.seconds,
            "peak_bytes": {**peak, "score": peak_bytes()},
        },
        "versions": installed_versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        ROWS: {} if rows is None else {SYNTHETIC: rows},
    }


SYNTHETIC = "synthetic"
"""What the rows that a method made go by, beside the record of its cell."""


def made_rows(cell: Cell, store: Store | None) -> Table | None:
    """Return the rows that a method made in a cell of the main table; None: it failed.

    They are taken from the store if they are kept there.  Otherwise the cell is run,
    and its record and rows are kept.
    """
    kept = None
    if store is not None and store.has(cell.key):
        kept = store.rows(cell.key, load_table(cell.dataset)[0].schema)
    if kept is None:
        record = run_cell(cell)
        if store is not None and not store.has(cell.key):
            store.write(cell.key, record)
        kept = record[ROWS]
    return kept.get(SYNTHETIC)


def repetition_of(cell: Cell) -> Repetition:
    """Return the rows that a cell works with; real ones are numbered from 0."""
    return _repetition(cell, *load_table(cell.dataset))


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
