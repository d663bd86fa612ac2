"""Where a run stands between two windows: all that is needed to go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tabtap.domain import Candidates, Certificate, Standing, StepRecord
from tabtap.stages import (
    ActionPolicy,
    Commitment,
    Critic,
    Gatekeeper,
    Proposer,
    Sensor,
    Utility,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The parts that a run is made of; those that learn are in ``Progress``."""

    proposer: Proposer
    gatekeeper: Gatekeeper
    utility: Utility
    commitment: Commitment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Progress:
    """A run between two windows."""

    committed: Candidates
    """Synthetic rows of all lineages that were let in."""

    policy: ActionPolicy
    sensor: Sensor
    critic: Critic
    standing: Standing = field(default_factory=Standing)
    steps: tuple[StepRecord, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    seconds: float = 0.0
    """Time spent, over all sittings."""

    @property
    def window(self) -> int:
        """Number of the next window."""
        return len(self.certificates)

    @property
    def n_failures(self) -> int:
        """Attempts that are used up; see ``attempts_used``."""
        return attempts_used(self.certificates)

    @property
    def failures_in_a_row(self) -> int:
        """Windows refused since the last one that was committed."""
        count = 0
        for certificate in reversed(self.certificates):
            if certificate.committed:
                break
            count += 1
        return count


def attempts_used(certificates: Sequence[Certificate]) -> int:
    """Count the pools that were not shown to beat the real rows.

    A pool that was, but added nothing to the incumbent, is refused and uses up no
    attempt; nor does a window without a single candidate.
    """
    return sum(not c.shown and c.n_judged > 0 for c in certificates)


Keep = Callable[[Progress], None]
"""Called after every window, to save a run that may be interrupted."""
