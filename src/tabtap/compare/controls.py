"""Rows that no generator made: what any generator has to beat.

Copies and jitter are rivals in usefulness: repeating rows alone revives learners that
need a minimum of rows per leaf.  Bootstrap and independent columns are the two ends of
fidelity: the most faithful rows that teach nothing, and marginals without relations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabtap.errors import UserInputError
from tabtap.table.schema import IntArray
from tabtap.table.split import allot
from tabtap.table.table import NO_ROW, NumberScale, Table


def even_rows(train: Table, n: int, rng: np.random.Generator) -> IntArray:
    """Draw row numbers so that conditions, and rows within each, are used evenly.

    Parameters
    ----------
    train : Table
        Rows to draw from.
    n : int
        How many to draw.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    array of shape (n,)
        Row numbers.  Counts of the classes or target bins present differ by at most
        one, and so do the counts of rows of one class.

    Raises
    ------
    UserInputError
        If ``train`` has no rows.
    """
    if len(train) == 0:
        raise UserInputError("There are no rows to draw from. Give at least one.")
    present, condition = np.unique(train.condition, return_inverse=True)
    quota = allot(np.ones(len(present)), n, rng.random(len(present)))
    drawn = [
        _in_turn(np.flatnonzero(condition == place), size, rng)
        for place, size in enumerate(quota)
    ]
    return rng.permutation(np.concatenate(drawn))


def copies(train: Table, n: int, rng: np.random.Generator) -> Table:
    """Repeat real rows, classes evenly."""
    return train.take(even_rows(train, n, rng))


def jitter(train: Table, n: int, rng: np.random.Generator, scale: float = 0.3) -> Table:
    """Repeat real rows, classes evenly, with Gaussian noise on their numbers.

    Parameters
    ----------
    train : Table
        Rows to repeat; they also give the columns' standard deviations.
    n : int
        How many rows to make.
    rng : numpy.random.Generator
        Source of rows and noise.
    scale : float, default=0.3
        Standard deviation of the noise, in those of the column.

    Returns
    -------
    Table
        Categories, holes and targets are the repeated row's.
    """
    rows = copies(train, n, rng)
    deviation = NumberScale.of(train.numeric).deviation
    noise = rng.normal(size=(n, len(deviation))) * deviation * scale
    regenerate = np.zeros(rows.missing.shape, dtype=np.bool_)
    regenerate[:, train.schema.numeric] = True
    regenerate &= rows.missing == 0
    return rows.redrawn(regenerate, rows.numeric + noise, rows.categorical)


def bootstrap(real: Table, n: int, rng: np.random.Generator) -> Table:
    """Draw real rows with replacement, each equally likely."""
    return real.take(rng.integers(len(real), size=n))


def independent_columns(real: Table, n: int, rng: np.random.Generator) -> Table:
    """Draw every column, and the target, from its own marginal.

    Returns
    -------
    Table
        Rows that descend from no real row.
    """
    n_columns = len(real.cells)
    rows = rng.integers(len(real), size=(n_columns + 1, n))
    missing = np.take_along_axis(real.missing, rows[:n_columns].T, axis=0)
    return replace(
        real,
        cells=tuple(cell[row] for cell, row in zip(real.cells, rows, strict=False)),
        missing=missing,
        target=real.target[rows[-1]],
        origin=np.full(n, NO_ROW, dtype=np.int64),
        unseen_fold=np.full(n, NO_ROW, dtype=np.int64),
    )


def _in_turn(rows: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    n_rounds = -(-int(size) // len(rows))
    rounds = [rng.permutation(rows) for _ in range(n_rounds)]
    return np.concatenate([*rounds, rows[:0]])[:size]
