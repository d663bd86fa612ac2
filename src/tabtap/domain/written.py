"""Certificates, steps, tables and candidates as JSON and arrays, and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.domain.judgement import Bound, Certificate
from tabtap.domain.rows import Candidates
from tabtap.domain.steps import Action, Feedback, LearnerState, StepRecord, Template
from tabtap.table.schema import Column, Schema
from tabtap.table.table import Table

_BOUNDS = ("over_incumbent", "over_real")
_STATE = ("deficit", "uncertainty", "pass_rate", "available")


def certificate_to_json(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate, with NaN and infinity as Python writes them.

    Of the evidence only the names are in it; its arrays are to be saved beside it.
    """
    plain = {f.name: getattr(certificate, f.name) for f in fields(Certificate)}
    plain["evidence"] = list(certificate.evidence)
    for name in _BOUNDS:
        bound = plain[name]
        plain[name] = bound and {
            "gain": bound.gain, "margin": bound.margin, "confidence": bound.confidence
        }  # fmt: skip
    for name in ("learners_before", "learners_after"):
        # As pairs, because JSON objects are sorted and learners have an order.
        plain[name] = [[learner, score] for learner, score in plain[name].items()]
    return plain


def certificate_from_json(saved: Mapping[str, Any], evidence: Arrays) -> Certificate:
    """Return the certificate that was saved, with its evidence."""
    restored: dict[str, Any] = {
        name: saved[name] and Bound(**saved[name]) for name in _BOUNDS
    }
    for name in ("learners_before", "learners_after"):
        restored[name] = dict(saved[name])
    restored["evidence"] = {name: evidence[name] for name in saved["evidence"]}
    return Certificate(**{**saved, **restored})


def steps_to_json(steps: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return everything of the steps but the arrays of their states."""
    return [
        {
            "step": record.step,
            "window": record.window,
            "target": record.action.target,
            "template": record.action.template.value,
            "exploration": record.action.exploration,
            "raw_exploration": record.action.raw_exploration,
            "n_proposed": record.n_proposed,
            # As pairs, because JSON objects are sorted and gates have an order.
            "refused": [[gate, count] for gate, count in record.refused.items()],
            "n_admitted": record.n_admitted,
            "gain": record.gain,
            "advantage": record.advantage,
            "feedback": record.feedback.value,
            "novelty": record.state.novelty,
        }
        for record in steps
    ]


def steps_to_arrays(steps: Sequence[StepRecord]) -> dict[str, NDArray[Any]]:
    """Return the states of the steps, one row per step; nothing for no steps."""
    if not steps:
        return {}
    return {
        name: np.stack([getattr(record.state, name) for record in steps])
        for name in _STATE
    }


def steps_from_saved(
    saved: Sequence[Mapping[str, Any]], arrays: Arrays
) -> tuple[StepRecord, ...]:
    """Return the steps that were saved, or raise ValueError if they do not fit."""
    for name in _STATE:
        if saved and len(arrays[name]) != len(saved):
            raise ValueError(f"{len(arrays[name])} states for {len(saved)} steps")
    return tuple(
        _step(part, {name: arrays[name][place] for name in _STATE})
        for place, part in enumerate(saved)
    )


def _step(saved: Mapping[str, Any], state: Arrays) -> StepRecord:
    return StepRecord(
        step=saved["step"],
        window=saved["window"],
        state=LearnerState(
            state["deficit"],
            state["uncertainty"],
            state["pass_rate"],
            saved["novelty"],
            state["available"],
        ),
        action=Action(
            saved["target"],
            Template(saved["template"]),
            saved["exploration"],
            saved["raw_exploration"],
        ),
        n_proposed=saved["n_proposed"],
        refused=dict(saved["refused"]),
        n_admitted=saved["n_admitted"],
        gain=saved["gain"],
        advantage=saved["advantage"],
        feedback=Feedback(saved["feedback"]),
    )


# ---- Tables and candidates as arrays, and back, bit for bit.


Arrays = Mapping[str, NDArray[Any]]

_ROWS = ("missing", "target", "origin", "unseen_fold")


def named(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return arrays under a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays under a prefix, without it, in the order of their names."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): arrays[name]
        for name in sorted(arrays)
        if name.startswith(start)
    }


def table_to_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """Return the exact arrays of a table."""
    cells = {f"cell{place}": column for place, column in enumerate(table.cells)}
    return cells | {name: getattr(table, name) for name in _ROWS}


def table_from_arrays(schema: Schema, arrays: Arrays) -> Table:
    """Return a table, or raise ValueError if the arrays cannot be one."""
    cells = tuple(arrays[f"cell{place}"] for place in range(len(schema.features)))
    table = Table(schema, cells, *(arrays[name] for name in _ROWS))
    n_rows = len(table.target)
    if table.missing.shape != (n_rows, len(cells)):
        raise ValueError(f"holes of shape {table.missing.shape} for {n_rows} rows")
    for name in ("origin", "unseen_fold"):
        if getattr(table, name).shape != (n_rows,):
            raise ValueError(f"{name} does not fit {n_rows} rows")
    for column, cell in zip(schema.features, cells, strict=True):
        _check_cells(column, cell, n_rows)
    if schema.target is not None:
        _check_cells(schema.target.column, table.target, n_rows)
    return table


def candidates_to_arrays(rows: Candidates) -> dict[str, NDArray[Any]]:
    """Return the exact arrays of candidates."""
    own = {"regenerate": rows.regenerate, "step": rows.step}
    return table_to_arrays(rows.rows) | own | named("score", rows.scores)


def candidates_from_arrays(schema: Schema, arrays: Arrays) -> Candidates:
    """Return candidates, or raise ValueError if the arrays cannot be some."""
    table = table_from_arrays(schema, arrays)
    scores = under("score", arrays)
    found = Candidates(table, arrays["regenerate"], arrays["step"], scores)
    if found.regenerate.shape != table.missing.shape:
        raise ValueError(f"marks of shape {found.regenerate.shape} for {table!r}")
    if any(part.shape != (len(table),) for part in (found.step, *scores.values())):
        raise ValueError(f"steps or scores do not fit {table!r}")
    return found


def _check_cells(column: Column, cells: NDArray[Any], n_rows: int) -> None:
    if cells.shape != (n_rows,):
        raise ValueError(f"column {column.name!r} does not fit {n_rows} rows")
    if column.kind.is_numeric or not n_rows:
        return
    if cells.min() < 0 or cells.max() >= max(len(column.levels), 1):
        raise ValueError(f"column {column.name!r} holds codes without a level")
