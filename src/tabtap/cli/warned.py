"""Warnings as notes on the screen, once each; those of other packages only to debug."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tabtap.cli.screen import Screen
from tabtap.errors import ColumnLostWarning, TapWarning, TargetCopyWarning

_ABOUT_COLUMNS = (
    "\nOn the command line --kind COLUMN=KIND says what a column is, and --ignore "
    "COLUMN keeps it from being learned."
)


@contextmanager
def told_warnings(screen: Screen, *, everything: bool = False) -> Iterator[list[str]]:
    """Show our warnings as notes while something runs; give the list of those shown."""
    told: list[str] = []

    def tell(message: Any, *about: Any, **more: Any) -> None:  # noqa: ANN401
        del about, more
        told.append(str(message))
        screen.note(f"{message}{_more(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default" if everything else "ignore")
        warnings.simplefilter("always", TapWarning)
        warnings.showwarning = tell
        yield told


def tell_rest(screen: Screen, notes: Collection[str], told: Collection[str]) -> None:
    """Show the notes of a run that no warning has told already."""
    for note in notes:
        if not any(note in text for text in told):  # a warning may list several
            screen.note(note)


def _more(message: object) -> str:
    is_about_columns = isinstance(message, (ColumnLostWarning, TargetCopyWarning))
    return _ABOUT_COLUMNS if is_about_columns else ""
