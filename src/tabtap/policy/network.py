"""A small network that says how far a policy departs from its reference.

The network does not name an action's distribution but what to add to the reference's.
Its last layer starts at 0, so the policy starts exactly at the reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES
from tabtap.policy.distribution import ActionDistribution

_INNER = 0.01
"""Nearest to 0 or 1 that a mean of the exploration counts as, so that it can move."""


@dataclass(frozen=True, slots=True)
class PolicyNetwork:
    """The shape of the network; its weights are a vector that it is given."""

    n_targets: int
    config: PolicyConfig

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers in a state, units of each hidden layer, and outputs."""
        n_inputs = 2 * self.n_targets + len(TEMPLATES) + 1
        n_outputs = self.n_targets + len(TEMPLATES) + 2
        return (n_inputs, *[self.config.width] * self.config.n_layers, n_outputs)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return sum(math.prod(shape) for shape in self._shapes())

    def initial(self, rng: np.random.Generator) -> Tensor:
        """Draw first weights: uniform with unit gain; biases and the last layer are 0.

        Returns
        -------
        tensor of shape (n_weights,)
        """
        parts = [np.zeros(shape) for shape in self._shapes()]
        for weight in parts[:-2:2]:
            reach = math.sqrt(3.0 / len(weight))
            weight[:] = rng.uniform(-reach, reach, weight.shape)
        return torch.from_numpy(np.concatenate([part.ravel() for part in parts]))

    def outputs(self, weights: Tensor, states: Tensor) -> Tensor:
        """Return the raw outputs for some states, shape (n, n_outputs)."""
        shapes = self._shapes()
        flat = torch.split(weights, [math.prod(shape) for shape in shapes])
        parts = [part.view(shape) for part, shape in zip(flat, shapes, strict=True)]
        hidden = states
        for matrix, bias in zip(parts[:-2:2], parts[1:-2:2], strict=True):
            hidden = torch.tanh(torch.addmm(bias, hidden, matrix))
        return torch.addmm(parts[-1], hidden, parts[-2])

    def shifted(
        self, weights: Tensor, states: Tensor, reference: ActionDistribution
    ) -> ActionDistribution:
        """Return the policy's distributions, given the reference's in the same states.

        Logits add up.  The mean of the exploration moves on the logistic scale, so that
        it stays in [0, 1]; its deviation changes by a factor of e at most.  Targets
        that are not available stay so.
        """
        outputs = self.outputs(weights, states)
        heads = [self.n_targets, len(TEMPLATES), 1, 1]
        target, template, mean, scale = torch.split(outputs, heads, 1)
        inner = reference.mean.clamp(_INNER, 1.0 - _INNER)
        moved = torch.sigmoid(torch.logit(inner) + mean[:, 0])
        # The difference is exactly 0 at the start, which the sum of logits is not.
        unmoved = torch.sigmoid(torch.logit(inner))
        return replace(
            reference,
            target_logits=reference.target_logits + target,
            template_logits=reference.template_logits + template,
            mean=reference.mean + (moved - unmoved),
            scale=reference.scale * torch.exp(torch.tanh(scale[:, 0])),
        )

    def _shapes(self) -> list[tuple[int, ...]]:
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return [shape for n_in, n_out in pairs for shape in ((n_in, n_out), (n_out,))]
