"""Frames to tables and back: nothing is lost on the way, and nothing is guessed twice.

``read_frame`` reports every problem it finds in one error.  ``write_frame`` restores
container, column order, dtypes and every form of a missing value.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import BadTableError, Problem, UserInputError
from tabtap.table.codec import decode, encode
from tabtap.table.containers import (
    FrameParts,
    misaligned,
    open_frame,
    open_target,
    pack_frame,
    pack_target,
)
from tabtap.table.overrides import check_names, choose_kind
from tabtap.table.problems import MIN_ROWS, Findings, too_few_rows
from tabtap.table.schema import Column, Kind, Schema, Target
from tabtap.table.table import NO_ROW, Table
from tabtap.table.target_copies import are_equal
from tabtap.table.targets import N_BINS, TaskChoice, check_target_settings, read_target

Kinds = Mapping[Hashable, Kind | str]


class Feature(NamedTuple):
    """One column of the new table."""

    column: Column
    cells: NDArray[Any]
    missing: NDArray[np.int8]


def read_frame(  # noqa: PLR0913 - one call is the whole entrance
    frame: Any,  # noqa: ANN401 - pandas, polars or numpy
    target: Hashable | None = None,
    *,
    y: Any = None,  # noqa: ANN401 - any one-dimensional container
    task: TaskChoice = "auto",
    kinds: Kinds | None = None,
    n_bins: int = N_BINS,
    floor: int = MIN_ROWS,
) -> Table:
    """Read a frame into the exact table that everything else works on.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or 2-d numpy array
        Rows by columns.  The columns of an array are called 0, 1, 2, ...
    target : column name, optional
        The column to be predicted.
    y : one-dimensional array, Series or list, optional
        The target, when it is not a column of the frame.
    task : {"auto", "classification", "regression"}
        What the target is; ``auto`` decides by its values.
    kinds : mapping of column name to kind, optional
        Overrides of what would be inferred: the names of ``Kind``, or
        ``"ordered category"``.
    n_bins : int
        Quantile bins of a regression target.
    floor : int
        Fewest rows accepted.

    Returns
    -------
    Table
        Rows in the order given, each its own origin.

    Raises
    ------
    BadTableError
        With every problem of the table, each with its column and the fix.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"dose": [0.5, 1.25] * 6, "sick": ["no", "yes"] * 6})
    >>> table = read_frame(frame, "sick")
    >>> table.schema.target.column.levels
    ('no', 'yes')
    >>> write_frame(table).equals(frame)
    True
    """
    check_target_settings(task, n_bins)
    if target is not None and y is not None:
        raise UserInputError(
            f"target={target!r} and y were both given. Pass the one that is meant."
        )
    findings = Findings()
    parts = open_frame(frame, findings)
    if parts is None:
        raise BadTableError(findings.problems)
    findings.add(too_few_rows(parts.n_rows, floor))
    findings.add(misaligned(frame, y))
    parts, position = _place_target(parts, target, y, findings)
    _check_columns(parts, position, kinds or {}, findings)
    found_target = None
    if position is not None and parts.n_rows:
        found_target = findings.attempt(
            lambda: read_target(parts.read(position), position, task, n_bins)
        )
    features = _read_features(parts, position, kinds or {}, findings)
    findings.add(_target_among(features, found_target))
    if findings.problems:
        raise BadTableError(findings.problems)
    return _assemble(parts, features, found_target)


def write_frame(table: Table, *, index: Any = None) -> Any:  # noqa: ANN401
    """Return a table as the container it came in, with the same dtypes.

    Parameters
    ----------
    table : Table
        Real rows, synthetic ones, or both.
    index : pandas.Index, optional
        Row labels for pandas; a RangeIndex without it.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or numpy array
        Without the target if that was given apart: see ``write_target``.

    Notes
    -----
    A column changes its dtype in one case only: it has no room for missing values and
    now has one.  Then pandas gets the nullable dtype (Int64 for int64), numpy floats.
    """
    schema = table.schema
    columns = [
        (column, *decode(column, table.cells[i], table.missing[:, i]))
        for i, column in enumerate(schema.features)
    ]
    if schema.target is not None and schema.form.target_container is None:
        columns.insert(schema.target.position, _decode_target(table, schema.target))
    return pack_frame(columns, schema.form, len(table), index)


def write_target(table: Table, *, index: Any = None) -> Any:  # noqa: ANN401
    """Return the target alone: a Series, or an array if the features are one.

    Parameters
    ----------
    table : Table
        A table with a target.
    index : pandas.Index, optional
        Row labels for pandas; a RangeIndex without it.

    Raises
    ------
    UserInputError
        If the table has no target.
    """
    target = table.schema.target
    if target is None:
        raise UserInputError("This table has no target. Read it with target= or y=.")
    return pack_target(_decode_target(table, target), table.schema.form, index)


def _decode_target(
    table: Table, target: Target
) -> tuple[Column, NDArray[Any], NDArray[np.int8]]:
    none_missing = np.zeros(len(table), dtype=np.int8)
    return (target.column, *decode(target.column, table.target, none_missing))


def _place_target(
    parts: FrameParts,
    target: Hashable | None,
    y: Any,  # noqa: ANN401
    findings: Findings,
) -> tuple[FrameParts, int | None]:
    if y is not None:
        return open_target(parts, y, findings)
    if target is None:
        return parts, None
    if target in parts.names:
        return parts, parts.names.index(target)
    known = ", ".join(map(str, parts.names[:8]))
    more = ", ..." if len(parts.names) > 8 else ""
    findings.add(
        Problem(None, f"has no target column {target!r}", f"Columns: {known}{more}")
    )
    return parts, None


def _check_columns(
    parts: FrameParts, position: int | None, kinds: Kinds, findings: Findings
) -> None:
    target = None if position is None else parts.names[position]
    n_features = len(parts.names) - (position is not None)
    if n_features == 0:
        findings.add(
            Problem(
                None, "has no feature column", "Pass at least one besides the target"
            )
        )
    features = [name for i, name in enumerate(parts.names) if i != position]
    for problem in check_names(kinds, features, target):
        findings.add(problem)


def _read_features(
    parts: FrameParts, position: int | None, kinds: Kinds, findings: Findings
) -> list[Feature]:
    if not parts.n_rows:
        return []
    read = [
        findings.attempt(partial(_read_feature, parts, i, kinds.get(name)))
        for i, name in enumerate(parts.names)
        if i != position
    ]
    return [feature for feature in read if feature is not None]


def _read_feature(parts: FrameParts, i: int, wanted: Kind | str | None) -> Feature:
    raw = parts.read(i)
    kind, ordered = choose_kind(raw, wanted)
    column, cells = encode(raw, kind, ordered=ordered)
    return Feature(column, cells, raw.missing)


def _target_among(
    features: list[Feature], target: tuple[Target, NDArray[Any]] | None
) -> Problem | None:
    """Return the problem of a frame that still holds the target given apart."""
    if target is None:
        return None
    column, cells = target[0].column, target[1]
    for feature in features:
        if feature.column.name != column.name or feature.missing.any():
            continue
        if are_equal(feature.column, feature.cells, column, cells):
            return Problem(
                str(column.name),
                "is the target too: it equals y in every row",
                f"Drop it: frame.drop(columns=[{column.name!r}])",
            )
    return None


def _assemble(
    parts: FrameParts,
    features: list[Feature],
    target: tuple[Target, NDArray[Any]] | None,
) -> Table:
    n_rows = parts.n_rows
    schema = Schema(
        features=tuple(feature.column for feature in features),
        target=None if target is None else target[0],
        form=parts.form,
    )
    return Table(
        schema,
        tuple(feature.cells for feature in features),
        np.stack([feature.missing for feature in features], axis=1),
        np.zeros(n_rows, dtype=np.int64) if target is None else target[1],
        np.arange(n_rows, dtype=np.int64),
        np.full(n_rows, NO_ROW, dtype=np.int64),
    )
