"""The verbs: what each stage must be able to do, one protocol per stage.

Reads from: domain, table.  Read by: loop, api, evaluate.

A stage is any object with the right methods; there is no base class to inherit.  What
a method promises beyond its types is tested for every implementation in
``tests/contracts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from tabtap.domain import Prediction
from tabtap.table.schema import BoolArray
from tabtap.table.table import Table


@runtime_checkable
class Inpainter(Protocol):
    """Redraws chosen cells of rows, given the cells that stay and the label."""

    def inpaint(
        self, anchors: Table, regenerate: BoolArray, rng: np.random.Generator
    ) -> Table:
        """Return the anchors with the cells redrawn where ``regenerate`` is true.

        Kept cells, targets and origins come back exactly as given.
        """


@runtime_checkable
class Evaluator(Protocol):
    """Answers queries from contexts: what a learner of these rows would predict."""

    @property
    def name(self) -> str:
        """The name it is asked for and reported by."""

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given.

        The targets of the queries are never read, nothing is remembered between calls,
        and the answer to a query does not depend on the queries beside it.
        """
