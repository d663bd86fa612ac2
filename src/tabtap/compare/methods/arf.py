"""Adversarial random forests: leaves in which columns are independent of each other.

Watson, Blesch, Kapar and Wright, "Adversarial random forests for density estimation and
generative modeling", AISTATS 2023.  Written from the paper; the defaults are those of
its Python package.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from tabtap.compare.methods.forest import Leaves, features_of, holed
from tabtap.compare.methods.joint import joined, parted, whole_rows
from tabtap.errors import bad_setting
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

    def __post_init__(self) -> None:
        for name, least in (("n_trees", 1), ("min_node_size", 1), ("max_rounds", 0),
                            ("smoothing", 0)):  # fmt: skip
            if getattr(self, name) < least:
                must = f"be at least {least}"
                raise bad_setting(name, getattr(self, name), must, "Leave it out.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "ARF"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn jointly with the rest."""
        joint = joined(train)
        scale = NumberScale.of(joint.numeric)
        cells = np.hstack([scale.standardise(joint.numeric), joint.categorical])
        is_number = np.arange(cells.shape[1]) < joint.numeric.shape[1]
        with watch.running("fit"):
            leaves = self._fit(cells, is_number, rng)
        with watch.running("sample"):
            drawn = self._sample(leaves, is_number, n, rng)
            numbers = scale.restore(drawn[:, is_number])
            codes = drawn[:, ~is_number].astype(np.int32)
            return parted(whole_rows(joint.schema, numbers, codes), train)

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
        rows = features_of(np.vstack([real, fake]), is_number, holed(real))
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
        return self._smoothed(cells, leaves, drawn, is_number, rng)

    def _smoothed(
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
        for place in np.flatnonzero(~is_number):
            seen = np.unique(leaves.cells[:, place])
            extra = self.smoothing * len(seen)
            any_level = rng.random(len(cells)) < extra / (n_rows + extra)
            guess = rng.choice(seen, size=len(cells))
            cells[:, place] = np.where(any_level, guess, cells[:, place])
        return cells
