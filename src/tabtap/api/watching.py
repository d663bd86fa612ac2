"""Who is told what happens during a run, from learning the table to the last window.

An observer has ``on_step`` and ``on_window``; ``on_training`` and ``on_plan`` if it
cares for what comes before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tabtap.diffusion.train import TrainingProgress
from tabtap.domain import StepRecord, WindowRecord
from tabtap.stages import Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """How far a run may go and where it begins, once the table is learned."""

    n_steps: int
    """Most actions that are taken."""

    window_length: int
    """Actions between two checks."""

    budget: int
    """Most rows that are added."""

    n_windows: int
    """Windows that an earlier sitting has done; 0 for a fresh start."""

    n_committed: int
    """Rows that they have brought."""


@runtime_checkable
class TrainingWatcher(Protocol):
    """An observer that also sees how the table is learned."""

    def on_training(self, progress: TrainingProgress) -> None:
        """Take note of how far the training is."""


@runtime_checkable
class PlanWatcher(Protocol):
    """An observer that is also told how far the run may go."""

    def on_plan(self, plan: RunPlan) -> None:
        """Take note of how far the run may go; windows begin."""


@dataclass(frozen=True, slots=True)
class Watchers:
    """Several observers as one; each is told what it has ears for."""

    observers: tuple[Observer, ...]

    def on_training(self, progress: TrainingProgress) -> None:
        """Take note of how far the training is."""
        for observer in self.observers:
            if isinstance(observer, TrainingWatcher):
                observer.on_training(progress)

    def on_plan(self, plan: RunPlan) -> None:
        """Take note of how far the run may go; windows begin."""
        for observer in self.observers:
            if isinstance(observer, PlanWatcher):
                observer.on_plan(plan)

    def on_step(self, record: StepRecord) -> None:
        """One action was taken and judged."""
        for observer in self.observers:
            observer.on_step(record)

    def on_window(self, record: WindowRecord) -> None:
        """One pool was checked."""
        for observer in self.observers:
            observer.on_window(record)
