"""The table every stage works on: exact cells, holes, targets, origins, ancestors.

``cells`` hold each value without loss (64-bit integers and nanosecond times do not
survive a float).  ``numeric`` and ``categorical`` are the views that models read;
``redrawn`` is the only way back, and it touches nothing but the cells it is told to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import (
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    Kind,
    Schema,
)

NO_ROW = -1
"""In ``origin``: descends from no real row; in ``unseen_fold``: there is no fold."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Rows of one schema.  Frozen: every method returns a new table."""

    schema: Schema

    cells: tuple[NDArray[Any], ...]
    """One exact array per feature: numbers, or codes into the column's levels."""

    missing: NDArray[np.int8]
    """Shape (n_rows, n_features): 0 where a value is, k where marker k - 1 stands."""

    target: NDArray[Any]
    """Class codes, or the exact regression target; all 0 without a target."""

    origin: IntArray
    """Real row each row descends from: itself for a real row, -1 for none."""

    unseen_fold: IntArray
    """Fold that the generator of each row has never seen; -1 if it saw all rows."""

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        target = self.schema.target
        named = "no target" if target is None else f"target {target.column.name!r}"
        return f"Table({len(self)} rows, {len(self.schema.features)} features, {named})"

    @property
    def numeric(self) -> FloatArray:
        """Numeric columns as float64, NaN where missing; exact to 53 bits."""
        return self._view(self.schema.numeric, np.dtype(np.float64), np.nan)

    @property
    def categorical(self) -> CodeArray:
        """Categorical columns as codes into their levels, -1 where missing."""
        return self._view(self.schema.categorical, np.dtype(np.int32), -1)

    @property
    def target_values(self) -> FloatArray:
        """The target as float64: class codes, or the regression target itself."""
        return self.target.astype(np.float64)

    @property
    def condition(self) -> IntArray:
        """What generation is conditioned on: the class code or the target bin."""
        target = self.schema.target
        if target is None or target.task == "classification":
            return self.target.astype(np.int64)
        edges = np.asarray(target.edges, dtype=np.float64)
        return np.searchsorted(edges, self.target_values, side="left").astype(np.int64)

    def take(self, rows: NDArray[Any]) -> Table:
        """Return the rows picked by number or by a boolean array, in that order."""
        return Table(
            self.schema,
            tuple(column[rows] for column in self.cells),
            self.missing[rows],
            self.target[rows],
            self.origin[rows],
            self.unseen_fold[rows],
        )

    def empty(self) -> Table:
        """Return a table of this schema without rows."""
        return self.take(np.zeros(0, dtype=np.int64))

    def with_origin(self, *, unseen_fold: int) -> Table:
        """Return the same rows marked as made without having seen a fold."""
        return replace(self, unseen_fold=np.full(len(self), unseen_fold, np.int64))

    def with_target(self, values: FloatArray) -> Table:
        """Return the same rows with other regression targets, rounded as real ones."""
        target = self.schema.target
        if target is None or target.task == "classification":
            return self
        return replace(self, target=target.column.store(values))

    def redrawn(
        self, regenerate: BoolArray, numeric: FloatArray, categorical: CodeArray
    ) -> Table:
        """Return a copy whose cells hold drawn values where ``regenerate`` is True.

        It has shape (n_rows, n_features); drawn values are laid out as the properties
        of the same names.  A constant stays; a regenerated identifier becomes empty.
        """
        cells = list(self.cells)
        missing = self.missing.copy()
        for source, positions in (
            (numeric, self.schema.numeric),
            (categorical, self.schema.categorical),
        ):
            for drawn, position in zip(source.T, positions, strict=True):
                chosen = regenerate[:, position]
                hole = np.isnan(drawn) if drawn.dtype.kind == "f" else drawn < 0
                filled = chosen & ~hole
                cells[position] = _replace_cells(
                    cells[position], filled, self._store(position, drawn[filled])
                )
                missing[chosen, position] = hole[chosen]
        for position, column in enumerate(self.schema.features):
            if column.kind is Kind.IDENTIFIER:
                missing[regenerate[:, position], position] = 1
        return replace(self, cells=tuple(cells), missing=missing)

    def _store(self, position: int, drawn: NDArray[Any]) -> NDArray[Any]:
        column = self.schema.features[position]
        return column.store(drawn) if column.kind.is_numeric else drawn

    def _view(
        self, positions: IntArray, dtype: np.dtype[Any], hole: float
    ) -> NDArray[Any]:
        view = np.empty((len(self), len(positions)), dtype=dtype)
        for i, position in enumerate(positions):
            view[:, i] = self.cells[position]
        view[self.missing[:, positions] > 0] = hole
        return view


