"""The way back: from noise and masks to rows, around the cells that stay.

Numbers follow EDM's stochastic sampler with second-order correction (Karras et al.
2022, algorithm 2), column by column where the schedule differs by column.  Categories
are uncovered one event at a time, each drawn from what the network says given all that
is already there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Encoding, Layout, numbers_of
from tabtap.diffusion.network import Denoiser, NoiseLevel
from tabtap.diffusion.scaling import fold_into
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table, concat

_MOST_CHURN = 2**0.5 - 1
"""The largest share of fresh noise that EDM allows in one step."""


@dataclass(frozen=True, slots=True)
class Job:
    """Rows to be drawn, each tensor of shape (n_members, n_rows, ...)."""

    condition: Tensor

    numbers: Tensor
    """The anchors' numbers; read only where they are kept."""

    free_numbers: Tensor
    tokens: Tensor
    free_tokens: Tensor

    allowed: Tensor
    """Which tokens each group may get, shape (..., n_groups, widest group)."""

    fresh: Tensor
    overwriting: Tensor
    order: Tensor
    pick: Tensor
    """The noise of ``RowNoise``, steps first: (n_steps + 1, n_members, n_rows, ...)."""


@dataclass(slots=True)
class _State:
    numbers: Tensor
    tokens: Tensor


class Sampler:
    """One reverse process for a denoiser and its weights."""

    def __init__(
        self, denoiser: Denoiser, weights: Mapping[str, Tensor], config: DiffusionConfig
    ) -> None:
        self._denoiser = denoiser
        self._weights = weights
        self._overwrite = config.conditioning == "overwrite"
        self._levels = denoiser.schedule.reverse_levels(weights)
        self._events = denoiser.schedule.events()
        # EDM's S_churn is shared out over the steps; ours is per step.
        self._churn = min(config.churn, _MOST_CHURN)

    @torch.no_grad()
    def run(self, job: Job) -> tuple[Tensor, Tensor]:
        """Return numbers and tokens; kept ones are the anchors'."""
        mask = self._denoiser.mask_tokens.to(job.tokens.device)
        hidden = (
            torch.ones_like(job.free_tokens) if self._overwrite else job.free_tokens
        )
        uncovered_at = self._denoiser.schedule.uncovered_at(
            self._weights, hidden, job.order
        )
        uncovered_at = torch.where(hidden, uncovered_at, -1)
        state = _State(
            job.fresh[0] * self._levels[0].sigma, torch.where(hidden, mask, job.tokens)
        )
        event = 0
        for step, n_events in enumerate(self._events):
            self._overwrite_kept(job, state, step)
            now = self._add_churn(job, state, step)
            estimate, logits = self._denoise(job, state, now)
            for part in range(n_events):
                if part:
                    estimate, logits = self._denoise(job, state, now)
                self._uncover(job, state, logits, uncovered_at == event)
                event += 1
            if state.numbers.shape[-1]:
                self._step(job, state, now, self._levels[step + 1], estimate)
        keep = ~job.free_numbers
        return torch.where(keep, job.numbers, state.numbers), state.tokens

    def _denoise(
        self, job: Job, state: _State, level: NoiseLevel
    ) -> tuple[Tensor, Tensor]:
        kept = (~job.free_numbers).float()
        if self._overwrite:
            kept = torch.zeros_like(kept)
        rest = job.numbers, kept, state.tokens, job.condition
        return self._denoiser(self._weights, state.numbers, level, rest)

    def _overwrite_kept(self, job: Job, state: _State, step: int) -> None:
        """Put kept numbers back at the noise of this step: equation 9 of the paper."""
        if self._overwrite:
            noisy = job.numbers + self._levels[step].sigma * job.overwriting[step]
            state.numbers = torch.where(job.free_numbers, state.numbers, noisy)

    def _add_churn(self, job: Job, state: _State, step: int) -> NoiseLevel:
        level = self._levels[step]
        if self._churn == 0 or step == 0:
            return level
        # Never noisier than the step before, so that the way back stays one.
        raised = torch.minimum(
            level.sigma * (1 + self._churn), self._levels[step - 1].sigma
        )
        added = (raised**2 - level.sigma**2).clamp(min=0).sqrt()
        state.numbers = state.numbers + added * job.fresh[step]
        return self._level_between(raised, level, step)

    def _level_between(
        self, raised: Tensor, level: NoiseLevel, step: int
    ) -> NoiseLevel:
        """Return the level of a noise between those of two steps."""
        above = self._levels[step - 1]
        share = (raised.log() - level.sigma.log()) / (
            above.sigma.log() - level.sigma.log()
        )
        gap = above.noise_level - level.noise_level
        return NoiseLevel(
            level.noise_level + share.mean(-1, keepdim=True) * gap, raised
        )

    def _uncover(self, job: Job, state: _State, logits: Tensor, chosen: Tensor) -> None:
        if not chosen.any():
            return
        chance = torch.softmax(logits.masked_fill(~job.allowed, -torch.inf), dim=-1)
        upto = chance.cumsum(-1)
        drawn = (upto <= job.pick.unsqueeze(-1) * upto[..., -1:]).sum(-1)
        # Rounding may step past the last token that is allowed.
        drawn = torch.minimum(drawn, _last_true(job.allowed))
        kept = torch.where(job.free_tokens, drawn, job.tokens)
        state.tokens = torch.where(chosen, kept, state.tokens)

    def _step(
        self,
        job: Job,
        state: _State,
        now: NoiseLevel,
        after: NoiseLevel,
        estimate: Tensor,
    ) -> None:
        slope = (state.numbers - estimate) / now.sigma
        moved = state.numbers + (after.sigma - now.sigma) * slope
        if bool((after.sigma > 0).all()):
            ahead = _State(moved, state.tokens)
            corrected, _ = self._denoise(job, ahead, after)
            slope = (slope + (moved - corrected) / after.sigma) / 2
            moved = state.numbers + (after.sigma - now.sigma) * slope
        state.numbers = moved


