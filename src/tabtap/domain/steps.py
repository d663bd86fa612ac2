"""What the policy sees and decides, what gates are shown, what observers are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from tabtap.domain.judgement import Certificate
from tabtap.domain.prediction import Prediction
from tabtap.domain.rows import Candidates
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.table.table import Table


class Template(str, Enum):
    """Which columns an action may redraw; the paper's eta."""

    EXPLORE = "explore"
    """All of them."""

    CONSERVATIVE = "conservative"
    """All but the important ones."""


TEMPLATES = tuple(Template)
"""In the order in which states and policies count them."""


class Feedback(int, Enum):
    """What an action turned out to be; the paper's z."""

    DESIRABLE = 1
    UNDESIRABLE = -1
    NONE = 0
    """Too small to tell: nothing is learned from it."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnerState:
    """How the learner stands before an action (equation 16); all of it scale-free."""

    deficit: FloatArray
    """Shape (n_targets,): share wanted minus share held of each class or bin."""

    uncertainty: FloatArray
    """Shape (n_targets,): the evaluator's mean uncertainty of real rows, in [0, 1]."""

    pass_rate: FloatArray
    """Shape (n_templates,): recent share of rows that passed the gates."""

    novelty: float
    """How far the pool is from the rows held, in [0, 1); grows with distance."""

    available: BoolArray
    """Shape (n_targets,): whether a target has a real row; others are never chosen."""

    def vector(self) -> FloatArray:
        """Return what the policy network reads, in one row."""
        parts = (self.deficit, self.uncertainty, self.pass_rate, [self.novelty])
        return np.concatenate([np.asarray(part, np.float64) for part in parts])


@dataclass(frozen=True, slots=True)
class Action:
    """What to generate next (equation 10)."""

    target: int
    """Class code or target bin; the paper's c."""

    template: Template

    exploration: float
    """Share of the template's free columns that is redrawn, in [0, 1]; rho."""

    raw_exploration: float
    """The same before it was clamped: where its density is taken."""


class ActionOutcome(NamedTuple):
    """What came of an action: rows that passed the gates, of how many, and the gain."""

    action: Action
    n_passed: int
    n_proposed: int
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Experience:
    """One action with the state it was taken in and what came of it."""

    state: LearnerState
    action: Action
    feedback: Feedback


# ---- What a gate may look at besides the candidates, and what the gates decide.


@dataclass(frozen=True, slots=True, eq=False)
class GateContext:
    """One lineage's view of the rows that exist."""

    real: Table
    """The real rows that the lineage has seen."""

    kept: Table
    """Synthetic rows of the lineage that were committed or are in the pool."""

    prediction: Prediction | None = None
    """What an evaluator that has not seen their anchors says of the candidates."""

    residuals: FloatArray | None = None
    """Regression: out-of-fold residual magnitudes of the real rows, standardised."""


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """What the gates made of some candidates."""

    admitted: Candidates
    """With ``scores``: what gates measured of each row, a probability or a distance."""

    refused: Mapping[str, int]
    """Candidates refused, by the first gate that did, in the order of the gates."""


# ---- What an observer is told, and what a run remembers of itself.


@dataclass(frozen=True, slots=True, eq=False)
class StepRecord:
    """One action and what came of it."""

    step: int
    window: int
    state: LearnerState
    action: Action
    n_proposed: int
    refused: Mapping[str, int]
    """Rows refused, by the first gate that did."""

    n_admitted: int
    gain: float
    """Estimated gain of the admitted rows; NaN if there were none or nobody asked."""

    advantage: float
    feedback: Feedback


@dataclass(frozen=True, slots=True, eq=False)
class WindowRecord:
    """One commitment check and where the run stands after it."""

    certificate: Certificate
    n_committed: int
    """Delivered rows committed so far."""

    budget: int
    seconds: float
    """Since the run began."""

    seconds_left: float
    """Until the budget is reached, if windows go on passing at this pace."""
