"""What in a table is suspect: copied rows, copies of the target, useful text.

A copy on both sides of a split is an answer known beforehand.  But where there are few
columns of few levels equal rows are natural, and are not one and the same thing.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.kinds import (
    MIN_ROWS_PER_VALUE,
    are_few_texts,
    names_an_identifier,
    read_writing,
)
from tabtap.table.problems import call, quote, told
from tabtap.table.schema import Column, IntArray, Kind, family
from tabtap.table.table import Table

CHANCE = 0.1
"""Equal pairs are copies if chance would make less than this share of them."""


def copy_groups(table: Table) -> IntArray | None:
    """Give every row a number from 0 that exact copies share; None without copies.

    Copies agree in every feature, in their holes and in the target.  Identifiers are
    not compared: a row number would hide every copy.  Rows that agree about as often as
    chance would make them are no copies: were columns and target independent,
    ``C(n, 2) * prod_j sum_v p_jv ** 2`` pairs would agree, ``p_jv`` being how often
    value v occurs in column j.  These are counted among the distinct rows, or copies
    would pass for frequent values.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"a": range(6), "b": [5, 3, 1, 0, 2, 4], "y": [0, 1] * 3})
    >>> frame["c"] = frame["a"] ** 2
    >>> copy_groups(read_frame(pd.concat([frame, frame]), "y"))
    array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5])
    >>> few = pd.DataFrame({"a": [0, 1, 1] * 4, "y": [0, 0, 1] * 4})
    >>> copy_groups(read_frame(few, "y")) is None
    True
    """
    numbers = row_numbers(_columns(table), len(table))
    sizes = np.bincount(numbers)
    n_equal = _pairs(sizes).sum()
    if n_equal == 0:
        return None
    _, first = np.unique(numbers, return_index=True)
    by_chance = _pairs(np.array([len(table)])).sum()
    for column in _columns(table):
        share = np.unique(column[first], return_counts=True)[1] / len(first)
        by_chance *= (share**2).sum()
    return numbers if by_chance < CHANCE * n_equal else None


def _columns(table: Table) -> Iterator[NDArray[Any]]:
    """Give every column that counts, a hole being a value like any other."""
    for column_index, column in enumerate(table.schema.features):
        if column.kind is Kind.IDENTIFIER:
            continue
        hole = table.missing[:, column_index] > 0
        cells = table.cells[column_index]
        # What lies under a hole is not part of the row.
        yield np.where(hole, 0, _codes(cells) + 1) if hole.any() else cells
    yield table.target


def row_numbers(columns: Iterable[NDArray[Any]], n_rows: int) -> IntArray:
    """Return a number for each row, from 0 as they appear; equal rows share it.

    Rows that no other is like so far are not looked at again.

    Examples
    --------
    >>> row_numbers([np.array([5, 5, 5, 3]), np.array([2.5, 1.0, 2.5, 2.5])], 4)
    array([0, 1, 0, 2])
    """
    numbers = np.zeros(n_rows, dtype=np.int64)
    shared, n_given = np.arange(n_rows), 1
    for column in columns:
        if not len(shared):
            break
        code = _codes(column[shared])
        _, pair, counts = np.unique(
            numbers[shared] * (code.max() + 1) + code,
            return_inverse=True,
            return_counts=True,
        )
        numbers[shared] = n_given + pair
        shared, n_given = shared[counts[pair] > 1], n_given + len(counts)
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _codes(values: NDArray[Any]) -> IntArray:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _pairs(sizes: IntArray) -> NDArray[np.float64]:
    """Return how many pairs of rows there are in sets of so many rows."""
    return sizes * (sizes - 1) / 2.0


# ---- Features that are the target once more: equal to it in every row.
#
# With such a feature there is nothing to predict, every learner is perfect already, and
# no row can be shown to help.  Columns that only tell the target are ``inspection``'s.


def target_copies(table: Table) -> list[Hashable]:
    """Return the names of learned features that equal the target in every row.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"dose": [1, 2, 3] * 4, "sick": [0, 1, 1] * 4})
    >>> target_copies(read_frame(frame.assign(ill=frame["sick"] * 1.0), "sick"))
    ['ill']
    """
    target = table.schema.target
    if target is None:
        return []
    return [
        column.name
        for column_index, column in enumerate(table.schema.features)
        if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT)
        and not table.missing[:, column_index].any()
        and are_equal(column, table.cells[column_index], target.column, table.target)
    ]


def are_equal(
    column: Column, cells: NDArray[Any], other: Column, other_cells: NDArray[Any]
) -> bool:
    """Whether two columns without holes have the same value in every row.

    Numbers are compared as numbers, whatever their kinds: 1, 1.0 and True are equal.
    """
    if not len(cells) or Kind.DATETIME in (column.kind, other.kind):
        return False
    # The first row tells most columns apart, before all of them are looked at.
    if not _are_equal(column, cells[:1], other, other_cells[:1]):
        return False
    return _are_equal(column, cells, other, other_cells)


def _are_equal(
    column: Column, cells: NDArray[Any], other: Column, other_cells: NDArray[Any]
) -> bool:
    same = _values(column, cells) == _values(other, other_cells)
    return bool(np.all(same))


def _values(column: Column, cells: NDArray[Any]) -> NDArray[Any]:
    if column.kind.is_numeric:
        return cells
    levels = np.empty(len(column.levels), dtype=object)
    levels[:] = column.levels
    return np.asarray(levels[cells])


# ---- Columns that would be of use if they were not text: percentages, money, times.
#
# A cell like 12.5% that never comes back cannot be told from a name by its values
# alone: the column becomes an identifier, or a category of too many levels. The run
# goes on without what it says, and its owner must hear of that.


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

    @property
    def option(self) -> str:
        """What to pass on the command line."""
        return (
            "name what stands for a missing value there "
            f"({told('--missing', self.name, 'TEXT')}), or write all cells in one way"
        )

    def __str__(self) -> str:
        """Return all of it in two sentences."""
        return (
            f"Column {self.name!r} {self.found}. Convert it: {call(self.name)} = "
            f"{self.code}, or say that it is meant: "
            f"kinds={{{self.name!r}: {self.kind.value!r}}}."
        )


def lost_columns(table: Table, declared: Container[Hashable] = ()) -> list[LostColumn]:
    """Return the columns whose meaning is lost, each with what was found and the fix.

    Those in ``declared`` are left out: the user has named their kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabtap.table import read_frame
    >>> frame = pd.DataFrame({"rate": [f"{i}.5%" for i in range(12)], "dose": 1.5})
    >>> [lost.name for lost in lost_columns(read_frame(frame))]
    ['rate']
    """
    lost_or_none = [
        _describe_loss(column, int((table.missing[:, column_index] == 0).sum()))
        for column_index, column in enumerate(table.schema.features)
        if column.name not in declared
    ]
    return [lost for lost in lost_or_none if lost is not None]


def _describe_loss(column: Column, n_present: int) -> LostColumn | None:
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
        f"holds {writing.what} as text, such as {quote(writing.example)}, so {fate}",
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
