"""Training: several networks at once, each on its own rows.

Reads from: config, errors, diffusion.denoiser, smoothing.  Read by: diffusion.backbone.

The step size is held until the loss has levelled off or most of the steps are used,
then falls to nothing.  A loss that is no longer a number starts the training again at a
lower rate, with a warning.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.encoding import Cells
from tabtap.diffusion.smoothing import Smoothing, bandwidth_for, fit_smoothing
from tabtap.errors import TapError, TrainingRestartWarning

_WARM_UP = 50
_HOLD_SHARE = 0.6
"""Share of the steps after which the step size falls in any case."""

_WINDOW = 200
_LEVEL = 0.99
"""Converged when a window's mean loss is above this share of the window before."""

_BETAS = (0.9, 0.99)
_MAX_RESTARTS = 4
_RESTART_FACTOR = 0.3
_KEEP_SHARE = 0.5
"""Share of the training rows that have kept cells; the others are drawn whole."""


class TrainingProgress(NamedTuple):
    """What an observer is told now and then."""

    step: int
    n_steps: int
    loss: float
    seconds_left: float


class TrainingObserver(Protocol):
    """Sees the training, cannot change it."""

    def on_training(self, progress: TrainingProgress) -> None:
        """Take note of how far the training is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecord:
    """How a training went, and why it ended."""

    n_steps: int
    loss: float
    reason: str
    n_restarts: int
    seconds: float


class _DivergedError(Exception):
    """The loss is no longer a number."""


@dataclass(slots=True)
class _Plan:
    """Where the step size is held and where it ends; moved forward on convergence."""

    n_steps: int
    hold_until: int
    converged: bool = False
    losses: list[float] = field(default_factory=list)

    def note(self, loss: float) -> None:
        self.losses.append(loss)
        done = len(self.losses)
        if done >= self.hold_until or done < 2 * _WINDOW or done % 50:
            return
        recent = float(np.mean(self.losses[-_WINDOW:]))
        before = float(np.mean(self.losses[-2 * _WINDOW : -_WINDOW]))
        if recent > _LEVEL * before:
            self.converged = True
            self.hold_until = done
            self.n_steps = min(self.n_steps, math.ceil(done / _HOLD_SHARE))

    def rate(self, step: int) -> float:
        """Return the share of the highest step size that a step takes."""
        falling = (self.n_steps - step) / max(1, self.n_steps - self.hold_until)
        return min(1.0, (step + 1) / _WARM_UP, falling)

    @property
    def reason(self) -> str:
        if self.converged:
            return (
                f"The loss levelled off after {self.hold_until} steps; "
                f"the step size then fell to nothing by step {self.n_steps}."
            )
        return f"All {self.n_steps} planned steps were taken."


def train(
    denoiser: Denoiser,
    members: Sequence[Cells],
    config: DiffusionConfig,
    generator: torch.Generator,
    observer: TrainingObserver | None = None,
) -> tuple[Tensor, TrainingRecord]:
    """Train one network per member; return averaged weights and how it went."""
    rate, started = config.learning_rate, time.perf_counter()
    for restart in range(_MAX_RESTARTS + 1):
        try:
            flat, plan = _run(denoiser, members, config, generator, rate, observer)
        except _DivergedError:
            rate *= _RESTART_FACTOR
            warnings.warn(
                f"The training loss became NaN or infinite. Training starts again with "
                f"learning_rate={rate:.2g}; pass that value to be spared the attempt.",
                TrainingRestartWarning,
                stacklevel=4,
            )
            continue
        return flat, TrainingRecord(
            n_steps=plan.n_steps,
            loss=float(np.mean(plan.losses[-_WINDOW:])),
            reason=plan.reason,
            n_restarts=restart,
            seconds=time.perf_counter() - started,
        )
    raise TapError(
        f"The training loss became NaN or infinite {_MAX_RESTARTS + 1} times, the last "
        f"time with learning_rate={rate / _RESTART_FACTOR:.2g}. Check the table for "
        "columns with values of wildly different size, or pass a smaller learning_rate."
    )


def steps_for(n_rows: int, config: DiffusionConfig) -> tuple[int, int]:
    """Return the number of training steps and the batch size for so many rows."""
    growth = max(1.0, (n_rows / 500) ** 0.5)
    n_steps = config.n_steps or round(1000 * min(growth, 4.0))
    batch = config.batch_size or round(128 * min(growth, 4.0))
    if config.size == "paper":
        # A batch larger than the table repeats rows within one step for nothing.
        batch = min(batch, max(128, n_rows))
    return n_steps, batch


def _run(
    denoiser: Denoiser,
    members: Sequence[Cells],
    config: DiffusionConfig,
    generator: torch.Generator,
    rate: float,
    observer: TrainingObserver | None,
) -> tuple[Tensor, _Plan]:
    n_steps, batch_size = steps_for(max(len(m.condition) for m in members), config)
    plan = _Plan(n_steps, math.ceil(_HOLD_SHARE * n_steps))
    flat = denoiser.plan.initial(len(members), generator)
    # Leaves that share the matrix's memory: slicing it inside the graph would write a
    # whole matrix of zeros for every layer on the way back.
    weights = {
        name: view.detach().requires_grad_()
        for name, view in denoiser.plan.views(flat).items()
    }
    flat.grad = torch.zeros_like(flat)
    gradients = denoiser.plan.views(flat.grad)
    optimiser = torch.optim.AdamW(
        [flat], lr=rate, betas=_BETAS, weight_decay=0.0, fused=True
    )
    average = flat.clone()
    rows = [_MemberRows(cells, config, generator.device) for cells in members]
    started, step = time.perf_counter(), 0
    while step < plan.n_steps:
        batch = _stack([member.draw(batch_size, generator) for member in rows])
        loss = _loss(denoiser, weights, batch, generator, config)
        # Without numbers, or without groups, some weights have nothing to do.
        slopes = torch.autograd.grad(
            loss.sum(),
            list(weights.values()),
            allow_unused=True,
            materialize_grads=True,
        )
        for gradient, slope in zip(gradients.values(), slopes, strict=True):
            gradient.copy_(slope)
        # Each member's gradient is scaled to norm 1 where it is larger.
        norm = flat.grad.norm(dim=1, keepdim=True)
        flat.grad.mul_(1.0 / norm.clamp(min=1.0))
        optimiser.param_groups[0]["lr"] = rate * plan.rate(step)
        optimiser.step()
        step += 1
        decay = min(config.ema_decay, step / (10 + step))
        average.lerp_(flat, 1 - decay)
        plan.note(_finite(loss))
        if observer is not None and (step % 20 == 0 or step == plan.n_steps):
            left = (time.perf_counter() - started) / step * (plan.n_steps - step)
            recent = float(np.mean(plan.losses[-20:]))
            observer.on_training(TrainingProgress(step, plan.n_steps, recent, left))
    return average, plan


class _Batch(NamedTuple):
    numbers: Tensor
    observed: Tensor
    tokens: Tensor
    condition: Tensor


class _MemberRows:
    """One member's training rows on the device, smoothed as they are drawn."""

    def __init__(
        self, cells: Cells, config: DiffusionConfig, device: torch.device
    ) -> None:
        self._numbers = torch.as_tensor(cells.numbers, device=device)
        self._observed = torch.as_tensor(cells.observed, device=device)
        self._tokens = torch.as_tensor(cells.tokens, device=device)
        self._condition = torch.as_tensor(cells.condition, device=device)
        self._smoothing = _smoothing(cells, config)
        if self._smoothing is not None:
            pair = self._smoothing.means, self._smoothing.factor
            self._means, self._factor = (
                torch.as_tensor(part, dtype=torch.float32, device=device)
                for part in pair
            )

    def draw(self, n_rows: int, generator: torch.Generator) -> _Batch:
        """Draw rows of the (smoothed) table with replacement."""
        device = generator.device
        size = len(self._condition)
        row = torch.randint(size, (n_rows,), generator=generator, device=device)
        numbers, condition = self._numbers[row], self._condition[row]
        if self._smoothing is not None:
            bandwidth = self._smoothing.bandwidth
            noise = torch.randn(numbers.shape, generator=generator, device=device)
            centre = self._means[condition]
            numbers = centre + (numbers - centre) * math.sqrt(1 - bandwidth**2)
            numbers = numbers + bandwidth * noise @ self._factor.T
        return _Batch(numbers, self._observed[row], self._tokens[row], condition)


