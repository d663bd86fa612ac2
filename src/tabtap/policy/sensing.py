"""The sensor of a run: reads the state of one table, step after step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tabtap.domain import LearnerState, Template
from tabtap.policy.pass_rates import PassRates
from tabtap.policy.sensor import (
    Wish,
    novelty_of,
    read_state,
    uncertainty_by_target,
    wanted_mixture,
)
from tabtap.table.distance import DistanceScale, typical_gap
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class TableSensor:
    """What is fixed for a table, and the pass rates so far."""

    wanted: FloatArray
    scale: DistanceScale
    gap: float
    pass_rates: PassRates

    @classmethod
    def of(cls, real: Table, wish: Wish) -> TableSensor:
        """Return the sensor of a table at the start of a run."""
        scale = DistanceScale.of(real)
        counts = _counts(real)
        return cls(
            wanted_mixture(wish, counts), scale, typical_gap(real, scale), PassRates()
        )

    def read(
        self, real: Table, committed: Table, pool: Table, uncertainty: FloatArray
    ) -> LearnerState:
        """Return the state before an action; ``uncertainty`` is per real row."""
        n_targets = len(self.wanted)
        target = real.schema.target
        labels = target is not None and target.task == "classification"
        return read_state(
            _counts(real),
            _counts(committed) + _counts(pool),
            self.wanted,
            uncertainty_by_target(
                uncertainty,
                real.condition,
                n_targets,
                n_classes=n_targets if labels else None,
            ),
            self.pass_rates,
            novelty_of(pool, committed, real, self.scale, self.gap),
        )

    def noted(self, template: Template, n_passed: int, n_proposed: int) -> TableSensor:
        """Return the sensor after rows of a template were judged."""
        rates = self.pass_rates.updated(template, n_passed, n_proposed)
        return self.with_rates(rates)

    def with_rates(self, pass_rates: PassRates) -> TableSensor:
        """Return the sensor with other pass rates, such as those of a saved run."""
        return replace(self, pass_rates=pass_rates)


def _counts(table: Table) -> IntArray:
    return np.bincount(table.condition, minlength=table.schema.n_conditions)
