"""What an observer is told, and what a run remembers of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tabtap.domain.control import Action, Feedback, LearnerState
from tabtap.domain.judgement import Certificate


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
