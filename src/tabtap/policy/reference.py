"""The reference policy, and distributions over actions: how likely, how far apart.

An action has three independent parts (equation 44): a target, a template and a Gaussian
exploration.  The density of exploration is taken before it is clamped to [0, 1]: a
clamped value has a probability mass at the ends that a density knows nothing of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Action, Experience, LearnerState, Template
from tabtap.errors import UserInputError
from tabtap.table.schema import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ActionBatch:
    """Several actions, one for each state, as tensors."""

    target: Tensor
    """Shape (n, 1)."""

    template: Tensor
    """Shape (n, 1): places in ``TEMPLATES``."""

    raw_exploration: Tensor
    """Shape (n,)."""

    @classmethod
    def of(cls, actions: Sequence[Action]) -> ActionBatch:
        """Gather actions."""
        templates = [[TEMPLATES.index(action.template)] for action in actions]
        return cls(
            torch.tensor([[action.target] for action in actions]),
            torch.tensor(templates),
            torch.tensor([a.raw_exploration for a in actions], dtype=torch.float64),
        )

    def take(self, rows: Tensor) -> ActionBatch:
        """Return some of the actions."""
        return ActionBatch(
            self.target[rows], self.template[rows], self.raw_exploration[rows]
        )


@dataclass(frozen=True, slots=True, eq=False)
class ActionDistribution:
    """Where the actions of several states come from."""

    target_logits: Tensor
    """Shape (n, n_targets); -inf for a target that is not available."""

    template_logits: Tensor
    """Shape (n, n_templates)."""

    mean: Tensor
    scale: Tensor
    """Shape (n,): of the exploration before clamping."""

    def take(self, rows: Tensor) -> ActionDistribution:
        """Return the distributions of some of the states."""
        return ActionDistribution(
            self.target_logits[rows],
            self.template_logits[rows],
            self.mean[rows],
            self.scale[rows],
        )

    def log_prob(self, actions: ActionBatch) -> Tensor:
        """Return the log density of one action per state (equation 44), shape (n,)."""
        target = self.target_logits.log_softmax(dim=1).gather(1, actions.target)
        template = self.template_logits.log_softmax(dim=1).gather(1, actions.template)
        distance = (actions.raw_exploration - self.mean) / self.scale
        exploration = -0.5 * distance**2 - self.scale.log() - _LOG_ROOT_TWO_PI
        return target[:, 0] + template[:, 0] + exploration

    def divergence(self, other: ActionDistribution) -> Tensor:
        """Return KL(this || other) of each state, exactly; shape (n,).

        The parts are independent, so their divergences add up.  Both distributions must
        have the same targets available.
        """
        target = _categorical_divergence(self.target_logits, other.target_logits)
        template = _categorical_divergence(self.template_logits, other.template_logits)
        ratio = self.scale / other.scale
        shift = (self.mean - other.mean) / other.scale
        exploration = 0.5 * (ratio**2 + shift**2 - 1.0) - ratio.log()
        return target + template + exploration

    def target_probabilities(self) -> FloatArray:
        """Return the chance of each target, shape (n, n_targets)."""
        return np.asarray(self.target_logits.detach().softmax(dim=1).numpy())

    def template_probabilities(self) -> FloatArray:
        """Return the chance of each template, shape (n, n_templates)."""
        return np.asarray(self.template_logits.detach().softmax(dim=1).numpy())

    def draw(self, rng: np.random.Generator) -> Action:
        """Draw an action of the first state."""
        targets = self.target_probabilities()[0]
        templates = self.template_probabilities()[0]
        target = int(rng.choice(len(targets), p=targets))
        template: Template = TEMPLATES[int(rng.choice(len(templates), p=templates))]
        raw = float(rng.normal(float(self.mean[0]), float(self.scale[0])))
        return Action(target, template, min(max(raw, 0.0), 1.0), raw)

    def draw_spread(self, n_actions: int, rng: np.random.Generator) -> list[Action]:
        """Draw actions of the first state whose targets come as often as they should.

        Each action by itself is drawn as ``draw`` does.  Together their targets are
        spread: a target with a chance of p comes n p times, to within one.  A few
        actions with many rows each would otherwise leave some classes out by bad luck.
        """
        upto = np.cumsum(self.target_probabilities()[0])
        ticks = (rng.random() + np.arange(n_actions)) * upto[-1] / n_actions
        targets = np.searchsorted(upto, rng.permutation(ticks), side="right")
        return [
            replace(self.draw(rng), target=int(min(target, len(upto) - 1)))
            for target in targets
        ]


_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def _categorical_divergence(left: Tensor, right: Tensor) -> Tensor:
    # Targets that neither can draw are -inf on both sides and count for nothing.
    impossible = left == -torch.inf
    log_left = left.log_softmax(dim=1)
    gap = log_left.masked_fill(impossible, 0.0) - right.log_softmax(dim=1).masked_fill(
        impossible, 0.0
    )
    return (log_left.exp() * gap).sum(dim=1)


# ---- The cautious rule of thumb that a policy starts from and is held to.
#
# It fills up what is short, and explores less when few rows come through the gates
# (appendix C.3).  It is a policy of its own: a run with it alone learns nothing.


MOST_SURPLUS = 5.0
"""A target held more often than wanted is avoided at most as if by so many times its
share: however much there is of it, the policy can still learn that it is useful."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePolicy:
    """Favours targets that are short of rows, and caution when few rows pass.

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
        """Return the distributions of the actions in some states."""
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
