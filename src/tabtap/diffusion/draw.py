"""From tables and masks to one batch for the sampler, and back to tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.encoding import Encoding, Layout
from tabtap.diffusion.given_targets import move_targets
from tabtap.diffusion.noise import RowNoise, SeedArray, draw_row_noise
from tabtap.diffusion.sample import Job, Sampler
from tabtap.table.schema import BoolArray
from tabtap.table.table import Table, concat

_BLOCK = 16
"""Rows are padded to a multiple of this: a matrix product of fewer than four rows
rounds in its own way, and a row's result must not depend on its company."""

_CHUNK_CELLS = 2**22
"""Most cells of noise held at once; bounds the memory of large draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What one member is asked to draw."""

    encoding: Encoding
    anchors: Table
    regenerate: BoolArray
    seeds: SeedArray

    holes: bool
    """Whether missing values may be drawn."""

    target: bool
    """Whether a regression target is drawn too."""

    def part(self, rows: slice) -> Request:
        """Return the request for some of the rows."""
        numbers = np.arange(len(self.anchors))[rows]
        return replace(
            self,
            anchors=self.anchors.take(numbers),
            regenerate=self.regenerate[rows],
            seeds=self.seeds[rows],
        )

    def with_given_target(self, noise: RowNoise) -> Request:
        """Return the request with targets drawn where the network is given them."""
        if not (self.target and self.encoding.target_is_given):
            return self
        # The number of a given target starts from no noise of its own.
        start = noise.fresh[:, 0, -1].astype(np.float64)
        moved = move_targets(self.encoding, self.anchors, start)
        return replace(self, anchors=moved, target=False)


def draw(
    denoiser: Denoiser,
    weights: Tensor,
    config: DiffusionConfig,
    requests: Sequence[Request],
) -> list[Table]:
    """Answer every member's request in common batches."""
    layout = denoiser.layout
    sampler = Sampler(denoiser, denoiser.plan.views(weights), config)
    drawn = [[request.anchors.empty()] for request in requests]
    longest = max(len(request.anchors) for request in requests)
    for rows in _chunks(longest, layout, config):
        parts = [request.part(rows) for request in requests]
        noise = [_noise(part, layout, config) for part in parts]
        parts = [
            part.with_given_target(chance)
            for part, chance in zip(parts, noise, strict=True)
        ]
        job = _job(parts, noise, layout, weights.device)
        numbers, tokens = (made.cpu().numpy() for made in sampler.run(job))
        for member, part in enumerate(parts):
            size = len(part.anchors)
            made = (numbers[member, :size].astype(np.float64), tokens[member, :size])
            drawn[member].append(_decode(part, made, noise[member]))
    return [concat(tables) for tables in drawn]


def _chunks(n_rows: int, layout: Layout, config: DiffusionConfig) -> Iterator[slice]:
    width = max(layout.group_sizes, default=0) * len(layout.group_sizes)
    per_row = (config.n_sample_steps + 1) * layout.n_numbers + width + 1
    size = max(_BLOCK, _CHUNK_CELLS // per_row // _BLOCK * _BLOCK)
    return (slice(start, start + size) for start in range(0, n_rows, size))


def _noise(request: Request, layout: Layout, config: DiffusionConfig) -> RowNoise:
    return draw_row_noise(
        request.seeds,
        config.n_sample_steps,
        layout.n_numbers,
        len(layout.group_sizes),
        overwrite=config.conditioning == "overwrite",
    )


def _job(
    requests: Sequence[Request],
    noise: Sequence[RowNoise],
    layout: Layout,
    device: torch.device,
) -> Job:
    """Stack the members' rows, padded to a common number of whole blocks."""
    longest = max(len(request.anchors) for request in requests)
    size = -(-longest // _BLOCK) * _BLOCK
    rows = [
        _arrays(request, chance, layout)
        for request, chance in zip(requests, noise, strict=True)
    ]
    stacked = {
        name: torch.as_tensor(np.stack([_padded(row[name], size) for row in rows]))
        for name in rows[0]
    }
    for name in ("fresh", "overwriting"):
        stacked[name] = stacked[name].permute(2, 0, 1, 3)
    return Job(**{name: value.to(device) for name, value in stacked.items()})


def _arrays(
    request: Request, noise: RowNoise, layout: Layout
) -> Mapping[str, NDArray[Any]]:
    encoding, anchors = request.encoding, request.anchors
    cells = encoding.cells(anchors)
    free_numbers, free_tokens = encoding.free(request.regenerate, target=request.target)
    return {
        "condition": cells.condition,
        "numbers": cells.numbers,
        "free_numbers": free_numbers,
        "tokens": cells.tokens,
        "free_tokens": free_tokens,
        "allowed": encoding.allowed(
            anchors,
            request.regenerate,
            holes=request.holes,
            width=max(layout.group_sizes, default=1),
        ),
        "fresh": noise.fresh,
        "overwriting": noise.overwriting,
        "order": noise.order,
        "pick": noise.pick,
    }


def _padded(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Repeat the last row, or zeros, up to a number of rows."""
    short = size - len(array)
    if short == 0:
        return array
    filler = np.zeros((short, *array.shape[1:]), dtype=array.dtype)
    return np.concatenate([array, filler])


def _decode(
    request: Request, made: tuple[NDArray[Any], NDArray[Any]], noise: RowNoise
) -> Table:
    encoding = request.encoding
    rows = encoding.decode(request.anchors, request.regenerate, made, noise.rare)
    if request.target and encoding.has_target_number:
        rows = encoding.decode_target(rows, made[0])
    return rows
