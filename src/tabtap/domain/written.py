"""Certificates, steps, tables and candidates as JSON and arrays, and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.archive import Arrays, add_prefix, strip_prefix
from tabtap.domain.judgement import Certificate
from tabtap.domain.rows import Candidates
from tabtap.domain.steps import Action, LearnerState, StepRecord
from tabtap.saved import from_json, to_json
from tabtap.table.schema import Column, Schema
from tabtap.table.table import Table

_STATE = ("deficit", "uncertainty", "pass_rate", "available")


def certificate_to_json(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate, with NaN and infinity as Python writes them.

    Of the evidence only the names are in it; its arrays are to be saved beside it.
    """
    saved = to_json(certificate) | {"evidence": list(certificate.evidence)}
    for name in ("teacher", "widening", "is_squared", "usual", "groups"):
        if not saved[name]:
            del saved[name]  # as files were before there were any
    return saved


def certificate_from_json(saved: Mapping[str, Any], evidence: Arrays) -> Certificate:
    """Return the certificate that was saved, with its evidence."""
    known = {name: evidence[name] for name in saved["evidence"]}
    return from_json(Certificate, {**saved, "evidence": known})


def steps_to_json(steps: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return everything of the steps but the arrays of their states."""
    plain = [to_json(record) for record in steps]
    return [{**part.pop("state"), **part.pop("action"), **part} for part in plain]


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
        _step({**part, **{name: arrays[name][place] for name in _STATE}})
        for place, part in enumerate(saved)
    )


def _step(parts: dict[str, Any]) -> StepRecord:
    inner = {
        name: {f.name: parts.pop(f.name) for f in fields(kind)}
        for name, kind in (("state", LearnerState), ("action", Action))
    }
    return from_json(StepRecord, parts | inner)


# ---- Tables and candidates as arrays, and back, bit for bit.


_ROWS = ("missing", "target", "origin", "unseen_fold")


def table_to_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """Return the exact arrays of a table."""
    cells = {f"cell{place}": column for place, column in enumerate(table.cells)}
    return cells | {name: getattr(table, name) for name in _ROWS}


def table_from_arrays(schema: Schema, arrays: Arrays) -> Table:
    """Return a table, or raise ValueError if the arrays cannot be one."""
    cells = tuple(arrays[f"cell{place}"] for place in range(len(schema.features)))
    table = Table(schema, cells, *(arrays[name] for name in _ROWS))
    n_rows = len(table.target)
    _check_types(
        arrays, {"missing": np.int8, "origin": np.int64, "unseen_fold": np.int64}
    )
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
    if rows.asked is not None:
        own["asked"] = rows.asked
    return table_to_arrays(rows.rows) | own | add_prefix("score", rows.scores)


def candidates_from_arrays(schema: Schema, arrays: Arrays) -> Candidates:
    """Return candidates, or raise ValueError if the arrays cannot be some."""
    measured = [name for name in arrays if name.startswith("score.")]
    wanted = {"regenerate": np.bool_, "step": np.int64}
    _check_types(arrays, wanted | dict.fromkeys(measured, np.float64))
    table = table_from_arrays(schema, arrays)
    scores = strip_prefix("score", arrays)
    asked = arrays.get("asked")
    found = Candidates(table, arrays["regenerate"], arrays["step"], scores, asked)
    if found.regenerate.shape != table.missing.shape:
        raise ValueError(f"marks of shape {found.regenerate.shape} for {table!r}")
    if any(part.shape != (len(table),) for part in (found.step, *scores.values())):
        raise ValueError(f"steps or scores do not fit {table!r}")
    if asked is not None and asked.shape != (len(table),):
        raise ValueError(f"targets asked for do not fit {table!r}")
    return found


def _check_types(arrays: Arrays, wanted: Mapping[str, type]) -> None:
    for name, kind in wanted.items():
        if arrays[name].dtype != kind:
            raise ValueError(f"{name} of {arrays[name].dtype}")


def _check_cells(column: Column, cells: NDArray[Any], n_rows: int) -> None:
    wide = not column.kind.is_numeric and cells.dtype == np.int64  # codes of a target
    if cells.dtype != column.storage and not wide:
        raise ValueError(f"column {column.name!r} holds {cells.dtype}")
    if cells.shape != (n_rows,):
        raise ValueError(f"column {column.name!r} does not fit {n_rows} rows")
    if column.kind.is_numeric or not n_rows:
        return
    if cells.min() < 0 or cells.max() >= max(len(column.levels), 1):
        raise ValueError(f"column {column.name!r} holds codes without a level")
