"""What a user should hear of a run before it begins: as warnings, and as its notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Hashable
from typing import TypeVar

from tabtap.errors import (
    ColumnLostWarning,
    EvaluatorFallbackWarning,
    TargetCopyWarning,
)
from tabtap.table.suspects import lost_columns, target_copies
from tabtap.table.table import Table

_Made = TypeVar("_Made")
_CALLER = 3  # of whoever asked for the notes


def table_notes(real: Table, declared: Container[Hashable]) -> tuple[str, ...]:
    """Warn of columns that are lost or too good, and return a sentence for each.

    ``declared`` are the columns whose kind the user has named.
    """
    lost = [str(column) for column in lost_columns(real, declared)]
    if lost:
        warnings.warn(_listed(lost), ColumnLostWarning, stacklevel=_CALLER)
    copies = [_copy(name) for name in target_copies(real)]
    for said in copies:
        warnings.warn(said, TargetCopyWarning, stacklevel=_CALLER)
    return (*lost, *copies)


def with_notes(make: Callable[[], _Made]) -> tuple[_Made, tuple[str, ...]]:
    """Return what was made, and the warnings that were raised on the way as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EvaluatorFallbackWarning)
        made = make()
    for warning in caught:
        warnings.warn_explicit(
            warning.message, warning.category, warning.filename, warning.lineno
        )
    return made, tuple(str(warning.message) for warning in caught)


def _listed(sentences: list[str]) -> str:
    if len(sentences) == 1:
        return sentences[0]
    lines = "".join(f"\n  - {sentence}" for sentence in sentences)
    return f"{len(sentences)} columns are not learned as what they are:{lines}"


def _copy(name: Hashable) -> str:
    return (
        f"Column {name!r} equals the target in every row, so nothing is left to "
        "predict and no rows can be shown to help. Drop it, or keep it from being "
        f"learned: kinds={{{name!r}: 'identifier'}}."
    )
