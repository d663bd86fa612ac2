"""Layers whose randomness comes from a generator that is given.

torch's own layers take their first weights and their dropout from the one generator of
the process, which nobody here may touch.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn


def generator_from(rng: np.random.Generator) -> torch.Generator:
    """Return a generator of torch, seeded by the next draw of numpy's."""
    return torch.Generator().manual_seed(int(rng.integers(2**63)))


def linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with torch's usual distribution of first weights."""
    layer = nn.Linear(n_in, n_out, device="meta").to_empty(device="cpu")
    reach = 1.0 / math.sqrt(max(n_in, 1))
    for weights in (layer.weight, layer.bias):
        nn.init.uniform_(weights, -reach, reach, generator=generator)
    return layer


def perceptron(
    widths: tuple[int, ...], n_out: int, generator: torch.Generator
) -> nn.Sequential:
    """Return linear layers with ReLU between them; ``widths`` begins with the input."""
    layers: list[nn.Module] = []
    for n_in, n_hidden in pairwise(widths):
        layers += [linear(n_in, n_hidden, generator), nn.ReLU()]
    return nn.Sequential(*layers, linear(widths[-1], n_out, generator))


class SeededDropout(nn.Module):
    """Sets values to zero at random, while training and afterwards alike."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        super().__init__()
        self.kept, self.generator = 1.0 - share, generator

    def forward(self, values: Tensor) -> Tensor:
        """Return the values that stay, enlarged to keep their mean."""
        stays = torch.empty_like(values).bernoulli_(self.kept, generator=self.generator)
        return values * stays / self.kept
