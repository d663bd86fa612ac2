"""Methods that learn nothing: no rows, repeated rows, and rows between rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.compare.controls import copies, jitter
from tabtap.compare.smote import smote
from tabtap.errors import bad_setting
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """Add nothing."""

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "Real"

    def make(
        self,
        train: Table,
        n: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        watch: Stopwatch,  # noqa: ARG002
    ) -> Table:
        """Return no rows."""
        return train.empty()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Repeat real rows, classes or target bins evenly."""

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "Copies"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` real rows; each knows which one it is."""
        with watch.running("sample"):
            return copies(train, n, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jitter:
    """Repeat real rows, classes or target bins evenly, with noise on their numbers."""

    scale: float = 0.3
    """Standard deviation of the noise, in those of the column."""

    def __post_init__(self) -> None:
        if not self.scale >= 0:
            raise bad_setting("scale", self.scale, "not be negative", "Try 0.3.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "Jitter"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows that each know the real row they were made from."""
        with watch.running("sample"):
            return jitter(train, n, rng, self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class SMOTE:
    """Interpolate between neighbours of one class, classes or target bins evenly.

    Chawla et al. 2002, by imbalanced-learn; numbers and categories together, few rows
    and regression as in appendix D.3 of the paper.  A missing number is interpolated
    as its column's mean, so that new rows have no holes among their numbers.
    """

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "SMOTE"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows; the only row of a class is repeated as it is."""
        with watch.running("sample"):
            return smote(train, n, rng)
