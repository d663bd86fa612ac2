"""A table as two plain matrices, numbers and codes, and back.

What the rivals' papers leave open is decided here, once.  A missing category is a level
of its own.  A number that is sometimes missing stands at its column's mean, and a code
beside it says that it is not there.  Only levels that the training rows have are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import NumberScale, Table, blank


class FlatRows(NamedTuple):
    """Rows without holes."""

    numbers: FloatArray
    """Numeric columns and, in regression, the target as the last one."""

    codes: IntArray
    """Categorical columns, then one flag for each number with holes, then the label."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatColumns:
    """How the columns of one training table are laid out in the two matrices."""

    schema: Schema
    empty: Table
    filler: FloatArray
    """Mean of each number: what stands where there is none."""

    flagged: IntArray
    """Which numbers have holes."""

    known: tuple[IntArray, ...]
    """Schema's codes of each code column, in the order of ours; -1 is a hole."""

    joint_label: bool
    """Whether the class label is one of the code columns."""

    @classmethod
    def of(cls, train: Table, *, joint_label: bool = True) -> FlatColumns:
        """Lay out the columns of a training table.

        Parameters
        ----------
        train : Table
            Real rows.
        joint_label : bool, default=True
            Whether a class label is a code like any other.  A regression target always
            is one more number.
        """
        target = train.schema.target
        joint = joint_label and target is not None and target.task == "classification"
        numbers = _numbers(train)
        flagged = np.flatnonzero(np.isnan(numbers).any(axis=0))
        codes = _codes(train, numbers, flagged, label=joint)
        filler = NumberScale.of(numbers).restore(np.zeros(numbers.shape[1]))
        known = tuple(np.unique(column) for column in codes.T)
        return cls(train.schema, train.empty(), filler, flagged, known, joint)

    @property
    def n_numbers(self) -> int:
        """Number of columns of the first matrix."""
        return len(self.filler)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each code column."""
        return tuple(map(len, self.known))

    def rows(self, train: Table) -> FlatRows:
        """Return the training rows as matrices."""
        numbers = _numbers(train)
        codes = _codes(train, numbers, self.flagged, label=self.joint_label)
        ours = np.zeros(codes.shape, dtype=np.int64)
        for place, known in enumerate(self.known):
            ours[:, place] = np.searchsorted(known, codes[:, place])
        return FlatRows(np.where(np.isnan(numbers), self.filler, numbers), ours)

    def table(self, rows: FlatRows, labels: IntArray | None = None) -> Table:
        """Return drawn rows as a table, whose rows descend from no real one.

        Parameters
        ----------
        rows : FlatRows
            Drawn values, laid out as ``rows`` gives them.
        labels : array of shape (n_rows,), optional
            Class codes, where the label is not one of the code columns.
        """
        n_rows = len(rows.numbers)
        codes = np.zeros(rows.codes.shape, dtype=np.int32)
        for place, known in enumerate(self.known):
            codes[:, place] = known[rows.codes[:, place]]
        n_numeric, n_categorical = (
            len(self.schema.numeric),
            len(self.schema.categorical),
        )
        numbers = rows.numbers[:, :n_numeric].copy()
        for place, column in enumerate(self.flagged):
            numbers[codes[:, n_categorical + place] > 0, column] = np.nan
        if self.joint_label:
            labels = codes[:, -1].astype(np.int64)
        target = np.zeros(n_rows) if labels is None else labels
        drawn = blank(self.schema, target.astype(self.empty.target.dtype))
        if self.n_numbers > n_numeric:
            drawn = drawn.with_target(rows.numbers[:, -1])
        everything = np.ones(drawn.missing.shape, dtype=np.bool_)
        return drawn.redrawn(everything, numbers, codes[:, :n_categorical])


def _numbers(table: Table) -> FloatArray:
    target = table.schema.target
    if target is None or target.task == "classification":
        return table.numeric
    return np.column_stack([table.numeric, table.target_values])


def _codes(
    table: Table, numbers: FloatArray, flagged: IntArray, *, label: bool
) -> IntArray:
    parts = [table.categorical, np.isnan(numbers[:, flagged])]
    if label:
        parts.append(table.target[:, None])
    return np.hstack([np.asarray(part, dtype=np.int64) for part in parts])
