"""Progress for people who set verbose: one line a window on the error stream.

Reads from: domain.  Read by: api.augmenter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from tabtap.domain import StepRecord, WindowRecord


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
    """Return how long the rest may take, as the rows so far took."""
    if not 0 < record.n_committed < record.budget:
        return ""
    pace = record.seconds / record.n_committed
    return f", about {pace * (record.budget - record.n_committed):.0f} s to go"
