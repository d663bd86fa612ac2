"""Rows taken out of a result with everything that descends from them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tabtap.errors import UserInputError
from tabtap.result.traces import composed, steps_without, without_traces
from tabtap.result.why import counted

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult


def forget_rows(result: AugmentResult, row: int | Sequence[int]) -> AugmentResult:
    """Return a result without some real rows and what descends from them."""
    rows = _numbers(row)
    _check(result, rows)
    keep = ~np.isin(result.real.origin, rows)
    if not keep.any():
        raise UserInputError(
            "These are all of the real rows. Delete the result instead of forgetting "
            "everything in it."
        )
    stays = ~np.isin(result.delivered.rows.origin, rows)
    n_removed = int((~stays).sum())
    about = result.about
    groups = None if about.groups is None else about.groups[keep]
    delivered = result.delivered.take(stays)
    clean = without_traces(result.real.take(keep), delivered.rows)
    return replace(
        result,
        real=clean.real,
        delivered=replace(delivered, rows=clean.delivered),
        steps=steps_without(result.steps, clean.kept),
        about=replace(
            about, groups=groups, notes=(*about.notes, _note(rows, n_removed))
        ),
        index=None if result.index is None else result.index[keep],
        forgotten=tuple(sorted({*result.forgotten, *rows})),
        n_removed=result.n_removed + n_removed,
        codes_given=composed(result.codes_given, clean.kept),
    )


def _numbers(row: int | Sequence[int]) -> list[int]:
    parts = [row] if np.ndim(row) == 0 else list(row)  # type: ignore[arg-type]
    try:
        if any(isinstance(part, (bool, np.bool_)) for part in parts):
            raise TypeError
        return [operator.index(part) for part in parts]  # type: ignore[arg-type]
    except TypeError as error:
        raise UserInputError(
            f"row={row!r} is not usable: it must be a row's place in the table, "
            "counted from 0, or several of them. Try 0."
        ) from error


def _check(result: AugmentResult, rows: list[int]) -> None:
    if not rows:
        raise UserInputError("No row was given. Pass the place of at least one.")
    known = set(result.real.origin.tolist())
    n_given = len(known) + len(result.forgotten)
    for number in rows:
        if number in result.forgotten:
            raise UserInputError(
                f"Real row {number} was forgotten already. Leave it out."
            )
        if number not in known:
            raise UserInputError(
                f"There is no real row {number}: the table had {n_given} rows. Pass a "
                f"place from 0 to {n_given - 1}, not a row label."
            )


def _note(rows: list[int], n_removed: int) -> str:
    noun = "Real row" if len(rows) == 1 else "Real rows"
    named = ", ".join(map(str, sorted(set(rows))))
    return (
        f"{noun} {named} and {counted(n_removed, 'synthetic row')} made of "
        f"{'it' if len(rows) == 1 else 'them'} were removed after the run; the "
        "certificates describe the table before, and generators of the rows that "
        "stay may have learned from what was removed."
    )
