"""Which columns a column depends on: a sparse graph without cycles.

SPADA asks a language model for the graph.  Here it is found in the rows, or given by
the user.  Columns are put in order, the target first and then whatever depends most on
one already placed; a column's parents are those before it that improve the BIC of a
linear model of it.  Numbers enter as normal scores of their ranks, categories as
indicators of their levels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from tabtap.errors import UserInputError
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table

Parents = tuple[tuple[int, ...], ...]
"""For every column the columns it depends on, by their positions."""

_MOST_LEVELS = 8
"""Levels of a category that the search for parents tells apart."""

_MOST_CANDIDATES = 12
"""Columns that are tried as parents of one, those first that fit best alone."""

_RIDGE = 1e-3
"""Share of its variance that no column can have explained."""


def find_parents(joint: Table, first: int | None, most: int) -> Parents:
    """Find the parents of every column in the rows.

    Parameters
    ----------
    joint : Table
        Rows without a target; see ``joined``.
    first : int or None
        Position of the column that has no parents, the target's; None: the one that
        most depends on the others.
    most : int
        Most parents of a column.
    """
    blocks = [_block(joint, position) for position in range(len(joint.cells))]
    fit = _Fit(blocks, len(joint))
    gains = fit.pairwise()
    start = int(np.argmax(gains.sum(axis=1))) if first is None else first
    order = _strongest_first(gains, start)
    parents: list[tuple[int, ...]] = [()] * len(blocks)
    for place, child in enumerate(order):
        before = order[:place]
        likely = sorted(before, key=lambda one: -gains[child, one])
        parents[child] = fit.parents(child, likely[:_MOST_CANDIDATES], most)
    return tuple(parents)


def given_parents(
    names: Sequence[Hashable], graph: Mapping[Hashable, Sequence[Hashable]]
) -> Parents:
    """Return the user's graph by positions, or raise what is wrong with it."""
    place = {name: position for position, name in enumerate(names)}
    mentioned = [*graph, *(parent for some in graph.values() for parent in some)]
    if unknown := [name for name in mentioned if name not in place]:
        raise UserInputError(
            f"The graph names a column {unknown[0]!r} that the table does not have. "
            f"Use names of columns: {', '.join(map(repr, names[:6]))}"
            f"{', ...' if len(names) > 6 else '.'}"
        )
    return tuple(
        tuple(place[parent] for parent in dict.fromkeys(graph.get(name, ())))
        for name in names
    )


def generation_order(parents: Parents, names: Sequence[Hashable]) -> list[int]:
    """Return the columns, each after its parents; raise if the graph has a cycle."""
    order: list[int] = []
    placed: set[int] = set()
    left = list(range(len(parents)))
    while left:
        ready = [child for child in left if placed.issuperset(parents[child])]
        if not ready:
            named = ", ".join(repr(names[child]) for child in left[:4])
            raise UserInputError(
                f"The graph has a cycle among or above {named}. "
                "Remove one of its dependencies."
            )
        order += ready
        placed.update(ready)
        left = [child for child in left if child not in placed]
    return order


def _strongest_first(gains: FloatArray, start: int) -> list[int]:
    """Put columns in order, each time the one that most depends on one placed."""
    best = gains[start].copy()
    best[start] = -np.inf
    order = [start]
    for _ in range(len(gains) - 1):
        child = int(np.argmax(best))
        order.append(child)
        best = np.where(np.isneginf(best), best, np.maximum(best, gains[child]))
        best[child] = -np.inf
    return order


