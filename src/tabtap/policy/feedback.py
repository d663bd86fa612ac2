"""Whether an action did clearly better or worse than usual.

Gains drift over a run: the first rows teach most.  So the baseline forgets: it is the
mean of the gains before, each counting 5 % less than the one after it.  It starts as
the plain mean of what there is and so does not stick to the first gain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tabtap.config import PolicyConfig
from tabtap.domain import Feedback

DECAY = 0.95
"""Weight of a gain in the baseline against that of the next one: it looks back over
about twenty, one window."""


class Judgement(NamedTuple):
    """What an action turned out to be."""

    feedback: Feedback

    advantage: float
    """Gain minus baseline; NaN if the gain is not known."""

    memory: FeedbackMemory
    """What to judge the next action with."""


@dataclass(frozen=True, slots=True)
class FeedbackMemory:
    """What is remembered of earlier gains (appendix C.3)."""

    config: PolicyConfig

    baseline: float = 0.0
    """Discounted mean of the gains so far."""

    weight: float = 0.0
    """Discounted number of the gains so far."""

    advantages: tuple[float, ...] = ()
    """The latest, at most ``feedback_window``, oldest first."""

    @property
    def deadband(self) -> float:
        """How large an advantage must be to count; kappa in equation 41."""
        if not self.advantages:
            return math.inf
        sizes = np.abs(self.advantages)
        return float(np.quantile(sizes, self.config.feedback_quantile))

    def judged(self, gain: float, n_admitted: int) -> Judgement:
        """Judge the gain of one action (equation 41).

        Parameters
        ----------
        gain : float
            Estimated gain of the action's admitted rows.
        n_admitted : int
            Rows that came through the gates.

        Returns
        -------
        Judgement
            Desirable or undesirable if the advantage is beyond the deadband, which
            counts the advantage itself among the recent ones.  The first gain has
            nothing to be compared with and gets no feedback, nor does a gain that is
            NaN or infinite, which is forgotten at once.

            An action of which no row was admitted is undesirable, whatever its gain: by
            equation 15 it is worth nothing and it cost a step.  It is kept out of the
            memory, which is of gains of rows.
        """
        if n_admitted == 0:
            return Judgement(Feedback.UNDESIRABLE, min(-self.baseline, 0.0), self)
        if not math.isfinite(gain):
            return Judgement(Feedback.NONE, math.nan, self)
        if self.weight == 0.0:
            return Judgement(Feedback.NONE, 0.0, self._remembering(gain))
        advantage = gain - self.baseline
        latest = (*self.advantages, advantage)[-self.config.feedback_window :]
        memory = replace(self._remembering(gain), advantages=latest)
        return Judgement(_signed(advantage, memory.deadband), advantage, memory)

    def to_lists(self) -> dict[str, list[float]]:
        """Return plain lists from which ``from_lists`` makes the same value."""
        return {
            "baseline": [self.baseline, self.weight],
            "advantages": list(self.advantages),
        }

    @classmethod
    def from_lists(
        cls, lists: Mapping[str, Sequence[float]], config: PolicyConfig
    ) -> FeedbackMemory:
        """Return the value that ``to_lists`` wrote down."""
        baseline, weight = lists["baseline"]
        return cls(config, baseline, weight, tuple(lists["advantages"]))

    def _remembering(self, gain: float) -> FeedbackMemory:
        weight = DECAY * self.weight + 1.0
        baseline = self.baseline + (gain - self.baseline) / weight
        return replace(self, baseline=baseline, weight=weight)


def _signed(advantage: float, deadband: float) -> Feedback:
    if advantage > deadband:
        return Feedback.DESIRABLE
    if advantage < -deadband:
        return Feedback.UNDESIRABLE
    return Feedback.NONE
