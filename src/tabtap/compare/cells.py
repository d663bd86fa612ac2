"""A cell of a comparison: one table, so many rows, one split, one method."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_N_DIGITS = 12
"""Of the hash of what a cell is, in its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all methods of a comparison are given alike."""

    budget: int = 500
    """Synthetic rows that a method may add."""

    seed: int = 0
    """Of the splits and of every method."""

    variant: str = "study"
    """What ``n_real`` means; see ``compare.protocol``."""

    predictors: tuple[str, ...] = ()
    """Who is trained on the rows; none named means all of the task's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is to be done; two cells of equal keys are the same work.

    Examples
    --------
    >>> cell = Cell(dataset="credit-g", n_real=20, split=0, method="SMOTE")
    >>> cell.key.rpartition("-")[0]
    'credit-g-20-0-smote'
    """

    dataset: str
    n_real: int
    split: int
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method, where they differ from its own."""

    terms: Terms = field(default_factory=Terms)

    @property
    def key(self) -> str:
        """A name for files: readable, and with a hash of all that a cell is."""
        text = json.dumps(self.written(), sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:_N_DIGITS]
        words = f"{self.dataset}-{self.n_real}-{self.split}-{self.method}"
        return f"{re.sub(r'[^a-z0-9]+', '-', words.lower())}-{digest}"

    def written(self) -> dict[str, Any]:
        """Return the cell as a record keeps it."""
        return {
            "dataset": self.dataset,
            "n_real": self.n_real,
            "split": self.split,
            "method": self.method,
            "settings": dict(self.settings),
            **asdict(self.terms),
            "predictors": list(self.terms.predictors),
        }


def without(cells: Sequence[Cell], keys: set[str]) -> list[Cell]:
    """Return the cells whose keys are not among some."""
    return [cell for cell in cells if cell.key not in keys]
