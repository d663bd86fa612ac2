"""The way back: from noise and masks to rows, around the cells that stay.

Numbers follow EDM's stochastic sampler with second-order correction (Karras et al.
2022, algorithm 2), column by column where the schedule differs by column.  Categories
are uncovered one event at a time, each drawn from what the network says given all that
is already there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.schedule import Level

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
        self._levels = denoiser.schedule.way_back(weights)
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

    def _denoise(self, job: Job, state: _State, level: Level) -> tuple[Tensor, Tensor]:
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

    def _add_churn(self, job: Job, state: _State, step: int) -> Level:
        level = self._levels[step]
        if self._churn == 0 or step == 0:
            return level
        # Never noisier than the step before, so that the way back stays one.
        raised = torch.minimum(
            level.sigma * (1 + self._churn), self._levels[step - 1].sigma
        )
        added = (raised**2 - level.sigma**2).clamp(min=0).sqrt()
        state.numbers = state.numbers + added * job.fresh[step]
        return self._told_of(raised, level, step)

    def _told_of(self, raised: Tensor, level: Level, step: int) -> Level:
        """Say what the network is told at a noise between two levels."""
        above = self._levels[step - 1]
        share = (raised.log() - level.sigma.log()) / (
            above.sigma.log() - level.sigma.log()
        )
        told = level.told + share.mean(-1, keepdim=True) * (above.told - level.told)
        return Level(told, raised)

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
        self, job: Job, state: _State, now: Level, after: Level, estimate: Tensor
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
