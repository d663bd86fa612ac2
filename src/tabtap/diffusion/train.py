"""Training: several networks at once, each on its own rows.

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
from torch.optim.adamw import adamw

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Cells
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.scaling import Smoothing, bandwidth_of, fit_smoothing
from tabtap.errors import TapError, TrainingRestartWarning

_WARM_UP = 50
_HOLD_SHARE = 0.6
"""Share of the steps after which the step size falls in any case."""

_WINDOW = 200
_CHECK_EVERY = 50
_LEAST_GAIN = 0.003
_PATIENCE = 500
"""Converged when the mean loss of a window has not gained for so many steps."""

_BETAS = (0.9, 0.99)
_MAX_RESTARTS = 4
_RESTART_FACTOR = 0.3


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
    early_stopping: bool
    converged: bool = False
    losses: list[float] = field(default_factory=list)
    best: float = math.inf
    best_at: int = 0

    def note(self, loss: float) -> None:
        """Take note of a loss; end the holding when it has long not been better."""
        self.losses.append(loss)
        done = len(self.losses)
        in_time = self.early_stopping and _WINDOW <= done < self.hold_until
        if not in_time or done % _CHECK_EVERY:
            return
        recent = float(np.mean(self.losses[-_WINDOW:]))
        if recent < self.best * (1 - _LEAST_GAIN):
            self.best, self.best_at = recent, done
        elif done - self.best_at >= _PATIENCE:
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
    layout = denoiser.layout
    if layout.n_numbers == 0 and not layout.group_sizes:
        weights = denoiser.plan.initial(len(members), generator)
        return weights, TrainingRecord(
            n_steps=0,
            loss=0.0,
            reason="There is nothing to learn: no column has more than one value.",
            n_restarts=0,
            seconds=0.0,
        )
    rate, started = config.learning_rate, time.perf_counter()
    for restart in range(_MAX_RESTARTS + 1):
        try:
            flat, plan = _run(denoiser, members, config, generator, rate, observer)
        except _DivergedError:
            if restart == _MAX_RESTARTS:
                break
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
        f"time with learning_rate={rate:.2g}. Check the table for "
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
    plan = _Plan(n_steps, math.ceil(_HOLD_SHARE * n_steps), config.early_stopping)
    flat = denoiser.plan.initial(len(members), generator)
    # Leaves that share the matrix's memory: slicing it inside the graph would write a
    # whole matrix of zeros for every layer on the way back.
    weights = {
        name: view.detach().requires_grad_()
        for name, view in denoiser.plan.views(flat).items()
    }
    flat.grad = torch.zeros_like(flat)
    gradients = denoiser.plan.views(flat.grad)
    optimiser = _AdamW(flat)
    average = flat.clone()
    rows = [MemberRows(cells, config, generator.device) for cells in members]
    started, step = time.perf_counter(), 0
    while step < plan.n_steps:
        batch = stack_batches([member.draw(batch_size, generator) for member in rows])
        loss = training_loss(denoiser, weights, batch, generator, config)
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
        optimiser.step(rate * plan.rate(step))
        step += 1
        decay = min(config.ema_decay, step / (10 + step))
        average.lerp_(flat, 1 - decay)
        plan.note(_finite(loss))
        if observer is not None and (step % 20 == 0 or step == plan.n_steps):
            left = (time.perf_counter() - started) / step * (plan.n_steps - step)
            recent = float(np.mean(plan.losses[-20:]))
            observer.on_training(TrainingProgress(step, plan.n_steps, recent, left))
    return average, plan


class _AdamW:
    """torch's own AdamW by its function: the class imports a compiler first.

    That took more than a second of a run of thirty.
    """

    def __init__(self, flat: Tensor) -> None:
        self.flat = flat
        self.moments = torch.zeros_like(flat), torch.zeros_like(flat)
        self.n_steps = torch.zeros((), device=flat.device)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move the weights down their gradient."""
        gradient = self.flat.grad
        if gradient is None:
            raise AssertionError
        first, second = self.moments
        adamw(
            *([self.flat], [gradient], [first], [second], [], [self.n_steps]),
            fused=True,
            amsgrad=False,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            lr=rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )


def _finite(loss: Tensor) -> float:
    value = float(loss.detach().mean())
    if not math.isfinite(value):
        raise _DivergedError
    return value


# ---- What training makes small: the error of the denoiser on freshly corrupted rows.


_KEEP_SHARE = 0.8
"""Share of the rows that have kept cells; the others are drawn whole."""


