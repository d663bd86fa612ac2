"""Who is told what happens during a run, and how people who wait for it are told.

An observer has ``on_step`` and ``on_window``; ``on_training`` and ``on_plan`` if it
cares for what comes before.  Lines go to the error stream; in a notebook two lines are
drawn over and over, by the IPython that is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from tabtap.diffusion.train import TrainingProgress
from tabtap.domain import StepRecord, WindowRecord
from tabtap.errors import bad_setting
from tabtap.stages import Observer
from tabtap.wording import time_words


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

    teacher: str = ""
    """Who gives rows their targets, as a sentence."""


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


# ---- In lines on the error stream, for people who set verbose.


_TOLD_EVERY = 20
"""Steps of training between two tellings."""


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class Narrator:
    """Tells what happens: 1 a line per window, 2 a line per step as well."""

    verbose: int = 1
    write: Callable[[str], None] = _write

    def say(self, line: str) -> None:
        """Write a line if anything is to be said at all."""
        if self.verbose:
            self.write(f"[tabtap] {line}")

    def on_training(self, progress: TrainingProgress) -> None:
        """Say how far the training is, at every quarter."""
        share = progress.step / progress.n_steps
        before = (progress.step - _TOLD_EVERY) / progress.n_steps
        if int(4 * share) > int(4 * before):
            left = f"{progress.seconds_left:.0f} s to go"
            self.say(f"learned {share:.0%} of the steps, at most {left}")

    def on_plan(self, plan: RunPlan) -> None:
        """Say whether an earlier sitting is taken up."""
        if plan.teacher:
            self.say(f"teacher: {plan.teacher}")
        if plan.n_windows:
            self.say(f"going on after {plan.n_windows} windows of an earlier sitting")

    def on_step(self, record: StepRecord) -> None:
        """One action was taken and judged."""
        if self.verbose > 1:
            action = record.action
            self.say(
                f"step {record.step + 1}: target {action.target}, "
                f"{action.template.value}, exploration {action.exploration:.2f}, "
                f"{record.n_admitted} of {record.n_proposed} rows admitted, "
                f"gain {record.gain:.4g}"
            )

    def on_window(self, record: WindowRecord) -> None:
        """One pool was checked."""
        certificate = record.certificate
        decision = "committed" if certificate.committed else "refused"
        self.say(
            f"window {certificate.window + 1} {decision}: {certificate.reason}. "
            f"{record.n_committed} of {record.budget} rows after "
            f"{record.seconds:.0f} s{_left(record)}"
        )


def _left(record: WindowRecord) -> str:
    return f", at most {record.seconds_left:.0f} s to go" if record.seconds_left else ""


# ---- In a notebook: two lines that are drawn over and over.


def narrator_for(verbose: int | str) -> Narrator | NotebookProgress:
    """Return who tells of a run: nobody, lines, or a display where there is one."""
    if isinstance(verbose, str) and verbose != "auto":
        raise bad_setting("verbose", verbose, "be 'auto', 0, 1 or 2", "Try 1.")
    live = verbose in ("auto", 1)
    if live and in_notebook():
        return NotebookProgress()
    return Narrator(0 if isinstance(verbose, str) else int(verbose))


def in_notebook() -> bool:
    """Tell whether what is displayed is seen in a notebook; nothing is imported."""
    asked = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return asked is not None and hasattr(asked(), "kernel")


@dataclass(slots=True, eq=False, repr=False)
class NotebookProgress:
    """Where a run stands, as a notebook shows it."""

    plan: RunPlan | None = None
    share: float = 0.0
    line: str = ""
    result: str = ""
    """What came of the last window."""

    handle: Any = None
    """IPython's, by which what is shown is replaced."""

    def say(self, line: str) -> None:
        """Show a line at once."""
        self.line = line
        self._draw()

    def on_training(self, progress: TrainingProgress) -> None:
        """Show how far the training is."""
        self.share = progress.step / progress.n_steps
        left = time_words(progress.seconds_left)
        self.say(f"learning the table, at most {left} to go")

    def on_plan(self, plan: RunPlan) -> None:
        """Show that windows begin."""
        self.plan, self.share = plan, 0.0
        self.say(f"generating rows, {plan.n_committed} of {plan.budget} so far")

    def on_step(self, record: StepRecord) -> None:
        """Show how far the windows are."""
        if self.plan is None:
            return
        n_done, length = record.step + 1, self.plan.window_length
        self.share = n_done / self.plan.n_steps
        judging = n_done % length == 0
        self.say(
            f"{'judging' if judging else 'generating'} rows, step {n_done} of at most "
            f"{self.plan.n_steps}"
        )

    def on_window(self, record: WindowRecord) -> None:
        """Show what came of a check."""
        certificate = record.certificate
        told = "let in" if certificate.committed else "refused"
        self.result = (
            f"Check {certificate.window + 1}: {certificate.n_rows} rows {told}; "
            f"{record.n_committed} of {record.budget} rows so far, at most "
            f"{time_words(record.seconds_left)} to go."
        )
        self._draw()

    def __repr__(self) -> str:
        return f"tabtap: {self.line}. {self.result}".rstrip()

    def _repr_html_(self) -> str:
        return (
            f'<progress max="1" value="{min(self.share, 1.0):.3f}"></progress> '
            f"tabtap: {escape(self.line)}<br>{escape(self.result)}"
        )

    def _draw(self) -> None:
        if self.handle is None:
            show = import_module("IPython.display").display
            self.handle = show(self, display_id=True)
        else:
            self.handle.update(self)
