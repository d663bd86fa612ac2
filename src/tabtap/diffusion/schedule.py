"""How much noise: while training, and along the way back.

Numbers get Gaussian noise of standard deviation sigma, categories are masked with some
probability.  The fixed schedule is EDM's (log-normal sigma in training, a power grid
on the way back), with the masking rate drawn apart from sigma, so that the network
knows every mixture of the two.  The learned one is TabDiff's: one time for the row,
and an exponent of its own for every column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout

_SIGMA_LOG_MEAN = -0.4
_SIGMA_LOG_SPREAD = 1.2
_GRID_POWER = 7.0
_LEAST_TIME = 1e-3
_MAX_EVENTS = 32
"""Most events of either kind in one way back."""


class Level(NamedTuple):
    """The noise of some rows."""

    told: Tensor
    """What the network is told of it, shape (n_members, n_rows, 1)."""

    sigma: Tensor
    """Noise of each number, broadcastable to (n_members, n_rows, n_numbers)."""


class TrainingNoise(NamedTuple):
    """The noise of one training batch."""

    level: Level

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

    def way_back(self, weights: Mapping[str, Tensor]) -> list[Level]:
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

    def way_back(self, weights: Mapping[str, Tensor]) -> list[Level]:
        """Return EDM's grid of sigmas, then 0."""
        like = next(iter(weights.values()))
        config, n_steps = self._config, self._config.n_sample_steps
        place = torch.linspace(0, 1, n_steps, device=like.device)
        top = config.sigma_max ** (1 / _GRID_POWER)
        bottom = config.sigma_min ** (1 / _GRID_POWER)
        grid = (top + place * (bottom - top)) ** _GRID_POWER
        levels = [_level(sigma.reshape(1, 1, 1)) for sigma in grid]
        return [*levels, Level(levels[-1].told, torch.zeros_like(levels[-1].sigma))]

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
        level = Level(time, self._sigma(weights, time))
        return TrainingNoise(level, masking.detach(), rate / time)

    def way_back(self, weights: Mapping[str, Tensor]) -> list[Level]:
        """Return even steps of time from 1 to 0, without noise at the end."""
        times = torch.linspace(1, 0, self._config.n_sample_steps + 1)
        like = next(iter(weights.values()))
        levels = [
            Level(time, self._sigma(weights, time))
            for time in times.to(like.device).reshape(-1, 1, 1, 1)
        ]
        last = levels[-1]
        return [*levels[:-1], Level(last.told, torch.zeros_like(last.sigma))]

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


def _level(sigma: Tensor) -> Level:
    return Level(torch.log(sigma) / 4, sigma)


def _in_turn(free: Tensor, chance: Tensor, n_events: int) -> Tensor:
    """Return the event of each free token, in random order."""
    rank = torch.where(free, chance, 2.0).argsort(-1).argsort(-1)
    n_free = free.sum(-1, keepdim=True).clamp(min=1)
    crowded = (rank * n_events).div(n_free, rounding_mode="floor")
    return torch.where(n_free > n_events, crowded, rank + n_events - n_free)
