"""Tables, candidates and groups as arrays and JSON, and back, bit for bit.

Reads from: domain, table.  Read by: result.files, loading.

A saved schema leaves the values of identifiers out, so that a model does not name the
rows it learned from.  A result holds the rows themselves, and so their identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.domain import Candidates
from tabtap.table.level_json import level_from_json, level_to_json
from tabtap.table.schema import Column, Kind, Schema
from tabtap.table.schema_json import schema_from_json, schema_to_json
from tabtap.table.table import Table

Arrays = Mapping[str, NDArray[Any]]

_ROWS = ("missing", "target", "origin", "unseen_fold")


def named(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return arrays under a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays under a prefix, without it."""
    start = f"{prefix}."
    return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}


def whole_schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON, the values of identifiers included."""
    hidden = {
        str(place): {
            "levels": [level_to_json(level) for level in column.levels],
            "categories": [level_to_json(level) for level in column.categories],
        }
        for place, column in enumerate(schema.features)
        if column.kind is Kind.IDENTIFIER
    }
    return {"schema": schema_to_json(schema), "identifiers": hidden}


def whole_schema_from_json(saved: Mapping[str, Any]) -> Schema:
    """Return the schema that ``whole_schema_to_json`` wrote."""
    schema = schema_from_json(saved["schema"])
    features = list(schema.features)
    for place, hidden in saved["identifiers"].items():
        features[int(place)] = replace(
            features[int(place)],
            levels=tuple(level_from_json(level) for level in hidden["levels"]),
            categories=tuple(level_from_json(level) for level in hidden["categories"]),
        )
    return replace(schema, features=tuple(features))


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


def groups_to_json(groups: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return the groups of real rows as codes and labels."""
    if groups is None:
        return None
    codes, labels = pd.factorize(groups, use_na_sentinel=False)
    labels = np.asarray(labels)
    if labels.dtype.kind in "mM":  # counts, which the dtype gives back
        labels = labels.view(np.int64)
    return {
        "dtype": groups.dtype.str,
        "codes": codes.tolist(),
        "labels": [level_to_json(label) for label in labels.tolist()],
    }


def groups_from_json(saved: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Return the groups that ``groups_to_json`` wrote."""
    if saved is None:
        return None
    labels = [level_from_json(label) for label in saved["labels"]]
    dtype = np.dtype(saved["dtype"])
    if dtype.kind != "O":
        return np.asarray(np.array(labels).astype(dtype)[saved["codes"]])
    groups = np.empty(len(saved["codes"]), dtype=object)
    for place, code in enumerate(saved["codes"]):
        groups[place] = labels[code]
    return groups


def _check_cells(column: Column, cells: NDArray[Any], n_rows: int) -> None:
    if cells.shape != (n_rows,):
        raise ValueError(f"column {column.name!r} does not fit {n_rows} rows")
    if column.kind.is_numeric or not n_rows:
        return
    if cells.min() < 0 or cells.max() >= max(len(column.levels), 1):
        raise ValueError(f"column {column.name!r} holds codes without a level")