def _smoothing(cells: Cells, config: DiffusionConfig) -> Smoothing | None:
    bandwidth = config.smoothing
    if bandwidth is None:
        bandwidth = bandwidth_for(*cells.numbers.shape)
    if bandwidth == 0 or cells.numbers.shape[1] == 0:
        return None
    numbers = cells.numbers.astype(np.float64)
    return fit_smoothing(numbers, cells.observed, cells.condition, bandwidth)


def _stack(batches: Sequence[_Batch]) -> _Batch:
    return _Batch(*(torch.stack(parts) for parts in zip(*batches, strict=True)))


def _loss(
    denoiser: Denoiser,
    weights: Mapping[str, Tensor],
    batch: _Batch,
    generator: torch.Generator,
    config: DiffusionConfig,
) -> Tensor:
    """Return each member's loss: weighted squares for numbers, surprise for tokens."""
    n_rows, device = batch.condition.shape[1], generator.device
    noise = denoiser.schedule.draw(weights, n_rows, generator)
    fresh = torch.randn(batch.numbers.shape, generator=generator, device=device)
    noisy = batch.numbers + noise.level.sigma * fresh
    kept = _kept(batch.numbers, generator, config)
    hidden = _hidden(batch.tokens, noise.masking, generator)
    tokens = torch.where(hidden, denoiser.mask_tokens.to(device), batch.tokens)
    rest = batch.numbers, kept, tokens, batch.condition
    numbers, logits = denoiser(weights, noisy, noise.level, rest)
    loss = torch.zeros(len(batch.condition), device=device)
    if batch.numbers.shape[-1]:
        scale = 1 / noise.level.sigma**2 + 1
        counts = (1 - kept) * batch.observed
        loss = loss + (scale * (numbers - batch.numbers) ** 2 * counts).mean((1, 2))
    if batch.tokens.shape[-1]:
        logs = F.log_softmax(logits, dim=-1)
        surprise = -logs.gather(-1, batch.tokens.unsqueeze(-1)).squeeze(-1)
        surprise = (surprise * noise.token_weight * hidden).sum(-1)
        if config.schedule == "fixed":
            surprise = surprise / hidden.sum(-1)
        else:
            surprise = surprise / batch.tokens.shape[-1]
        loss = loss + surprise.mean(-1)
    return loss


def _kept(
    numbers: Tensor, generator: torch.Generator, config: DiffusionConfig
) -> Tensor:
    if config.conditioning == "overwrite":
        return torch.zeros_like(numbers)
    shape, device = (*numbers.shape[:2], 1), generator.device
    share = torch.rand(shape, generator=generator, device=device)
    some = torch.rand(shape, generator=generator, device=device) < _KEEP_SHARE
    cell = torch.rand(numbers.shape, generator=generator, device=device)
    return ((cell < share) & some).float()


def _hidden(tokens: Tensor, masking: Tensor, generator: torch.Generator) -> Tensor:
    """Mask tokens with the given probability, and at least one in every row."""
    device, n_groups = generator.device, tokens.shape[-1]
    hidden = torch.rand(tokens.shape, generator=generator, device=device) < masking
    if n_groups:
        shape = (*tokens.shape[:2], 1)
        one = torch.randint(n_groups, shape, generator=generator, device=device)
        hidden = hidden.scatter(-1, one, value=True)
    return hidden


def _finite(loss: Tensor) -> float:
    value = float(loss.detach().mean())
    if not math.isfinite(value):
        raise _DivergedError
    return value
