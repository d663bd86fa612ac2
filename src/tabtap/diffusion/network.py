"""The network that sees a noisy row and says what it was, and how much noise it sees.

Numbers are preconditioned as in EDM (Karras et al. 2022), with unit data variance, so
that the network works on inputs and outputs of unit size whatever the noise.  A kept
number goes in clean; a kept category is one that is not masked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout

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
    noise_level: Tensor


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
                _fourier_features(rows.noise_level),
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
        level: NoiseLevel,
        rest: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Estimate the clean numbers, and logits of the tokens, of noisy rows.

        ``noisy`` has shape (n_members, n_rows, n_numbers).  ``rest`` is the clean
        numbers, 1 where those are kept, the tokens (masked ones included) and the
        conditions.  Logits have shape (..., n_groups, widest group), minus infinity
        where a group has no such token.
        """
        clean, kept, tokens, condition = rest
        shrink = torch.rsqrt(level.sigma**2 + 1)
        entering = torch.where(kept > 0, clean, noisy * shrink)
        noise_level = level.noise_level.expand(*noisy.shape[:2], 1)
        raw, logits = self._network(
            weights, NetworkInput(entering, kept, tokens, condition, noise_level)
        )
        numbers = noisy * shrink**2 + raw * (level.sigma * shrink)
        return numbers, self._pad_groups(logits)

    def _pad_groups(self, logits: Tensor) -> Tensor:
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


def _fourier_features(noise_level: Tensor) -> Tensor:
    ends = math.log(0.25), math.log(8.0)
    powers = torch.linspace(*ends, _N_FREQUENCIES, device=noise_level.device)
    angles = noise_level * torch.exp(powers)
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


# ---- The network of TabDiff: a token per cell, transformer blocks around a large MLP.
#
# Shape as published (Shi et al. 2025): tokens of 4 numbers, two blocks with one head
# and a hidden layer 32 times as wide on either side of an MLP. The label is one more
# token.


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
            torch.full((size,), index) for index, size in enumerate(layout.group_sizes)
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
        mixed = self._mix(weights, cells.flatten(2), rows.noise_level)
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
        self, weights: Mapping[str, Tensor], cells: Tensor, noise_level: Tensor
    ) -> Tensor:
        powers = torch.arange(_N_WAVES, device=noise_level.device) / _N_WAVES
        angles = noise_level * 1000.0 * 10_000.0**-powers
        features = torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)
        level = F.silu(linear(weights, "level0", features))
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
    normed = _layer_norm(weights, f"{name}.norm0", rows)
    attend = linear(weights, f"{name}.attend", normed)
    query, key, value = torch.split(
        attend.view(n_members, n_rows, n_cells, 3 * d), d, dim=-1
    )
    scores = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(d), dim=-1)
    mixed = (scores @ value).reshape(rows.shape)
    rows = rows + linear(weights, f"{name}.join", mixed)
    fed = F.relu(
        linear(weights, f"{name}.feed0", _layer_norm(weights, f"{name}.norm1", rows))
    )
    return (rows + linear(weights, f"{name}.feed1", fed)).view(cells.shape)


def _layer_norm(weights: Mapping[str, Tensor], name: str, rows: Tensor) -> Tensor:
    normed = F.layer_norm(rows, rows.shape[-1:])
    return normed * weights[f"{name}.gain"] + weights[f"{name}.bias"]


# ---- The weights of several networks as one matrix, a row for each network.
#
# All members of a stack go through every layer in one batched product, and the
# optimiser sees a single tensor: for small networks this is far cheaper than one after
# the other.


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
        weights, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            weights[name] = flat[:, start:stop].view(flat.shape[0], *shape)
            start = stop
        return weights

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


# ---- How much noise: while training, and along the way back.
#
# Numbers get Gaussian noise of standard deviation sigma, categories are masked with
# some probability. The fixed schedule is EDM's (log-normal sigma in training, a power
# grid on the way back), with the masking rate drawn apart from sigma, so that the
# network knows every mixture of the two. The learned one is TabDiff's: one time for the
# row, and an exponent of its own for every column.


