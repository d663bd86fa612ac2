"""The two networks of CTGAN, and what one learns from the other.

Xu et al. 2019, section 4.4.  The critic judges ten rows at a time, which shows it when
the generator always draws the same (PacGAN), and is kept smooth by a penalty on its
slope (WGAN-GP).
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from tabtap.compare.methods.blocks import gumbel
from tabtap.compare.methods.layers import SeededDropout, linear
from tabtap.compare.methods.mode_encoding import ModeEncoding

_TEMPERATURE = 0.2
"""Of the softmax that stands for a draw while training."""

_LEAK = 0.2
_DROPOUT = 0.5
_PENALTY = 10.0


class Generator(nn.Module):
    """From noise and a wish to a row; every layer also passes on what it was given."""

    def __init__(
        self,
        n_in: int,
        widths: tuple[int, ...],
        encoding: ModeEncoding,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.encoding, self.generator = encoding, generator
        self.layers = nn.ModuleList()
        for width in widths:
            parts = linear(n_in, width, generator), nn.BatchNorm1d(width), nn.ReLU()
            self.layers.append(nn.Sequential(*parts))
            n_in += width
        self.last = linear(n_in, encoding.width, generator)

    def forward(self, noise: Tensor, wishes: Tensor) -> tuple[Tensor, Tensor]:
        """Return places of the numbers and logits of the blocks."""
        hidden = torch.cat([noise, wishes], dim=1)
        for layer in self.layers:
            hidden = torch.cat([layer(hidden), hidden], dim=1)
        made = self.last(hidden)
        n_numbers = self.encoding.n_numbers
        return made[:, :n_numbers].tanh(), made[:, n_numbers:]

    def soft_rows(self, places: Tensor, logits: Tensor) -> Tensor:
        """Return rows with nearly drawn levels, through which a slope can be taken."""
        noisy = (logits + gumbel(logits, self.generator)) / _TEMPERATURE
        drawn = self.encoding.blocks.log_softmax(noisy).exp()
        return torch.cat([places, drawn], dim=1)


class Critic(nn.Module):
    """Scores packs of rows: higher for real ones."""

    def __init__(
        self,
        n_in: int,
        widths: tuple[int, ...],
        pack: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.pack, self.generator = pack, generator
        layers: list[nn.Module] = []
        width_before = n_in * pack
        for width in widths:
            layers += [
                linear(width_before, width, generator),
                nn.LeakyReLU(_LEAK),
                SeededDropout(_DROPOUT, generator),
            ]
            width_before = width
        self.body = nn.Sequential(*layers, linear(width_before, 1, generator))

    def forward(self, rows: Tensor) -> Tensor:
        """Return one score for each pack of neighbouring rows."""
        return cast("Tensor", self.body(rows.view(-1, self.pack * rows.shape[1])))

    def slope_penalty(self, real: Tensor, drawn: Tensor) -> Tensor:
        """Return how far the slope is from 1, between real and drawn packs."""
        packed = (-1, self.pack * real.shape[1])
        real, drawn = real.view(packed), drawn.view(packed)
        share = torch.rand(len(real), 1, generator=self.generator)
        between = (share * real + (1 - share) * drawn).requires_grad_()
        scores = self.body(between)
        (slope,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
        penalty: Tensor = ((slope.norm(dim=1) - 1) ** 2).mean()
        return penalty * _PENALTY
