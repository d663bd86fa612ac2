"""The network of TabDiff: a token per cell, transformer blocks around a large MLP.

Shape as published (Shi et al. 2025): tokens of 4 numbers, two blocks with one head and
a hidden layer 32 times as wide on either side of an MLP.  The label is one more token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.weights import linear, linear_shapes

if TYPE_CHECKING:
    from tabtap.diffusion.denoiser import NetworkInput

_TOKEN_WIDTH = 4
_FEED_FACTOR = 32
_N_BLOCKS = 2
_N_WAVES = 64


class TransformerNetwork:
    """Tokenizer, two blocks, MLP with the noise level, two blocks, detokenizer."""

    def __init__(self, layout: Layout, config: DiffusionConfig) -> None:
        self._layout = layout
        width, d = config.width, _TOKEN_WIDTH
        n_numbers, n_groups = layout.n_numbers, len(layout.group_sizes)
        n_tokens = sum(layout.group_sizes)
        self._n_cells = n_numbers + n_groups + 1
        flat = self._n_cells * d
        shapes: dict[str, tuple[int, ...]] = {
            "number": (n_numbers, d),
            "number.bias": (n_numbers, d),
            "kept": (n_numbers, d),
            # One more embedding per group, for its mask; then the conditions.
            "embedding": (n_tokens + n_groups + layout.n_conditions, d),
        }
        for side in ("encoder", "decoder"):
            for block in range(_N_BLOCKS):
                shapes |= _block_shapes(f"{side}{block}", d)
        shapes |= linear_shapes("enter", flat, width)
        shapes |= linear_shapes("level0", 2 * _N_WAVES, width)
        shapes |= linear_shapes("level1", width, width)
        shapes |= linear_shapes("middle0", width, 2 * width)
        shapes |= linear_shapes("middle1", 2 * width, 2 * width)
        shapes |= linear_shapes("middle2", 2 * width, width)
        shapes |= linear_shapes("leave", width, flat)
        shapes |= {
            "last_number": (n_numbers, d),
            "last_number.bias": (n_numbers,),
            "last_token": (n_tokens, d),
            "last_token.bias": (n_tokens,),
        }
        self.shapes: Mapping[str, tuple[int, ...]] = shapes
        groups = [
            torch.full((size,), place) for place, size in enumerate(layout.group_sizes)
        ]
        self._group_of_token = torch.cat([*groups, torch.zeros(0)]).long()

    def __call__(
        self, weights: Mapping[str, Tensor], rows: NetworkInput
    ) -> tuple[Tensor, Tensor]:
        """Return the raw numbers and the logits."""
        cells = self._tokenize(weights, rows)
        shape = cells.shape
        for block in range(_N_BLOCKS):
            cells = _transform(weights, f"encoder{block}", cells)
        mixed = self._mix(weights, cells.flatten(2), rows.told)
        cells = mixed.view(shape)
        for block in range(_N_BLOCKS):
            cells = _transform(weights, f"decoder{block}", cells)
        return self._detokenize(weights, cells)

    def _tokenize(self, weights: Mapping[str, Tensor], rows: NetworkInput) -> Tensor:
        numbers = rows.numbers.unsqueeze(-1) * weights["number"].unsqueeze(1)
        numbers = numbers + weights["number.bias"].unsqueeze(1)
        numbers = numbers + rows.kept.unsqueeze(-1) * weights["kept"].unsqueeze(1)
        sizes = torch.tensor([0, *self._layout.group_sizes], device=rows.tokens.device)
        starts = (sizes + 1).cumsum(0) - 1
        words = torch.cat([rows.tokens, rows.condition.unsqueeze(-1)], dim=-1) + starts
        table = weights["embedding"]
        index = words.flatten(1).unsqueeze(-1).expand(-1, -1, _TOKEN_WIDTH)
        embedded = table.gather(1, index).view(*words.shape, _TOKEN_WIDTH)
        return torch.cat([numbers, embedded], dim=2)

    def _mix(
        self, weights: Mapping[str, Tensor], cells: Tensor, told: Tensor
    ) -> Tensor:
        powers = torch.arange(_N_WAVES, device=told.device) / _N_WAVES
        angles = told * 1000.0 * 10_000.0**-powers
        waves = torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)
        level = F.silu(linear(weights, "level0", waves))
        hidden = linear(weights, "enter", cells) + linear(weights, "level1", level)
        for layer in range(3):
            hidden = F.silu(linear(weights, f"middle{layer}", hidden))
        return linear(weights, "leave", hidden)

    def _detokenize(
        self, weights: Mapping[str, Tensor], cells: Tensor
    ) -> tuple[Tensor, Tensor]:
        n_numbers = self._layout.n_numbers
        numbers = (cells[:, :, :n_numbers] * weights["last_number"].unsqueeze(1)).sum(
            -1
        )
        numbers = numbers + weights["last_number.bias"].unsqueeze(1)
        group = self._group_of_token.to(cells.device)
        words = cells[:, :, n_numbers:-1].index_select(2, group)
        logits = (words * weights["last_token"].unsqueeze(1)).sum(-1)
        return numbers, logits + weights["last_token.bias"].unsqueeze(1)


def _block_shapes(name: str, d: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for norm in ("norm0", "norm1"):
        shapes |= {f"{name}.{norm}.gain": (1, d), f"{name}.{norm}.bias": (1, d)}
    shapes |= linear_shapes(f"{name}.attend", d, 3 * d)
    shapes |= linear_shapes(f"{name}.join", d, d)
    shapes |= linear_shapes(f"{name}.feed0", d, _FEED_FACTOR * d)
    shapes |= linear_shapes(f"{name}.feed1", _FEED_FACTOR * d, d)
    return shapes


def _transform(weights: Mapping[str, Tensor], name: str, cells: Tensor) -> Tensor:
    n_members, n_rows, n_cells, d = cells.shape
    rows = cells.reshape(n_members, n_rows * n_cells, d)
    normed = _normed(weights, f"{name}.norm0", rows)
    attend = linear(weights, f"{name}.attend", normed)
    query, key, value = torch.split(
        attend.view(n_members, n_rows, n_cells, 3 * d), d, dim=-1
    )
    scores = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(d), dim=-1)
    mixed = (scores @ value).reshape(rows.shape)
    rows = rows + linear(weights, f"{name}.join", mixed)
    fed = F.relu(
        linear(weights, f"{name}.feed0", _normed(weights, f"{name}.norm1", rows))
    )
    return (rows + linear(weights, f"{name}.feed1", fed)).view(cells.shape)


def _normed(weights: Mapping[str, Tensor], name: str, rows: Tensor) -> Tensor:
    normed = F.layer_norm(rows, rows.shape[-1:])
    return normed * weights[f"{name}.gain"] + weights[f"{name}.bias"]
