"""The verbs: what each stage must be able to do, one protocol per stage.

A stage is any object with the right methods; there is no base class to inherit.  What
a method promises beyond its types is tested for every implementation in
``tests/contracts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from tabtap.archive import Archive
from tabtap.domain import (
    Action,
    ActionOutcome,
    Admission,
    Baseline,
    Candidates,
    CommitRequest,
    Decision,
    Experience,
    Feedback,
    Figure,
    GateContext,
    LearnerState,
    Prediction,
    RefereeScores,
    StepRecord,
    Template,
    UtilityEstimate,
    WindowRecord,
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
class UnfittedInpainter(Protocol):
    """What an inpainter is before it has learned rows; copied for each lineage."""

    def fit(self, rows: Table, rng: np.random.Generator) -> Inpainter:
        """Return an inpainter that has learned these rows; it may be the object itself.

        The rows are those that one lineage may see.  Nothing else may be learned, and
        what one copy learns must not reach another.
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
class Labeller(Protocol):
    """Gives candidates their targets: those asked for, or a teacher's answers."""

    def label(self, candidates: Candidates) -> Candidates:
        """Return the same rows, each with the target it is to be learned with.

        They are of all lineages, which ``rows.unseen_fold`` tells; nothing that has
        seen a lineage's fold may decide about its rows.  Only targets, ``asked`` and
        ``scores`` may change.
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


@runtime_checkable
class SpreadingPolicy(ActionPolicy, Protocol):
    """A policy that can draw the actions of a batch with an eye on each other."""

    def spread(
        self, state: LearnerState, n_actions: int, rng: np.random.Generator
    ) -> list[Action]:
        """Draw several actions, each as ``sample`` does, their targets spread."""


@runtime_checkable
class Sensor(Protocol):
    """Reads the learner's state; remembers only how often rows passed."""

    def read(
        self, real: Table, committed: Table, pool: Table, uncertainty: FloatArray
    ) -> LearnerState:
        """Return the state before an action; ``uncertainty`` is per real row."""

    def noted(self, template: Template, n_passed: int, n_proposed: int) -> Sensor:
        """Return the sensor after rows of a template were judged."""


@runtime_checkable
class Critic(Protocol):
    """Says whether an action was better or worse than usual."""

    def judged(self, gain: float, n_admitted: int) -> tuple[Feedback, float, Critic]:
        """Return the feedback, the advantage, and the critic after it."""


@runtime_checkable
class Steering(Protocol):
    """Decides what to generate next and learns from it: policy, sensor and critic."""

    def decide(
        self,
        real: Table,
        committed: Table,
        pool: Table,
        uncertainty: FloatArray,
        rngs: Sequence[np.random.Generator],
    ) -> tuple[LearnerState, list[Action]]:
        """Return the state of the learner, and an action for each generator."""

    def learn(
        self, state: LearnerState, outcomes: Sequence[ActionOutcome]
    ) -> tuple[list[tuple[Feedback, float]], Steering]:
        """Return feedback and advantage of each action, and the steering after it."""

    def save(self) -> Archive:
        """Return what was learned as arrays, and lists and numbers for JSON."""

    def restore(self, saved: Archive) -> Steering:
        """Return the steering that was saved, to go on exactly as that one."""


@runtime_checkable
class Gatekeeper(Protocol):
    """Applies every gate in turn."""

    @property
    def needs_prediction(self) -> bool:
        """Whether a gate reads ``GateContext.prediction``."""

    def admit(self, candidates: Candidates, context: GateContext) -> Admission:
        """Return the candidates of one lineage that pass, and who refused the rest."""


@runtime_checkable
class Utility(Protocol):
    """Estimates what rows are worth: costly once per window, cheaper per step."""

    def baseline(self, committed: Table) -> Baseline:
        """Answer the real rows from the committed table."""

    def gains(
        self, baseline: Baseline, added: Sequence[Table]
    ) -> list[UtilityEstimate]:
        """Estimate the gain of each of several sets of rows."""

    def foresee(self, rows: Table) -> Prediction | None:
        """Predict candidates without their real ancestors; None for no rows."""


@runtime_checkable
class Referee(Protocol):
    """Scores the real rows, each without itself, beside synthetic rows."""

    @property
    def name(self) -> str:
        """Who scores, by what."""

    @property
    def learners(self) -> Mapping[str, str]:
        """Class, settings and version of every learner that is asked."""

    def scores(
        self, synthetic: Table, only: Sequence[str] | None = None
    ) -> RefereeScores:
        """Return a score of every real row by each learner, or by some of them."""

    def figures(
        self,
        best_alone: Sequence[FloatArray],
        without: Sequence[FloatArray],
        with_rows: Sequence[FloatArray],
    ) -> tuple[Figure, ...]:
        """Return the figures that people read, of these answers."""


@runtime_checkable
class Commitment(Protocol):
    """Decides whether a pool enters the training table."""

    def check(self, request: CommitRequest) -> Decision:
        """Return what was decided, and about which rows of the pool."""


class Observer(Protocol):
    """Sees values, cannot change the run."""

    def on_step(self, record: StepRecord) -> None:
        """One action was taken and judged."""

    def on_window(self, record: WindowRecord) -> None:
        """One pool was checked."""
