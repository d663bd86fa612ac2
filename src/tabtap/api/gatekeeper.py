"""All gates of a run behind one door.

Reads from: domain, gates, stages.  Read by: api.wiring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabtap.domain import Admission, Candidates, GateContext
from tabtap.gates import Plausible, admit
from tabtap.stages import Gate


@dataclass(frozen=True, slots=True)
class Gates:
    """Applies gates in turn; the user's own may come after the standard ones."""

    gates: Sequence[Gate]

    @property
    def needs_prediction(self) -> bool:
        """Whether a gate reads ``GateContext.prediction``."""
        return any(
            isinstance(gate, Plausible) or getattr(gate, "needs_prediction", False)
            for gate in self.gates
        )

    def admit(self, candidates: Candidates, context: GateContext) -> Admission:
        """Return the candidates of one lineage that pass, and who refused the rest."""
        return admit(candidates, context, self.gates)
