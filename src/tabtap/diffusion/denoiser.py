"""The network that sees a noisy row and says what it was.

Numbers are preconditioned as in EDM (Karras et al. 2022), with unit data variance, so
that the network works on inputs and outputs of unit size whatever the noise.  A kept
number goes in clean; a kept category is one that is not masked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.schedule import Level, Schedule, make_schedule
from tabtap.diffusion.transformer import TransformerNetwork
from tabtap.diffusion.weights import WeightPlan, linear, linear_shapes

_N_FREQUENCIES = 16


class NetworkInput(NamedTuple):
    """Rows as they enter a network, each of shape (n_members, n_rows, ...)."""

    numbers: Tensor
    """Of unit variance: noisy ones scaled down, kept ones clean."""

    kept: Tensor
    """1 where a number is kept, else 0."""

    tokens: Tensor
    """Tokens; the number of a group's tokens stands for its mask."""

    condition: Tensor
    told: Tensor


class Network(Protocol):
    """Any network: its weights' shapes, and what it makes of a batch."""

    shapes: Mapping[str, tuple[int, ...]]

    def __call__(
        self, weights: Mapping[str, Tensor], rows: NetworkInput
    ) -> tuple[Tensor, Tensor]:
        """Return numbers of shape (..., n_numbers) and logits, all groups in a row."""


class CompactNetwork:
    """A residual MLP over everything at once, one-hot."""

    def __init__(self, layout: Layout, config: DiffusionConfig) -> None:
        self._layout = layout
        self._depth = config.depth
        n_tokens = sum(layout.group_sizes)
        # Every group has one more input than tokens: its mask.
        self._n_one_hot = n_tokens + len(layout.group_sizes)
        n_in = 2 * layout.n_numbers + self._n_one_hot
        n_in += layout.n_conditions + 2 * _N_FREQUENCIES
        shapes = linear_shapes("first", n_in, config.width)
        for layer in range(config.depth):
            shapes |= linear_shapes(f"hidden{layer}", config.width, config.width)
        shapes |= linear_shapes("last", config.width, layout.n_numbers + n_tokens)
        self.shapes: Mapping[str, tuple[int, ...]] = shapes

    def __call__(
        self, weights: Mapping[str, Tensor], rows: NetworkInput
    ) -> tuple[Tensor, Tensor]:
        """Return the raw numbers and the logits."""
        hidden = torch.cat(
            [
                rows.numbers,
                rows.kept,
                self._one_hot(rows.tokens),
                F.one_hot(rows.condition, self._layout.n_conditions),
                _waves(rows.told),
            ],
            dim=-1,
        )
        hidden = F.silu(linear(weights, "first", hidden))
        for layer in range(self._depth):
            hidden = hidden + F.silu(linear(weights, f"hidden{layer}", hidden))
        out = linear(weights, "last", hidden)
        n_numbers = self._layout.n_numbers
        return out[..., :n_numbers], out[..., n_numbers:]

    def _one_hot(self, tokens: Tensor) -> Tensor:
        sizes = torch.tensor([0, *self._layout.group_sizes], device=tokens.device) + 1
        starts = sizes.cumsum(0)[:-1] - 1
        hot = torch.zeros(*tokens.shape[:2], self._n_one_hot, device=tokens.device)
        return hot.scatter_(-1, tokens + starts, 1.0)


class Denoiser:
    """A network with its schedule, its preconditioning, and all groups' logits."""

    def __init__(self, layout: Layout, config: DiffusionConfig) -> None:
        self.layout = layout
        self.schedule: Schedule = make_schedule(layout, config)
        network = TransformerNetwork if config.size == "paper" else CompactNetwork
        self._network: Network = network(layout, config)
        self.plan = WeightPlan({**self._network.shapes, **self.schedule.shapes})
        self._columns, self._is_token = _padded_columns(layout.group_sizes)

    @property
    def mask_tokens(self) -> Tensor:
        """The token that stands for the mask of each group."""
        return torch.tensor(self.layout.group_sizes, dtype=torch.long)

    def __call__(
        self,
        weights: Mapping[str, Tensor],
        noisy: Tensor,
        level: Level,
        rest: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Say what rows were before the noise.

        Parameters
        ----------
        weights : mapping
            The members' weights.
        noisy : tensor of shape (n_members, n_rows, n_numbers)
            Numbers with noise.
        level : Level
            How much of it.
        rest : clean, kept, tokens, condition
            Clean numbers where ``kept`` is 1; tokens, masked ones included; conditions.

        Returns
        -------
        numbers, logits
            Estimates of the clean numbers, and logits of shape (..., n_groups,
            widest group), minus infinity where a group has no such token.
        """
        clean, kept, tokens, condition = rest
        shrink = torch.rsqrt(level.sigma**2 + 1)
        entering = torch.where(kept > 0, clean, noisy * shrink)
        told = level.told.expand(*noisy.shape[:2], 1)
        raw, logits = self._network(
            weights, NetworkInput(entering, kept, tokens, condition, told)
        )
        numbers = noisy * shrink**2 + raw * (level.sigma * shrink)
        return numbers, self._padded(logits)

    def _padded(self, logits: Tensor) -> Tensor:
        columns = self._columns.to(logits.device)
        padded = logits[..., columns.flatten()].view(*logits.shape[:2], *columns.shape)
        return padded.masked_fill(~self._is_token.to(logits.device), -math.inf)


def _padded_columns(sizes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    width = max(sizes, default=1)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes else np.zeros(0)
    offsets = np.arange(width)
    is_token = offsets[None, :] < np.array(sizes).reshape(-1, 1)
    columns = np.where(is_token, starts.reshape(-1, 1) + offsets, 0).astype(np.int64)
    return torch.as_tensor(columns), torch.as_tensor(is_token)


def _waves(told: Tensor) -> Tensor:
    ends = math.log(0.25), math.log(8.0)
    powers = torch.linspace(*ends, _N_FREQUENCIES, device=told.device)
    angles = told * torch.exp(powers)
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)