class _Fit:
    """Linear models of columns given others, from one matrix of correlations."""

    def __init__(self, blocks: Sequence[FloatArray], n_rows: int) -> None:
        joint = np.hstack([*blocks, np.zeros((n_rows, 0))])
        ends = np.cumsum([block.shape[1] for block in blocks])
        self._n_rows = n_rows
        self._places: list[IntArray] = [
            np.arange(end - block.shape[1], end)
            for block, end in zip(blocks, ends, strict=True)
        ]
        self._covariance = joint.T @ joint / n_rows
        self._covariance[np.diag_indices_from(self._covariance)] += _RIDGE

    def gain(self, child: int, parents: Sequence[int], known: Sequence[int]) -> float:
        """Return how much log-likelihood, less its price, parents bring."""
        own = self._places[child]
        more = sum(len(self._places[one]) for one in parents)
        if len(own) == 0 or more == 0:
            return 0.0
        price = 0.5 * math.log(self._n_rows) * len(own) * more
        unexplained = self._log_variance(child, (*known, *parents))
        fall = self._log_variance(child, known) - unexplained
        return 0.5 * self._n_rows * fall - price

    def pairwise(self) -> FloatArray:
        """Return what every column brings for every other one; both ways the same."""
        n_columns = len(self._places)
        gains = np.zeros((n_columns, n_columns))
        sizes = np.array([len(place) for place in self._places])
        for child in range(n_columns):
            for parent in range(child):
                if sizes[child] > 1 or sizes[parent] > 1:
                    gain = self.gain(child, (parent,), ())
                    gains[child, parent] = gains[parent, child] = gain
        # Single numbers, of which there may be hundreds, all at once.
        single = np.flatnonzero(sizes == 1)
        places = np.array([self._places[one][0] for one in single], dtype=np.int64)
        common = self._covariance[np.ix_(places, places)]
        own = np.diag(common)
        left = own[:, None] - common**2 / own + _RIDGE
        np.fill_diagonal(left, 1.0)
        fall = np.log(own + _RIDGE)[:, None] - np.log(left)
        price = 0.5 * math.log(self._n_rows)
        gains[np.ix_(single, single)] = 0.5 * self._n_rows * fall - price
        np.fill_diagonal(gains, 0.0)
        return gains

    def parents(
        self, child: int, candidates: Sequence[int], most: int
    ) -> tuple[int, ...]:
        """Add the best candidate again and again, as long as the BIC gains."""
        chosen: tuple[int, ...] = ()
        left = list(candidates)
        while left and len(chosen) < most:
            gains = [self.gain(child, (one,), chosen) for one in left]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            chosen = (*chosen, left.pop(best))
        return chosen

    def _log_variance(self, child: int, given: Sequence[int]) -> float:
        own, all_of = self._places[child], self._covariance
        rest = all_of[np.ix_(own, own)]
        if given:
            used = np.concatenate([self._places[one] for one in given])
            cross = all_of[np.ix_(used, own)]
            rest = rest - cross.T @ np.linalg.solve(all_of[np.ix_(used, used)], cross)
        floor = _RIDGE * np.eye(len(own))
        return float(np.linalg.slogdet(rest + floor)[1])


def _block(joint: Table, position: int) -> FloatArray:
    """Return a column as standardised numbers, a few for a category; holes are 0."""
    cells, hole = joint.cells[position], joint.missing[:, position] > 0
    kind = joint.schema.features[position].kind
    if kind.is_numeric:
        marks = hole[:, None].astype(np.float64)
        return _standard(np.hstack([_scores(cells, hole)[:, None], marks]))
    if not kind.is_categorical:
        return np.zeros((len(cells), 0))
    codes = np.where(hole, -1, cells)
    levels, counts = np.unique(codes, return_counts=True)
    # One level less than there are: the last follows from the others.
    kept = levels[np.argsort(-counts, kind="stable")][: len(levels) - 1]
    return _standard((codes[:, None] == kept[:_MOST_LEVELS]).astype(np.float64))


def _scores(cells: FloatArray, hole: BoolArray) -> FloatArray:
    scores = np.zeros(len(cells))
    if len(seen := cells[~hole]):
        scores[~hole] = ndtri((rankdata(seen) - 0.5) / len(seen))
    return scores


def _standard(block: FloatArray) -> FloatArray:
    block = block - block.mean(axis=0)
    spread = block.std(axis=0)
    return np.asarray((block / np.where(spread > 0, spread, 1.0))[:, spread > 0])
