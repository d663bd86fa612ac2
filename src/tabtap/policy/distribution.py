"""Distributions over actions: how likely one is, how far apart two are.

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

from tabtap.domain import TEMPLATES, Action, Template
from tabtap.table.schema import FloatArray


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
        places = np.searchsorted(upto, rng.permutation(ticks), side="right")
        return [
            replace(self.draw(rng), target=int(min(place, len(upto) - 1)))
            for place in places
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
