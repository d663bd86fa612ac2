"""The network of TabDDPM: a perceptron that is told the time and the class.

Kotelnikov et al. 2023, section 3 and figure 1.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from tabtap.compare.methods.layers import linear, perceptron

_EMBEDDING = 128
_LONGEST_PERIOD = 10_000


class DdpmNetwork(nn.Module):
    """Predicts the noise of the numbers and the logits of the clean codes."""

    def __init__(
        self,
        width: int,
        n_classes: int,
        widths: tuple[int, ...],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.time = nn.Sequential(
            linear(_EMBEDDING, _EMBEDDING, generator),
            nn.SiLU(),
            linear(_EMBEDDING, _EMBEDDING, generator),
        )
        first = torch.randn(n_classes, _EMBEDDING, generator=generator)
        self.classes = nn.Parameter(first)
        self.enter = linear(width, _EMBEDDING, generator)
        self.body = perceptron((_EMBEDDING, *widths), width, generator)

    def forward(self, rows: Tensor, steps: Tensor, classes: Tensor | None) -> Tensor:
        """Return predictions for noisy rows, laid out as the rows are."""
        told = self.time(waves(steps))
        if classes is not None:
            told = told + nn.functional.silu(self.classes[classes])
        return cast("Tensor", self.body(self.enter(rows) + told))


def waves(steps: Tensor) -> Tensor:
    """Return steps as cosines and sines of falling frequency."""
    half = _EMBEDDING // 2
    falling = torch.arange(half, dtype=torch.float32) / half
    angles = steps[:, None].float() * (-math.log(_LONGEST_PERIOD) * falling).exp()
    return torch.cat([angles.cos(), angles.sin()], dim=1)
