"""The verbs: what each stage must be able to do, one protocol per stage.

Reads from: domain, table.  Read by: loop, api, and the stages themselves.

A stage is any object with the right methods; there is no base class to inherit.  What
a method promises beyond its types is tested for every implementation in
``tests/contracts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from tabtap.domain import (
    Action,
    Candidates,
    Experience,
    GateContext,
    LearnerState,
    Prediction,
)
from tabtap.table.schema import BoolArray, FloatArray
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


@runtime_checkable
class Proposer(Protocol):
    """Turns actions into candidate rows, for every lineage."""

    def propose(
        self,
        real: Table,
        committed: Table,
        hardness: FloatArray,
        actions: Sequence[Action],
        rngs: Sequence[np.random.Generator],
    ) -> list[Candidates]:
        """Return the candidates of each action, in the order given.

        ``hardness`` has one entry per real row.  Each action has a generator of its
        own: what it draws does not depend on the actions beside it.
        """


@runtime_checkable
class Gate(Protocol):
    """Refuses rows: a bad row is a False, never an error."""

    @property
    def name(self) -> str:
        """What refusals are counted under."""

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return one verdict per row; a row's does not depend on its company."""


@runtime_checkable
class ActionPolicy(Protocol):
    """Decides what to generate next."""

    def sample(self, state: LearnerState, rng: np.random.Generator) -> Action:
        """Draw an action; targets that are not available are never drawn."""

    def log_prob(self, state: LearnerState, action: Action) -> float:
        """Return the log density of an action, before clamping."""

    def improved(self, experience: Sequence[Experience]) -> ActionPolicy:
        """Return the policy after learning from a batch; this one stays as it is."""
