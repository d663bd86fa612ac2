"""The leaves of a forest as boxes with real rows in them.

Leaves of all trees are numbered together.  A leaf with too few real rows is pruned: its
rows go where the other side of the split above it sends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.ensemble import RandomForestClassifier

from tabtap.table.schema import BoolArray, FloatArray, IntArray

_LEAST = 1e-12
"""Probability below which no number is drawn; 0 would be infinitely far away."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Every leaf of a forest and what real rows are like in it."""

    cells: FloatArray
    """Real rows, shape (n_rows, n_columns): numbers, NaN where missing, and codes."""

    leaf_of: IntArray
    """Leaf of every real row in every tree, shape (n_trees, n_rows)."""

    order: IntArray
    """Row numbers, leaf after leaf."""

    start: IntArray
    """Where the rows of each leaf begin in ``order``."""

    count: IntArray
    """Real rows in each leaf."""

    low: FloatArray
    high: FloatArray
    """Borders of each leaf, shape (n_leaves, n_numbers); infinite where there is none.
    """

    mean: FloatArray
    deviation: FloatArray
    """Of the numbers in each leaf that are not missing, shape (n_leaves, n_numbers)."""

    @classmethod
    def of(
        cls,
        forest: RandomForestClassifier,
        cells: FloatArray,
        is_number: BoolArray,
        min_node_size: int,
    ) -> Leaves:
        """Put the real rows into the leaves of a forest."""
        # Trees compare single precision with double: so must whoever follows them.
        features = features_of(cells, is_number, holed(cells)).astype(np.float32)
        n_numbers = int(is_number.sum())
        leaf_of = np.empty((len(forest.estimators_), len(cells)), dtype=np.int64)
        found: list[_Leaf] = []
        for number, estimator in enumerate(forest.estimators_):
            for leaf in _pruned_leaves(
                estimator.tree_, features, n_numbers, min_node_size
            ):
                leaf_of[number, leaf.rows] = len(found)
                found.append(leaf)
        count = np.array([len(leaf.rows) for leaf in found])
        mean, deviation = _moments(cells[:, is_number], leaf_of, len(found))
        return cls(
            cells=cells,
            leaf_of=leaf_of,
            order=np.concatenate([leaf.rows for leaf in found]),
            start=np.cumsum(count) - count,
            count=count,
            low=np.stack([leaf.low for leaf in found]),
            high=np.stack([leaf.high for leaf in found]),
            mean=mean,
            deviation=deviation,
        )

    def draw(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw leaves, each as often as real rows fall into it."""
        n_trees, n_rows = self.leaf_of.shape
        tree, row = rng.integers(n_trees, size=n), rng.integers(n_rows, size=n)
        return np.asarray(self.leaf_of[tree, row])

    def resample(self, drawn: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return rows whose cells are each some real row's of the same leaf."""
        shape = (len(drawn), self.cells.shape[1])
        count = self.count[drawn][:, None]
        within = np.floor(rng.random(shape) * count).astype(np.int64)
        row = self.order[self.start[drawn][:, None] + within]
        return np.take_along_axis(self.cells, row, axis=0)

    def numbers(self, drawn: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw numbers from normal distributions truncated to the borders."""
        mean, deviation = self.mean[drawn], self.deviation[drawn]
        spread = np.where(deviation > 0, deviation, 1.0)
        below = ndtr((self.low[drawn] - mean) / spread)
        upto = ndtr((self.high[drawn] - mean) / spread)
        place = below + rng.random(mean.shape) * (upto - below)
        score = ndtri(np.clip(place, _LEAST, 1 - _LEAST))
        return np.asarray(np.where(deviation > 0, mean + score * spread, mean))


def holed(cells: FloatArray) -> BoolArray:
    """Tell which columns have holes."""
    return np.asarray(np.isnan(cells).any(axis=0))


def features_of(
    cells: FloatArray, is_number: BoolArray, has_holes: BoolArray
) -> FloatArray:
    """Return cells as a forest reads them: without holes, which get a column each."""
    holes = np.isnan(cells)
    marks = holes[:, has_holes & is_number]
    return np.hstack([np.where(holes, 0.0, cells), marks])


class _Leaf(NamedTuple):
    """Real rows that end up together, and the borders that brought them there."""

    rows: IntArray
    low: FloatArray
    high: FloatArray


def _pruned_leaves(
    tree: Any,  # noqa: ANN401  scikit-learn has no types
    features: NDArray[np.float32],
    n_numbers: int,
    min_node_size: int,
) -> Iterator[_Leaf]:
    """Send rows down a tree; a split that would leave too few on a side is skipped."""
    column, threshold = tree.feature, tree.threshold
    sides = np.stack([tree.children_left, tree.children_right], axis=1)
    border = np.full(n_numbers, np.inf)
    todo = [(0, _Leaf(np.arange(len(features)), -border, border))]
    while todo:
        node, here = todo.pop()
        if sides[node, 0] < 0:
            yield here
            continue
        is_right = features[here.rows, column[node]] > threshold[node]
        n_right = int(is_right.sum())
        n_left = len(is_right) - n_right
        if min(n_left, n_right) < min_node_size:
            todo.append((int(sides[node, int(n_right > n_left)]), here))
            continue
        low, high = here.low, here.high
        if column[node] < n_numbers:
            low, high = low.copy(), high.copy()
            low[column[node]] = high[column[node]] = threshold[node]
        todo += [
            (int(sides[node, 0]), _Leaf(here.rows[~is_right], here.low, high)),
            (int(sides[node, 1]), _Leaf(here.rows[is_right], low, here.high)),
        ]


def _moments(
    numbers: FloatArray, leaf_of: IntArray, n_leaves: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation in every leaf; 0 where all are missing."""
    n_trees = len(leaf_of)
    shape = (n_leaves, numbers.shape[1])
    total, squares, count = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    present = ~np.isnan(numbers)
    filled = np.where(present, numbers, 0.0)
    for tree in range(n_trees):
        np.add.at(count, leaf_of[tree], present)
        np.add.at(total, leaf_of[tree], filled)
    mean = total / np.maximum(count, 1)
    for tree in range(n_trees):
        off = np.where(present, filled - mean[leaf_of[tree]], 0.0)
        np.add.at(squares, leaf_of[tree], off**2)
    # With n - 1, as for any sample; a leaf of one number has no spread.
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    return mean, deviation