def _replace_cells(
    column: NDArray[Any], chosen: BoolArray, values: NDArray[Any]
) -> NDArray[Any]:
    if not chosen.any():
        return column
    column = column.copy()
    column[chosen] = values
    return column


def blank(schema: Schema, target: NDArray[Any]) -> Table:
    """Return rows without values, one per target; only to be redrawn whole."""
    n_rows = len(target)
    return Table(
        schema,
        tuple(np.zeros(n_rows, dtype=column.storage) for column in schema.features),
        np.zeros((n_rows, len(schema.features)), dtype=np.int8),
        target,
        np.full(n_rows, NO_ROW, dtype=np.int64),
        np.full(n_rows, NO_ROW, dtype=np.int64),
    )


def concat(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables of one schema, in the order given."""
    first = tables[0]
    return Table(
        first.schema,
        tuple(
            np.concatenate([table.cells[i] for table in tables])
            for i in range(len(first.cells))
        ),
        np.concatenate([table.missing for table in tables]),
        np.concatenate([table.target for table in tables]),
        np.concatenate([table.origin for table in tables]),
        np.concatenate([table.unseen_fold for table in tables]),
    )


# ---- Which real row each row descends from.


def ancestor_rows(real: Table, rows: Table) -> IntArray:
    """Return the row of ``real`` that each row descends from; -1 where there is none.

    ``real`` may be a part of the real rows, in any order: origins name rows of the
    table that the user gave.
    """
    if not len(real):
        return np.full(len(rows), NO_ROW, dtype=np.int64)
    order = np.argsort(real.origin, kind="stable")
    index = np.searchsorted(real.origin[order], rows.origin)
    ancestor = order[np.minimum(index, len(real) - 1)]
    known = (rows.origin != NO_ROW) & (real.origin[ancestor] == rows.origin)
    return np.where(known, ancestor, NO_ROW)


# ---- Numbers in standard deviations from their mean, column by column.
#
# Holes stay holes, a column without spread becomes 0, and numbers near the largest
# float do not overflow on the way.


@dataclass(frozen=True, slots=True, eq=False)
class NumberScale:
    """Mean and standard deviation of each column of a matrix with holes."""

    exponent: NDArray[np.int32]
    """Power of two that brings each column near 1, so that no square overflows."""

    center: FloatArray
    """Mean of each column, in those powers of two."""

    spread: FloatArray
    """Standard deviation, in those powers of two; 0 for a column without spread."""

    @classmethod
    def of(cls, numbers: FloatArray) -> NumberScale:
        """Fit the scale on the numbers that are not missing."""
        present = ~np.isnan(numbers)
        peak = np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0)
        exponent = np.frexp(peak)[1].astype(np.int32)
        near_one = np.where(present, np.ldexp(numbers, -exponent), 0.0)
        count = np.maximum(present.sum(axis=0), 1)
        center = near_one.sum(axis=0) / count
        off = np.where(present, near_one - center, 0.0)
        spread = np.sqrt((off**2).sum(axis=0) / count)
        # Asked of the numbers, not of the spread: a mean of equals may be off a bit.
        top = np.fmax.reduce(numbers, axis=0, initial=-np.inf)
        bottom = np.fmin.reduce(numbers, axis=0, initial=np.inf)
        return cls(exponent, center, np.where(top > bottom, spread, 0.0))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of each column in its own units."""
        return np.asarray(np.ldexp(self.spread, self.exponent))

    def standardise(self, numbers: FloatArray) -> FloatArray:
        """Return numbers in standard deviations from the mean, NaN where missing.

        Examples
        --------
        >>> numbers = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])
        >>> NumberScale.of(numbers).standardise(numbers)
        array([[-1.,  0.],
               [ 1.,  0.],
               [nan,  0.]])
        """
        off = np.ldexp(numbers, -self.exponent) - self.center
        flat = self.spread == 0
        return np.asarray(off * ~flat / np.where(flat, 1.0, self.spread))

    def restore(self, scores: FloatArray) -> FloatArray:
        """Return standardised numbers in the columns' own units.

        Examples
        --------
        >>> NumberScale.of(np.array([[1.0], [3.0]])).restore(np.array([[-1.0], [2.0]]))
        array([[1.],
               [4.]])
        """
        return np.asarray(np.ldexp(scores * self.spread + self.center, self.exponent))