def _last_true(allowed: Tensor) -> Tensor:
    width = allowed.shape[-1]
    return width - 1 - allowed.flip(-1).int().argmax(-1)


# ---- Random numbers for sampling: every row has a stream of its own.
#
# So a row's result depends on its own seed, never on the batch it happens to be in.


SeedArray = NDArray[np.uint64]


class RowNoise(NamedTuple):
    """What the reverse process needs of chance, for some rows."""

    fresh: NDArray[np.float32]
    """Shape (n_rows, n_steps + 1, n_numbers): the start, then one for each step."""

    overwriting: NDArray[np.float32]
    """The same shape, for kept numbers; no rows unless they are overwritten."""

    order: NDArray[np.float32]
    """Shape (n_rows, n_groups): when tokens are uncovered."""

    pick: NDArray[np.float32]
    """Which token is drawn."""

    rare: NDArray[np.float64]
    """Which rare level a rare token becomes."""


def draw_row_noise(
    seeds: SeedArray, n_steps: int, n_numbers: int, n_groups: int, *, overwrite: bool
) -> RowNoise:
    """Draw every row's noise from the row's own seed."""
    shape = (len(seeds), n_steps + 1, n_numbers)
    fresh = np.empty(shape, dtype=np.float32)
    overwriting = np.empty(shape if overwrite else (0, 0, 0), dtype=np.float32)
    uniform = np.empty((3, len(seeds), n_groups))
    for row, seed in enumerate(seeds):
        rng = np.random.Generator(np.random.Philox(key=int(seed)))
        uniform[:, row] = rng.random((3, n_groups))
        rng.standard_normal(out=fresh[row], dtype=np.float32)
        if overwrite:
            rng.standard_normal(out=overwriting[row], dtype=np.float32)
    order, pick = uniform[:2].astype(np.float32)
    return RowNoise(fresh, overwriting, order, pick, uniform[2])


# ---- From tables and masks to one batch for the sampler, and back to tables.


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
        name: torch.as_tensor(np.stack([_pad_rows(row[name], size) for row in rows]))
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


def _pad_rows(array: NDArray[Any], size: int) -> NDArray[Any]:
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


# ---- Regression targets that are drawn before their row, and given to the network.
#
# A class is given and its row is drawn.  A number is treated alike: first a target, as
# smoothed as the training rows are and inside the bin that was asked for, then the row.


def first_targets(encoding: Encoding, bins: IntArray, chance: FloatArray) -> FloatArray:
    """Return, for each bin, the regression target of one of its training rows.

    ``chance``, from 0 to below 1, decides which of them it is.
    """
    own = np.searchsorted(_edges(encoding)[1:-1], encoding.targets, side="left")
    start = np.searchsorted(own, bins, side="left")
    count = np.searchsorted(own, bins, side="right") - start
    index = start + (chance * count).astype(np.int64)
    # A bin of a very large table may have none of the targets that were kept.
    known = encoding.targets[np.minimum(index, len(encoding.targets) - 1)]
    return np.where(count > 0, known, encoding.target_low[bins])


def move_targets(encoding: Encoding, table: Table, noise: FloatArray) -> Table:
    """Return the table with regression targets near its own, each inside its bin.

    ``noise`` is standard normal: targets are smoothed as the training rows are.
    """
    bandwidth, bins = encoding.target_bandwidth[0], table.condition
    numbers = np.nan_to_num(encoding.scaling.encode(numbers_of(table)))
    numbers[:, -1] *= np.sqrt(1 - bandwidth**2)
    numbers[:, -1] += bandwidth * noise
    values = encoding.scaling.decode(numbers)[:, -1]
    edges = _edges(encoding)
    moved = table.with_target(fold_into(values, edges[bins], edges[bins + 1]))
    # Rounded as real ones are, a few have left their bin.
    inside = fold_into(values, encoding.target_low[bins], encoding.target_high[bins])
    strayed = moved.condition != bins
    return table.with_target(np.where(strayed, inside, moved.target_values))


def _edges(encoding: Encoding) -> FloatArray:
    """Return the ends of all bins; the outermost are those of the real targets."""
    target, scaling = encoding.schema.target, encoding.scaling
    inner = () if target is None else target.edges
    return np.clip([-np.inf, *inner, np.inf], scaling.low[-1], scaling.high[-1])
