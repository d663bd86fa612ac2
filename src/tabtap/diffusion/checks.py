"""What a caller may get wrong when fitting or drawing, each with the way out."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabtap.diffusion.encoding import Encoding
from tabtap.errors import UserInputError, bad_setting
from tabtap.table.schema import BoolArray, Column, IntArray, Kind, Target
from tabtap.table.table import Table

_SHOWN_LABELS = 6


def check_table(table: object) -> None:
    """Raise unless this is a ``Table``: a frame is the usual mistake."""
    if not isinstance(table, Table):
        raise UserInputError(
            f"Got {type(table).__name__} where a Table is needed. Read it first: "
            "tabtap.table.read_frame(frame, target=...)."
        )


def check_rng(rng: object) -> None:
    """Raise unless this is a numpy generator: a seed is the usual mistake."""
    if not isinstance(rng, np.random.Generator):
        raise bad_setting(
            "rng",
            rng,
            "be a numpy random generator",
            "Pass np.random.default_rng(0).",
        )


def check_folds(fold: NDArray[Any], n_rows: int) -> None:
    """Raise unless every row has a fold number, from 0, and there are two or more."""
    if fold.shape != (n_rows,) or fold.dtype.kind not in "iu":
        raise UserInputError(
            f"fold has shape {fold.shape} and dtype {fold.dtype}; it must hold one "
            f"integer for each of the {n_rows} rows. Use tabtap.table.split.folds."
        )
    if fold.min() < 0 or len(np.unique(fold)) < 2:
        raise UserInputError(
            f"fold has the numbers {np.unique(fold)[:5].tolist()}; there must be at "
            "least two folds, numbered from 0. Use tabtap.table.split.folds."
        )


def wanted_targets(
    encoding: Encoding, n_rows: int, targets: ArrayLike | None, rng: np.random.Generator
) -> IntArray:
    """Return one condition per row: as asked for, or as frequent as in training."""
    if isinstance(n_rows, bool) or not isinstance(n_rows, (int, np.integer)):
        raise bad_setting("n_rows", n_rows, "be a whole number", "Try 100.")
    if n_rows < 0:
        raise bad_setting("n_rows", n_rows, "not be negative", "Try 100.")
    shares = encoding.weights
    if targets is None:
        return rng.choice(len(shares), size=n_rows, p=shares)
    wanted = np.asarray(targets)
    if wanted.dtype.kind not in "iu" or wanted.shape not in ((), (n_rows,)):
        raise UserInputError(
            f"targets has shape {wanted.shape} and dtype {wanted.dtype}; it must be "
            f"one integer or {n_rows} of them. {_codes_of(encoding.schema.target)}"
        )
    return np.broadcast_to(wanted, (n_rows,)).astype(np.int64)


def check_targets(encoding: Encoding, wanted: IntArray) -> None:
    """Raise if a condition does not exist, or has no training row."""
    n_conditions, target = len(encoding.weights), encoding.schema.target
    outside = (wanted < 0) | (wanted >= n_conditions)
    if outside.any():
        got = int(wanted[outside][0])
        must = f"lie between 0 and {n_conditions - 1}"
        raise bad_setting("targets", got, must, _codes_of(target))
    unknown = encoding.weights[wanted] == 0
    if unknown.any():
        raise UserInputError(
            f"Target {int(wanted[unknown][0])} has no training row, so nothing is "
            "known of it. Ask for targets that the training rows have."
        )


def check_anchors(anchors: Table, regenerate: BoolArray, encoding: Encoding) -> None:
    """Raise unless the anchors are of the learned sort and the mask fits them."""
    check_table(anchors)
    _check_schema(anchors, encoding)
    check_targets(encoding, anchors.condition)
    expected = anchors.missing.shape
    shape = getattr(regenerate, "shape", None)
    if shape != expected or getattr(regenerate, "dtype", None) != np.bool_:
        raise UserInputError(
            f"regenerate is a {type(regenerate).__name__} of shape {shape}; it must be "
            f"a boolean array of shape {expected}: a row per anchor, a column per "
            "feature. Build it from anchors.missing.shape."
        )


def _check_schema(anchors: Table, encoding: Encoding) -> None:
    learned, got = encoding.schema, anchors.schema
    pairs = [*zip_longest(learned.features, got.features)]
    for mine, theirs in pairs:
        if _known(mine) != _known(theirs):
            named = (mine or theirs).name
            raise UserInputError(
                f"The anchors' column {named!r} is not what this backbone learned: "
                "name, kind, dtype or levels differ. Read all rows with one call of "
                "read_frame and take the anchors from it."
            )
    if _condition_of(learned.target) != _condition_of(got.target):
        raise UserInputError(
            "The anchors' target is not the one this backbone learned: its labels, or "
            "the edges of its bins, differ. Read all rows with one call of read_frame "
            "and take the anchors from it."
        )


def _known(column: Column | None) -> object:
    """Return what must agree; identifiers may differ, they are never modelled."""
    if column is None or column.kind is Kind.IDENTIFIER:
        return column and (column.name, column.kind)
    return column.name, column.kind, column.dtype, column.levels


def _condition_of(target: Target | None) -> object:
    return target and (target.task, target.column.levels, target.edges)


def _codes_of(target: Target | None) -> str:
    if target is None:
        return "Without a target there is only 0."
    if target.task == "regression":
        return f"Pass target bins, 0 to {target.n_conditions - 1}."
    labels = target.column.levels
    listed = ", ".join(f"{i} for {x!r}" for i, x in enumerate(labels[:_SHOWN_LABELS]))
    more = ", ..." if len(labels) > _SHOWN_LABELS else ""
    return f"Pass class codes: {listed}{more}."
