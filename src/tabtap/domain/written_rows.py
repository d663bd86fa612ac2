"""Tables and candidates as arrays, and back, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tabtap.domain.candidates import Candidates
from tabtap.table.schema import Column, Schema
from tabtap.table.table import Table

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
