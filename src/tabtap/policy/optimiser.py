"""AdamW on one vector of weights, as a pure function."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_WEIGHT_DECAY = 0.01
"""The usual values.  Decay draws the last layer to 0: towards the reference policy."""


@dataclass(frozen=True, slots=True, eq=False)
class AdamState:
    """What AdamW remembers between two steps."""

    first: Tensor
    second: Tensor
    """Shape of the weights: running means of the gradient and of its square."""

    n_updates: int = 0

    @classmethod
    def fresh(cls, weights: Tensor) -> AdamState:
        """Return the memory before the first step."""
        return cls(torch.zeros_like(weights), torch.zeros_like(weights))


def shortened(gradient: Tensor, max_norm: float) -> Tensor:
    """Return the gradient, or the one of length ``max_norm`` in its direction."""
    norm = float(gradient.norm())
    return gradient * (max_norm / norm) if norm > max_norm else gradient


def adamw_step(
    weights: Tensor, gradient: Tensor, state: AdamState, learning_rate: float
) -> tuple[Tensor, AdamState]:
    """Return the weights and the memory after one step; what was given stays."""
    n_updates = state.n_updates + 1
    fast, slow = _BETAS
    first = state.first.lerp(gradient, 1.0 - fast)
    second = state.second.lerp(gradient**2, 1.0 - slow)
    mean = first / (1.0 - fast**n_updates)
    size = (second / (1.0 - slow**n_updates)).sqrt()
    kept = weights * (1.0 - learning_rate * _WEIGHT_DECAY)
    after = kept - learning_rate * mean / (size + _EPSILON)
    return after, AdamState(first, second, n_updates)