_SIGMA_LOG_MEAN = -0.4
_SIGMA_LOG_SPREAD = 1.2
_GRID_POWER = 7.0
_LEAST_TIME = 1e-3
_MAX_EVENTS = 32
"""Most events of either kind in one way back."""


class NoiseLevel(NamedTuple):
    """The noise of some rows."""

    noise_level: Tensor
    """What the network is told of it, shape (n_members, n_rows, 1)."""

    sigma: Tensor
    """Noise of each number, broadcastable to (n_members, n_rows, n_numbers)."""


class TrainingNoise(NamedTuple):
    """The noise of one training batch."""

    level: NoiseLevel

    masking: Tensor
    """Probability that each token is masked."""

    token_weight: Tensor
    """Weight of each token's loss where it is masked."""


class Schedule(Protocol):
    """One way of choosing noise; ``weights`` are the network's, for what is learned."""

    shapes: Mapping[str, tuple[int, ...]]

    def draw(
        self, weights: Mapping[str, Tensor], n_rows: int, generator: torch.Generator
    ) -> TrainingNoise:
        """Draw the noise of a training batch."""

    def reverse_levels(self, weights: Mapping[str, Tensor]) -> list[NoiseLevel]:
        """Return the levels of the reverse process, from most noise to none."""

    def events(self) -> list[int]:
        """Return, for each reverse step, how often tokens are uncovered in it."""

    def uncovered_at(
        self, weights: Mapping[str, Tensor], free: Tensor, chance: Tensor
    ) -> Tensor:
        """Return the event at which each free token is uncovered."""


