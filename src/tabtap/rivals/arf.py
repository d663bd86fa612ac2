"""Adversarial random forests: leaves in which columns are independent of each other.

Watson, Blesch, Kapar and Wright, "Adversarial random forests for density estimation and
generative modeling", AISTATS 2023.  Written from the paper; the defaults are those of
its Python package.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.ensemble import RandomForestClassifier

from tabtap.errors import bad_setting
from tabtap.rivals.matrices import join_target, split_target, whole_rows
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NumberScale, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ARF:
    """Draw a leaf of an adversarial random forest, then every cell for itself.

    Numbers come from a normal distribution truncated to the leaf, categories from the
    leaf's frequencies.  The target is one more column, and a hole one more value: a
    leaf has its share of them.
    """

    n_trees: int = 30
    """Trees of each forest."""

    min_node_size: int = 5
    """Least real rows of a leaf; smaller ones are joined with their neighbours."""

    tolerance: float = 0.0
    """How far above a half the forest's accuracy may end; the paper's delta."""

    max_rounds: int = 10
    """Most forests after the first one."""

    smoothing: float = 0.0
    """Rows that are added to each level of a category in each leaf."""

    name: ClassVar[str] = "ARF"

    def __post_init__(self) -> None:
        for name, least in (("n_trees", 1), ("min_node_size", 1), ("max_rounds", 0),
                            ("smoothing", 0)):  # fmt: skip
            if getattr(self, name) < least:
                must = f"be at least {least}"
                raise bad_setting(name, getattr(self, name), must, "Leave it out.")

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn jointly with the rest."""
        joint = join_target(train)
        scale = NumberScale.of(joint.numeric)
        cells = np.hstack([scale.standardise(joint.numeric), joint.categorical])
        is_number = np.arange(cells.shape[1]) < joint.numeric.shape[1]
        with watch.running("fit"):
            leaves = self._fit(cells, is_number, rng)
        with watch.running("sample"):
            drawn = self._sample(leaves, is_number, n, rng)
            numbers = scale.restore(drawn[:, is_number])
            codes = drawn[:, ~is_number].astype(np.int32)
            return split_target(whole_rows(joint.schema, numbers, codes), train)

    def _fit(
        self, cells: FloatArray, is_number: BoolArray, rng: np.random.Generator
    ) -> Leaves:
        """Grow forests until one cannot tell rows of its predecessor's leaves."""
        shuffled = np.take_along_axis(cells, rng.integers(len(cells), size=cells.shape),
                                      axis=0)  # fmt: skip
        forest, accuracy = self._discriminator(cells, shuffled, is_number, rng)
        leaves = self._leaves(forest, cells, is_number)
        for _ in range(self.max_rounds):
            if accuracy <= 0.5 + self.tolerance:
                break
            drawn = leaves.draw(len(cells), rng)
            fake = leaves.resample(drawn, rng)
            forest, new = self._discriminator(cells, fake, is_number, rng)
            if new <= 0.5 + self.tolerance or new >= accuracy:
                # These leaves pass for real, or another round would not help.
                break
            accuracy, leaves = new, self._leaves(forest, cells, is_number)
        return leaves

    def _leaves(
        self, forest: RandomForestClassifier, cells: FloatArray, is_number: BoolArray
    ) -> Leaves:
        return Leaves.of(forest, cells, is_number, self.min_node_size)

    def _discriminator(
        self,
        real: FloatArray,
        fake: FloatArray,
        is_number: BoolArray,
        rng: np.random.Generator,
    ) -> tuple[RandomForestClassifier, float]:
        """Return a forest that tells real from fake rows, and how well it does."""
        forest = RandomForestClassifier(
            self.n_trees,
            min_samples_leaf=self.min_node_size,
            oob_score=True,
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        rows = features_of(np.vstack([real, fake]), is_number, have_holes(real))
        label = np.repeat([1, 0], [len(real), len(fake)])
        with warnings.catch_warnings():
            # Few trees leave a row without a tree that has not seen it; no matter.
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB")
            forest.fit(rows, label)
        return forest, float(forest.oob_score_)

    def _sample(
        self, leaves: Leaves, is_number: BoolArray, n: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw leaves as often as real rows fall into them, then cell by cell."""
        drawn = leaves.draw(n, rng)
        cells = leaves.resample(drawn, rng)
        numbers = leaves.numbers(drawn, rng)
        # A cell was drawn as a hole as often as the leaf has them.
        hole = np.isnan(cells[:, is_number])
        cells[:, is_number] = np.where(hole, np.nan, numbers)
        return self._smooth_categories(cells, leaves, drawn, is_number, rng)

    def _smooth_categories(
        self,
        cells: FloatArray,
        leaves: Leaves,
        drawn: IntArray,
        is_number: BoolArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw some categories from all that were seen, as the smoothing asks for."""
        if self.smoothing == 0:
            return cells
        n_rows = leaves.count[drawn]
        for column in np.flatnonzero(~is_number):
            seen = np.unique(leaves.cells[:, column])
            extra = self.smoothing * len(seen)
            any_level = rng.random(len(cells)) < extra / (n_rows + extra)
            guess = rng.choice(seen, size=len(cells))
            cells[:, column] = np.where(any_level, guess, cells[:, column])
        return cells


# ---- The leaves of a forest as boxes with real rows in them.
#
# Leaves of all trees are numbered together. A leaf with too few real rows is pruned:
# its rows go where the other side of the split above it sends them.


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
        features = features_of(cells, is_number, have_holes(cells)).astype(np.float32)
        n_numbers = int(is_number.sum())
        leaf_of = np.empty((len(forest.estimators_), len(cells)), dtype=np.int64)
        all_leaves: list[_Leaf] = []
        for number, estimator in enumerate(forest.estimators_):
            for leaf in _pruned_leaves(
                estimator.tree_, features, n_numbers, min_node_size
            ):
                leaf_of[number, leaf.rows] = len(all_leaves)
                all_leaves.append(leaf)
        count = np.array([len(leaf.rows) for leaf in all_leaves])
        mean, deviation = _moments(cells[:, is_number], leaf_of, len(all_leaves))
        return cls(
            cells=cells,
            leaf_of=leaf_of,
            order=np.concatenate([leaf.rows for leaf in all_leaves]),
            start=np.cumsum(count) - count,
            count=count,
            low=np.stack([leaf.low for leaf in all_leaves]),
            high=np.stack([leaf.high for leaf in all_leaves]),
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
        quantile = below + rng.random(mean.shape) * (upto - below)
        score = ndtri(np.clip(quantile, _LEAST, 1 - _LEAST))
        return np.asarray(np.where(deviation > 0, mean + score * spread, mean))


def have_holes(cells: FloatArray) -> BoolArray:
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
