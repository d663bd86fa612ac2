"""What rows are really worth to the referee: its scores on untouched test rows.

Read by: runs, poison.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tabtap.domain.judgement import table_sha256
from tabtap.evaluate.evaluators import PanelEvaluator
from tabtap.evaluate.metric import metric_of
from tabtap.study.protocol import Repetition
from tabtap.table import Table
from tabtap.table.table import concat

Scores = dict[str, float]
"""The panel's mean ``score`` and mean ``loss``; the loss is in the unit of the paper's
estimates, cross-entropy or squared error of the standardised target."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Trains the panel on real and synthetic rows and asks it about the test rows."""

    repetition: Repetition

    known: dict[str, Scores] = field(default_factory=dict)
    """By the digest of the synthetic rows: an incumbent is scored once."""

    def scores(self, synthetic: Table) -> Scores:
        """Score the panel trained on the real rows and some synthetic ones."""
        digest = table_sha256(synthetic)
        if digest not in self.known:
            self.known[digest] = self._scores(synthetic)
        return self.known[digest]

    def gains(self, before: Table, after: Table) -> dict[str, Scores]:
        """Return what rows gain over real rows only and over an incumbent.

        Larger is better, of the loss too: it is the reduction that is stated.
        """
        new = self.scores(after)
        rivals = {
            "over_real": self.scores(after.empty()),
            "over_incumbent": self.scores(before),
        }
        return {
            name: {
                "score": round(new["score"] - old["score"], 6),
                "loss": round(old["loss"] - new["loss"], 6),
            }
            for name, old in rivals.items()
        }

    def _scores(self, synthetic: Table) -> Scores:
        real, test = self.repetition.real, self.repetition.test
        context = concat([real, synthetic])
        answer = PanelEvaluator().predict([context], [test])[0].in_unit_of(real)
        return {
            "score": float(np.mean(metric_of("score").score(answer, test))),
            "loss": float(np.mean(answer.losses(test))),
        }
