"""Progress for people who set verbose, in lines on the error stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from tabtap.api.watching import RunPlan
from tabtap.diffusion.train import TrainingProgress
from tabtap.domain import StepRecord, WindowRecord

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
