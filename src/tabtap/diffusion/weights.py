"""The weights of several networks as one matrix, a row for each network.

All members of a stack go through every layer in one batched product, and the optimiser
sees a single tensor: for small networks this is far cheaper than one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class WeightPlan:
    """Names and shapes of one network's weights, and where each lies in its row."""

    shapes: Shapes

    @property
    def n_weights(self) -> int:
        """Number of weights of one network."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """Return each weight, shape (n_members, ...), as a view into the matrix."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            found[name] = flat[:, start:stop].view(flat.shape[0], *shape)
            start = stop
        return found

    def initial(self, n_members: int, generator: torch.Generator) -> Tensor:
        """Draw first weights: uniform with unit gain; biases and last layers are 0.

        A name that ends in ``bias`` or begins with ``last`` starts at 0, one that ends
        in ``gain`` at 1.
        """
        flat = torch.zeros(n_members, self.n_weights, device=generator.device)
        for name, weight in self.views(flat).items():
            if name.endswith("gain"):
                weight.fill_(1.0)
            elif not name.endswith("bias") and not name.startswith("last"):
                reach = math.sqrt(3.0 / max(1, weight.shape[-2]))
                weight.uniform_(-reach, reach, generator=generator)
        return flat


def linear(weights: Mapping[str, Tensor], name: str, inputs: Tensor) -> Tensor:
    """Apply one layer of every member to its own rows, shape (n_members, n, width)."""
    return torch.baddbmm(weights[f"{name}.bias"], inputs, weights[name])


def linear_shapes(name: str, n_in: int, n_out: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of one layer."""
    return {name: (n_in, n_out), f"{name}.bias": (1, n_out)}
