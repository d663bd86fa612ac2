"""The cautious rule of thumb that a policy starts from and is held to.

It fills up what is short, and explores less when few rows come through the gates
(appendix C.3).  It is a policy of its own: a run with it alone learns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Action, Experience, LearnerState, Template
from tabtap.errors import UserInputError
from tabtap.policy.distribution import ActionBatch, ActionDistribution
from tabtap.table.schema import BoolArray, FloatArray

MOST_SURPLUS = 5.0
"""A target held more often than wanted is avoided at most as if by so many times its
share: however much there is of it, the policy can still learn that it is useful."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePolicy:
    """Favours targets that are short of rows, and caution when few rows pass.

    Notes
    -----
    With w the share wanted of a target, h the share held and g the recent pass rates:

    - target: probability proportional to w exp(``deficit_strength`` (w - h) / w).
      Without deficits targets come as often as they are wanted;
    - template: P(explore) = ``explore_share`` 2 g_e / (g_e + max(g_e, g_c)), which is
      ``explore_share`` as long as explore passes no less often than conservative, and
      falls to 0 with its pass rate;
    - exploration: Gaussian with mean ``exploration`` (1 + g) / 2, g being the pass rate
      expected of the template, and deviation ``exploration_scale``.  The mean never
      falls below half of its setting: rows of which next to nothing is redrawn are
      copies, no gate admits copies, and less exploration would be no way out.
    """

    config: PolicyConfig

    wanted: FloatArray
    """Shape (n_targets,): the share of the rows that each target should have."""

    def distribution(self, states: Sequence[LearnerState]) -> ActionDistribution:
        """Return the distributions of the actions in some states.

        Raises
        ------
        UserInputError
            If no target is available in a state.
        """
        deficit = np.stack([state.deficit for state in states])
        available = np.stack([state.available for state in states])
        rate = np.stack([state.pass_rate for state in states])
        explore = self._explore_chance(rate)
        chances = np.stack(_in_order(explore, 1.0 - explore), axis=1)
        feasible = (chances * rate).sum(axis=1)
        mean = self.config.exploration * (1.0 + feasible) / 2.0
        return ActionDistribution(
            torch.from_numpy(self._target_logits(deficit, available)),
            torch.from_numpy(np.log(chances)),
            torch.from_numpy(mean),
            torch.full((len(states),), self.config.exploration_scale).double(),
        )

    def sample(self, state: LearnerState, rng: np.random.Generator) -> Action:
        """Draw an action; targets that are not available are never drawn."""
        return self.distribution([state]).draw(rng)

    def spread(
        self, state: LearnerState, n_actions: int, rng: np.random.Generator
    ) -> list[Action]:
        """Draw several actions whose targets come as often as they should."""
        return self.distribution([state]).draw_spread(n_actions, rng)

    def log_prob(self, state: LearnerState, action: Action) -> float:
        """Return the log density of an action, before clamping."""
        return float(self.distribution([state]).log_prob(ActionBatch.of([action])))

    def improved(self, experience: Sequence[Experience]) -> ReferencePolicy:  # noqa: ARG002  it does not learn
        """Return itself."""
        return self

    def _target_logits(self, deficit: FloatArray, available: BoolArray) -> FloatArray:
        possible = available & (self.wanted > 0)
        if not possible.any(axis=1).all():
            raise UserInputError(
                "No target can be chosen: none has both a real row and a wanted share. "
                "Give real rows, or want a share of a target that has some."
            )
        share = np.where(self.wanted > 0, self.wanted, 1.0)
        shortage = np.maximum(deficit / share, -MOST_SURPLUS)
        logits = np.log(share) + self.config.deficit_strength * shortage
        return np.where(possible, logits, -np.inf)

    def _explore_chance(self, rate: FloatArray) -> FloatArray:
        by_template = dict(zip(TEMPLATES, rate.T, strict=True))
        explore = np.maximum(by_template[Template.EXPLORE], _LEAST_RATE)
        rival = np.maximum(explore, by_template[Template.CONSERVATIVE])
        return np.asarray(self.config.explore_share * 2 * explore / (explore + rival))


_LEAST_RATE = 1e-3
"""Keeps every template possible, whatever the state says."""


def _in_order(explore: FloatArray, conservative: FloatArray) -> list[FloatArray]:
    chances = {Template.EXPLORE: explore, Template.CONSERVATIVE: conservative}
    return [chances[template] for template in TEMPLATES]
