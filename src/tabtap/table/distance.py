"""How far apart rows of mixed columns are, and the nearest row to each of many.

The distance is the root of the mean, over columns, of squared differences: a number
counts in standard deviations of the real rows, a category 0 or 1, a missing value 1
against any value and 0 against another missing one.  So a distance of 1 means the same
in a table of 5 columns and in one of 300.  Targets take no part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.errors import UserInputError
from tabtap.table.schema import CodeArray, FloatArray, IntArray
from tabtap.table.table import NO_ROW, NumberScale, Table

CHUNK_BYTES = 2**25
"""Memory that one block of distances may take; small blocks stay in cache."""

MAX_GAP_ROWS = 2000
"""Rows whose nearest neighbours suffice to know the usual gap between rows."""


@dataclass(frozen=True, slots=True, eq=False)
class DistanceScale:
    """Units of the numeric columns, fitted on real rows."""

    numbers: NumberScale

    @classmethod
    def of(cls, table: Table) -> DistanceScale:
        """Fit the scale on the rows of a table."""
        return cls(NumberScale.of(table.numeric))


def nearest(
    queries: Table,
    reference: Table,
    scale: DistanceScale,
    *,
    exclude_self: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
) -> tuple[FloatArray, IntArray]:
    """Return distance and row number of the reference row nearest to each query row.

    Infinite and -1 where there is no row to be near to.  With ``exclude_self`` row i of
    ``queries`` is row i of ``reference`` and may not be its own neighbour.
    ``chunk_bytes`` bounds the memory for one block of distances and changes no result.
    """
    if exclude_self and len(queries) != len(reference):
        raise UserInputError(
            f"exclude_self=True is not usable with {len(queries)} query rows and "
            f"{len(reference)} reference rows. Pass the same table twice."
        )
    own = np.arange(len(queries))[:, None] if exclude_self else None
    points = _Points.of(queries, scale), _Points.of(reference, scale)
    return _search(*points, own, chunk_bytes)


def two_nearest(
    queries: Table,
    reference: Table,
    scale: DistanceScale,
    *,
    exclude_self: bool = False,
) -> FloatArray:
    """Return the distances of the two reference rows nearest to each query row.

    Shape (n_queries, 2), the nearest first; infinite where there is no such row.
    """
    first, row = nearest(queries, reference, scale, exclude_self=exclude_self)
    if not len(queries) or (row == NO_ROW).any():
        return np.column_stack([first, np.full(len(first), np.inf)])
    taken = row[:, None]
    if exclude_self:
        taken = np.column_stack([taken, np.arange(len(queries))])
    points = _Points.of(queries, scale), _Points.of(reference, scale)
    return np.column_stack([first, _search(*points, taken, CHUNK_BYTES)[0]])


def typical_gap(table: Table, scale: DistanceScale) -> float:
    """Return the median distance from a row to the nearest other row.

    This is the unit in which a row counts as new or as a copy.  In a long table it
    is taken over ``MAX_GAP_ROWS`` evenly spaced rows.  Infinite for a single row.
    """
    stride = -(-len(table) // MAX_GAP_ROWS)
    rows = np.arange(0, len(table), max(stride, 1))
    points = _Points.of(table.take(rows), scale), _Points.of(table, scale)
    gap, _ = _search(*points, rows[:, None], CHUNK_BYTES)
    return float(np.median(gap)) if len(gap) else float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Rows ready to be compared."""

    numbers: FloatArray
    """In standard deviations; 0 where missing."""

    present: FloatArray
    """1 where there is a number, 0 where it is missing."""

    codes: CodeArray

    @classmethod
    def of(cls, table: Table, scale: DistanceScale) -> _Points:
        numbers = scale.numbers.standardise(table.numeric)
        present = ~np.isnan(numbers)
        # Column by column is how codes are compared.
        codes = np.asfortranarray(table.categorical)
        return cls(np.where(present, numbers, 0.0), present.astype(np.float64), codes)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: IntArray | slice) -> _Points:
        return _Points(self.numbers[rows], self.present[rows], self.codes[rows])

    def as_left(self) -> FloatArray:
        """Rows whose products with ``as_right`` rows are sums of squared differences.

        With x = 0 where missing and p = 1 where present, one column contributes
        p q (x - y)^2 + p (1 - q) + (1 - p) q, which is linear in (q, y^2, y, 1).
        """
        x, p = self.numbers, self.present
        total = p.sum(axis=1, keepdims=True)
        return np.hstack([x**2 + 1 - 2 * p, p, -2 * x, total])

    def as_right(self) -> FloatArray:
        y, q = self.numbers, self.present
        return np.hstack([q, y**2, y, np.ones((len(self), 1))])


def _search(
    queries: _Points, reference: _Points, own: IntArray | None, chunk_bytes: int
) -> tuple[FloatArray, IntArray]:
    """Search all rows but ``own``, of shape (n_queries, n_left_out)."""
    distance = np.full(len(queries), np.inf)
    row = np.full(len(queries), NO_ROW, dtype=np.int64)
    n_left_out = 0 if own is None else own.shape[1]
    if len(reference) - n_left_out < 1:
        return distance, row
    right = np.ascontiguousarray(reference.as_right().T)
    # A cell holds its square, its count of mismatches, one comparison and a spare.
    n_chunk = max(1, chunk_bytes // (len(reference) * 16))
    for start in range(0, len(queries), n_chunk):
        rows = slice(start, min(start + n_chunk, len(queries)))
        chunk = queries.take(rows)
        square = chunk.as_left() @ right
        _add_mismatches(square, chunk.codes, reference.codes)
        if own is not None:
            square[np.arange(len(square))[:, None], own[rows]] = np.inf
        row[rows] = square.argmin(axis=1)
        # Products cancel badly for equal rows; the chosen pair is measured exactly.
        distance[rows] = _measure_pairs(chunk, reference.take(row[rows]))
    return distance, row


def _add_mismatches(square: FloatArray, left: CodeArray, right: CodeArray) -> None:
    n_columns = left.shape[1]
    if n_columns == 0:
        return
    count = np.zeros(square.shape, dtype=np.min_scalar_type(n_columns))
    differs = np.empty(square.shape, dtype=np.bool_)
    for column in range(n_columns):
        np.not_equal(left[:, column, None], right[None, :, column], out=differs)
        count += differs.view(np.uint8)
    square += count


def _measure_pairs(left: _Points, right: _Points) -> FloatArray:
    both = left.present * right.present
    square = (both * (left.numbers - right.numbers) ** 2).sum(axis=1)
    square += (left.present != right.present).sum(axis=1)
    square += (left.codes != right.codes).sum(axis=1)
    n_columns = left.numbers.shape[1] + left.codes.shape[1]
    return np.asarray(np.sqrt(square / max(n_columns, 1)))
