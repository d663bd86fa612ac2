"""Where every synthetic row comes from, and what every step did, as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tabtap.domain import Candidates, Certificate, StepRecord
from tabtap.table.frame import write_target
from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import Table

NO_WINDOW = -1

NO_TARGET = -1
"""In an action: the class that was asked for is one that nobody has any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """How many rows were left after each hurdle; all lineages, delivered ones last."""

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
    """Count the rows of a run, hurdle by hurdle."""
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


def provenance_frame(rows: Candidates, steps: Sequence[StepRecord]) -> pd.DataFrame:
    """Return one row per synthetic row: its ancestor and how it was made."""
    names = [column.name for column in rows.rows.schema.features]
    by_step = {record.step: record for record in steps}
    asked = [by_step.get(int(step)) for step in rows.step]
    frame = pd.DataFrame(index=pd.RangeIndex(len(rows)))
    frame["anchor_row"] = rows.rows.origin
    frame["redrawn"] = _objects([_chosen(names, drawn) for drawn in rows.regenerate])
    frame["target"] = target_labels(rows.rows)
    frame["template"] = _objects([r and r.action.template.value for r in asked])
    frame["exploration"] = np.array(
        [np.nan if r is None else r.action.exploration for r in asked], np.float64
    )
    frame["step"] = rows.step
    frame["window"] = row_windows(rows, steps)
    frame["fold"] = rows.rows.unseen_fold
    for gate, score in rows.scores.items():
        frame[f"score: {gate}"] = score
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
