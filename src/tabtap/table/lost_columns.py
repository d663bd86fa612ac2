"""Columns that would be of use if they were not text: percentages, money, times.

A cell like 12.5% that never comes back cannot be told from a name by its values alone:
the column becomes an identifier, or a category of too many levels.  The run goes on
without what it says, and its owner must hear of that.
"""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import dataclass

from tabtap.table.dtypes import family
from tabtap.table.inference import MIN_ROWS_PER_VALUE, are_few_texts
from tabtap.table.problems import call, shown
from tabtap.table.schema import Column, Kind
from tabtap.table.table import Table
from tabtap.table.text_signs import names_an_identifier, read_writing


@dataclass(frozen=True, slots=True)
class LostColumn:
    """A column that is not learned as what it is, and how to get it back."""

    name: Hashable
    found: str
    """What it holds and what becomes of it."""

    code: str
    """The pandas call that converts it."""

    kind: Kind
    """What it was taken for."""

    def __str__(self) -> str:
        """Return all of it in two sentences."""
        return (
            f"Column {self.name!r} {self.found}. Convert it: {call(self.name)} = "
            f"{self.code}, or say that it is meant: "
            f"kinds={{{self.name!r}: {self.kind.value!r}}}."
        )


def lost_columns(table: Table, declared: Container[Hashable] = ()) -> list[LostColumn]:
    """Return the columns whose meaning is lost, each with what was found and the fix.

    Parameters
    ----------
    table : Table
        As it was read.
    declared : container of column names
        Columns whose kind the user has named: they know what they do.

    Returns
    -------
    list of LostColumn
        In the order of the table.  None of them keeps a run from going on.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"rate": [f"{i}.5%" for i in range(12)], "dose": 1.5})
    >>> [lost.name for lost in lost_columns(read_frame(frame))]
    ['rate']
    """
    found = [
        _lost(column, int((table.missing[:, place] == 0).sum()))
        for place, column in enumerate(table.schema.features)
        if column.name not in declared
    ]
    return [lost for lost in found if lost is not None]


def _lost(column: Column, n_present: int) -> LostColumn | None:
    if not _could_be_more(column, n_present):
        return None
    writing = read_writing(column.levels)
    if writing is None:
        return None
    fate = "it is not learned and is empty in new rows"
    if column.kind is Kind.CATEGORY:
        n_levels = len(column.levels)
        fate = f"each of its {n_levels} values is learned as a word by itself"
    return LostColumn(
        column.name,
        f"holds {writing.what} as text, such as {shown(writing.example)}, so {fate}",
        writing.code.format(call(column.name)),
        column.kind,
    )


def _could_be_more(column: Column, n_present: int) -> bool:
    """Whether inference took a column of many texts for names or for words."""
    if column.kind not in (Kind.IDENTIFIER, Kind.CATEGORY):
        return False
    if family(column.dtype) != "text":
        return False
    n_levels = len(column.levels)
    if column.kind is Kind.IDENTIFIER:
        return not names_an_identifier(column.name)
    met_often = n_present >= MIN_ROWS_PER_VALUE * n_levels
    return not met_often and not are_few_texts(n_levels, n_present)