class FixedSchedule:
    """EDM's noise for numbers, every masking rate alike for categories."""

    shapes: Mapping[str, tuple[int, ...]]

    def __init__(self, layout: Layout, config: DiffusionConfig) -> None:
        self.shapes = {}
        self._layout = layout
        self._config = config

    def draw(
        self, weights: Mapping[str, Tensor], n_rows: int, generator: torch.Generator
    ) -> TrainingNoise:
        """Draw sigma and masking rate independently for every row."""
        n_members = next(iter(weights.values())).shape[0]
        shape, device = (n_members, n_rows, 1), generator.device
        log_sigma = torch.randn(shape, generator=generator, device=device)
        sigma = torch.exp(_SIGMA_LOG_MEAN + _SIGMA_LOG_SPREAD * log_sigma)
        masking = torch.rand(shape, generator=generator, device=device)
        # Every masked cell counts alike: the loss of an order drawn at random.
        return TrainingNoise(_level(sigma), masking, torch.ones_like(masking))

    def reverse_levels(self, weights: Mapping[str, Tensor]) -> list[NoiseLevel]:
        """Return EDM's grid of sigmas, then 0."""
        like = next(iter(weights.values()))
        config, n_steps = self._config, self._config.n_sample_steps
        fraction = torch.linspace(0, 1, n_steps, device=like.device)
        top = config.sigma_max ** (1 / _GRID_POWER)
        bottom = config.sigma_min ** (1 / _GRID_POWER)
        grid = (top + fraction * (bottom - top)) ** _GRID_POWER
        levels = [_level(sigma.reshape(1, 1, 1)) for sigma in grid]
        last = levels[-1]
        return [*levels, NoiseLevel(last.noise_level, torch.zeros_like(last.sigma))]

    def events(self) -> list[int]:
        """Settle the states of numbers in the first steps, categories in the last.

        A hole or a spike must be decided before the number is drawn; a category fits
        best when all else is there.
        """
        n_steps = self._config.n_sample_steps
        n_late = max(1, round(n_steps * self._config.category_phase))
        n_early = max(1, n_steps - n_late) // 2 or 1
        counts = [0] * n_steps
        n_states, n_others = self._event_counts()
        for event in range(n_states):
            counts[event * n_early // n_states] += 1
        for event in range(n_others):
            counts[n_steps - n_late + event * n_late // n_others] += 1
        return counts

    def uncovered_at(
        self, weights: Mapping[str, Tensor], free: Tensor, chance: Tensor
    ) -> Tensor:
        """Uncover free tokens in random order, one per event and as late as can be.

        Two tokens uncovered together do not see each other, and may not fit.
        """
        del weights
        n_states, n_others = self._event_counts()
        first = free.shape[-1] - self._layout.n_states
        states = _in_turn(free[..., first:], chance[..., first:], n_states)
        others = _in_turn(free[..., :first], chance[..., :first], n_others)
        return torch.cat([others + n_states, states], dim=-1)

    def _event_counts(self) -> tuple[int, int]:
        n_states = self._layout.n_states
        n_others = len(self._layout.group_sizes) - n_states
        return min(_MAX_EVENTS, n_states), min(_MAX_EVENTS, n_others)


class LearnedSchedule:
    """TabDiff's schedules: a power mean per number, a power of time per category."""

    def __init__(self, layout: Layout, config: DiffusionConfig) -> None:
        self.shapes: Mapping[str, tuple[int, ...]] = {
            "schedule.power.bias": (1, layout.n_numbers),
            "schedule.rate.bias": (1, len(layout.group_sizes)),
        }
        self._config = config

    def draw(
        self, weights: Mapping[str, Tensor], n_rows: int, generator: torch.Generator
    ) -> TrainingNoise:
        """Draw one time per row; every column has its own noise at that time."""
        rate = self._rate(weights)
        shape = (rate.shape[0], n_rows, 1)
        time = torch.rand(shape, generator=generator, device=generator.device)
        time = time.clamp(min=_LEAST_TIME)
        masking = time**rate
        level = NoiseLevel(time, self._sigma(weights, time))
        return TrainingNoise(level, masking.detach(), rate / time)

    def reverse_levels(self, weights: Mapping[str, Tensor]) -> list[NoiseLevel]:
        """Return even steps of time from 1 to 0, without noise at the end."""
        times = torch.linspace(1, 0, self._config.n_sample_steps + 1)
        like = next(iter(weights.values()))
        levels = [
            NoiseLevel(time, self._sigma(weights, time))
            for time in times.to(like.device).reshape(-1, 1, 1, 1)
        ]
        last = levels[-1]
        return [
            *levels[:-1],
            NoiseLevel(last.noise_level, torch.zeros_like(last.sigma)),
        ]

    def events(self) -> list[int]:
        """Uncover tokens once in every step."""
        return [1] * self._config.n_sample_steps

    def uncovered_at(
        self, weights: Mapping[str, Tensor], free: Tensor, chance: Tensor
    ) -> Tensor:
        """Uncover each token when its own schedule says so."""
        del free
        n_steps = self._config.n_sample_steps
        time = chance ** (1 / self._rate(weights))
        return ((1 - time) * n_steps).floor().clamp(0, n_steps - 1).long()

    def _sigma(self, weights: Mapping[str, Tensor], time: Tensor) -> Tensor:
        # Softplus keeps the power above 1; the offset makes it start at 7, EDM's.
        power = 1.0 + F.softplus(weights["schedule.power.bias"] + 6.0)
        bottom = self._config.sigma_min ** (1 / power)
        top = self._config.sigma_max ** (1 / power)
        return (bottom + time * (top - bottom)) ** power

    def _rate(self, weights: Mapping[str, Tensor]) -> Tensor:
        # Starts at 1, where masking grows evenly with time.
        return F.softplus(weights["schedule.rate.bias"] + 0.5413) + 1e-3


def make_schedule(layout: Layout, config: DiffusionConfig) -> Schedule:
    """Return the schedule the settings name."""
    if config.schedule == "learned":
        return LearnedSchedule(layout, config)
    return FixedSchedule(layout, config)


def _level(sigma: Tensor) -> NoiseLevel:
    return NoiseLevel(torch.log(sigma) / 4, sigma)


def _in_turn(free: Tensor, chance: Tensor, n_events: int) -> Tensor:
    """Return the event of each free token, in random order."""
    rank = torch.where(free, chance, 2.0).argsort(-1).argsort(-1)
    n_free = free.sum(-1, keepdim=True).clamp(min=1)
    crowded = (rank * n_events).div(n_free, rounding_mode="floor")
    return torch.where(n_free > n_events, crowded, rank + n_events - n_free)