def training_loss(
    denoiser: Denoiser,
    weights: Mapping[str, Tensor],
    batch: Batch,
    generator: torch.Generator,
    config: DiffusionConfig,
) -> Tensor:
    """Return each member's loss: weighted squares of numbers, cross entropy of tokens.

    The number of a hole, which is the mean, is learned like any other: only a number
    that goes there tells, later, that the cell is a hole.
    """
    n_rows, device = batch.condition.shape[1], generator.device
    noise = denoiser.schedule.draw(weights, n_rows, generator)
    fresh = torch.randn(batch.numbers.shape, generator=generator, device=device)
    noisy = batch.numbers + noise.level.sigma * fresh
    kept = _draw_kept(batch.numbers, generator, config)
    if denoiser.layout.target_is_given:
        kept[..., -1] = 1.0
    hidden = _draw_hidden(batch.tokens, noise.masking, generator)
    tokens = torch.where(hidden, denoiser.mask_tokens.to(device), batch.tokens)
    rest = batch.numbers, kept, tokens, batch.condition
    numbers, logits = denoiser(weights, noisy, noise.level, rest)
    loss = torch.zeros(len(batch.condition), device=device)
    if batch.numbers.shape[-1]:
        scale = (1 / noise.level.sigma**2 + 1) * (1 - kept)
        loss = loss + (scale * (numbers - batch.numbers) ** 2).mean((1, 2))
    if batch.tokens.shape[-1]:
        logs = F.log_softmax(logits, dim=-1)
        cross_entropy = -logs.gather(-1, batch.tokens.unsqueeze(-1)).squeeze(-1)
        cross_entropy = (cross_entropy * noise.token_weight * hidden).sum(-1)
        if config.schedule == "fixed":
            cross_entropy = cross_entropy / hidden.sum(-1)
        else:
            cross_entropy = cross_entropy / batch.tokens.shape[-1]
        loss = loss + cross_entropy.mean(-1)
    return loss


def _draw_kept(
    numbers: Tensor, generator: torch.Generator, config: DiffusionConfig
) -> Tensor:
    if config.conditioning == "overwrite":
        return torch.zeros_like(numbers)
    shape, device = (*numbers.shape[:2], 1), generator.device
    share = torch.rand(shape, generator=generator, device=device)
    some = torch.rand(shape, generator=generator, device=device) < _KEEP_SHARE
    cell = torch.rand(numbers.shape, generator=generator, device=device)
    return ((cell < share) & some).float()


def _draw_hidden(tokens: Tensor, masking: Tensor, generator: torch.Generator) -> Tensor:
    """Mask tokens with the given probability, and at least one in every row."""
    device, n_groups = generator.device, tokens.shape[-1]
    hidden = torch.rand(tokens.shape, generator=generator, device=device) < masking
    if n_groups:
        shape = (*tokens.shape[:2], 1)
        one = torch.randint(n_groups, shape, generator=generator, device=device)
        hidden = hidden.scatter(-1, one, value=True)
    return hidden


# ---- Training rows, drawn with replacement from the (smoothed) table.


class Batch(NamedTuple):
    """Clean rows, each tensor of shape (n_members, n_rows, ...)."""

    numbers: Tensor
    tokens: Tensor
    condition: Tensor


class MemberRows:
    """One member's training rows on the device, smoothed as they are drawn."""

    def __init__(
        self, cells: Cells, config: DiffusionConfig, device: torch.device
    ) -> None:
        self._numbers = torch.as_tensor(cells.numbers, device=device)
        self._tokens = torch.as_tensor(cells.tokens, device=device)
        self._condition = torch.as_tensor(cells.condition, device=device)
        self._smoothing = _smoothing(cells, config)
        if self._smoothing is not None:
            _, means, factor = self._smoothing
            self._means = torch.as_tensor(means, dtype=torch.float32, device=device)
            self._factor = torch.as_tensor(factor, dtype=torch.float32, device=device)

    def draw(self, n_rows: int, generator: torch.Generator) -> Batch:
        """Draw rows with replacement."""
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
        return Batch(numbers, self._tokens[row], condition)


def stack_batches(batches: Sequence[Batch]) -> Batch:
    """Return one batch of several members' rows."""
    return Batch(*(torch.stack(parts) for parts in zip(*batches, strict=True)))


def _smoothing(cells: Cells, config: DiffusionConfig) -> Smoothing | None:
    n_rows, n_numbers = cells.numbers.shape
    bandwidth = bandwidth_of(n_rows, n_numbers, config)
    if bandwidth == 0 or cells.numbers.shape[1] == 0:
        return None
    numbers = cells.numbers.astype(np.float64)
    return fit_smoothing(numbers, cells.observed, cells.condition, bandwidth)
