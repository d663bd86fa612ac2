"""The sentences for what can be wrong with a table, and how they are gathered.

Code that meets a bad column raises ``RefusedColumn``; ``frame.py`` catches it, reads
on, and reports everything at once.  Row numbers count from 0 whatever the index says.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from tabtap.errors import Problem

MIN_ROWS = 12
"""Fewest rows from which a generator can learn anything; the documented floor."""

_SHOWN_CHARACTERS = 40
_Result = TypeVar("_Result")


class RefusedColumn(Exception):
    """A column that cannot be read, on its way to the report."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class Findings:
    """Problems found so far.  The only mutable thing while a frame is read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, problem: Problem | None) -> None:
        """Note a problem; None means there was none."""
        if problem is not None:
            self.problems.append(problem)

    def attempt(self, read: Callable[[], _Result]) -> _Result | None:
        """Return what ``read`` returns, or None and a note if it refuses."""
        try:
            return read()
        except RefusedColumn as refused:
            self.problems.append(refused.problem)
            return None


def refuse(name: Hashable, found: str, fix: str, option: str = "") -> RefusedColumn:
    """Return the refusal of one column, to be raised.

    ``option`` is the fix on the command line, where that is another one.
    """
    return RefusedColumn(Problem(str(name), found, fix, option))


def told(option: str, name: Hashable, value: str = "") -> str:
    """Return an option of the command line that says something of a column."""
    return f"{option} {shlex.quote(f'{name}={value}' if value else str(name))}"


def quote(value: Any) -> str:  # noqa: ANN401 - any cell of a user's frame
    """Return a cell as short text for a message."""
    text = " ".join(repr(value).split())
    if len(text) > _SHOWN_CHARACTERS:
        return text[: _SHOWN_CHARACTERS - 3] + "..."
    return text


def call(name: Hashable) -> str:
    """Return how a user writes the column in code."""
    return f"frame[{name!r}]"


def not_a_frame(frame: object) -> Problem:
    """Return the problem of an input that is no table at all."""
    return Problem(
        None,
        f"got {type(frame).__name__}",
        "Pass a pandas DataFrame, a polars DataFrame or a 2-d numpy array",
    )


def too_few_rows(n_rows: int, floor: int) -> Problem | None:
    """Return the problem of a table with too few rows to learn from."""
    if n_rows == 0:
        return Problem(None, "has 0 rows", f"Pass at least {max(floor, 1)} rows")
    if n_rows < floor:
        return Problem(
            None,
            f"has {n_rows} rows, fewer than the floor of {floor}",
            f"Collect at least {floor - n_rows} more",
        )
    return None


def unsupported(name: Hashable, dtype: str, way_out: str) -> RefusedColumn:
    """Return the refusal of a dtype that cannot be restored exactly."""
    return refuse(name, f"has dtype {dtype}, which is not supported", way_out)


def all_missing(name: Hashable) -> RefusedColumn:
    """Return the refusal of a column without a single value."""
    return refuse(
        name,
        "has no value at all",
        f"Drop it: frame.drop(columns=[{name!r}])",
    )


def infinite(name: Hashable, value: float, row: int) -> RefusedColumn:
    """Return the refusal of a column with an infinity in it."""
    return refuse(
        name,
        f"holds {value} (row {row})",
        "Make infinities missing, in pandas: "
        f"{call(name)}.replace([np.inf, -np.inf], np.nan)",
        f"Read it as missing: {told('--missing', name, str(value))}",
    )
