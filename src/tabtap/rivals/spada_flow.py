"""Conditional normalising flows, one for each number, trained side by side.

A flow turns a number into a standard normal one: it is moved and stretched, then bent
by a monotonic rational-quadratic spline, all as a small network of the parents says.
Weights of all networks are stacked, so that a step of all flows costs little more than
one of a single flow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tabtap.errors import require
from tabtap.table.schema import BoolArray, FloatArray

Weights = Mapping[str, Tensor]

_DROPOUT = 0.1
_HELD_OUT = 0.2
"""Share of the rows that say when a flow has learned enough."""

_STEPS_UNJUDGED = 100
"""Most steps where there are too few rows to hold any out."""

_CHECK_EVERY = 20
_MOST_ROWS = 256
"""Rows of one training step."""

_WIDEST = 5.0
"""Most that a network moves or stretches a number, in its deviations and e-folds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSettings:
    """How flows are built and trained."""

    hidden: int = 32
    """Units of each of the two layers of a network."""

    n_bins: int = 8
    """Bins of the spline."""

    n_steps: int = 1000
    """Most training steps."""

    patience: int = 200
    """Steps without a gain on held-out rows after which training ends."""

    learning_rate: float = 5e-3
    """Step size of AdamW at the start; it falls to nothing by a cosine."""


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Fitted flows; each is drawn from by its place."""

    weights: Weights
    """Stacked over flows."""

    width: int
    """Inputs of every network; a flow with fewer has zeros."""

    settings: FlowSettings

    def sample(
        self, flow_index: int, context: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw one number for each row of parents."""
        own = {name: tensor[[flow_index]] for name, tensor in self.weights.items()}
        noise = torch.as_tensor(rng.standard_normal(len(context)), dtype=torch.float32)
        with torch.no_grad():
            inputs = torch.as_tensor(_pad(context, self.width))[None]
            shift, stretch, spline = _transform(own, inputs, self.settings)
            bent = spline.inv(noise[None])
            numbers = bent * torch.exp(stretch) + shift
        return np.asarray(numbers[0].numpy(), dtype=np.float64)


def fit_flows(
    numbers: FloatArray,
    present: BoolArray,
    contexts: Sequence[FloatArray],
    settings: FlowSettings,
    rng: np.random.Generator,
) -> Flows:
    """Fit one flow for each column of numbers, which are standardised.

    A flow learns from the numbers that are ``present``, of shape (n_rows, n_flows) as
    the numbers are, given its context of shape (n_rows, any).  First weights, batches
    and held-out rows come from ``rng``.
    """
    width = max([1, *(context.shape[1] for context in contexts)])
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    inputs = np.stack([_pad(context, width) for context in contexts])
    rows = _Rows(
        torch.as_tensor(inputs),
        torch.as_tensor(np.where(present, numbers, 0.0).T, dtype=torch.float32),
        torch.as_tensor(present.T.copy()),
    )
    start = _initial(len(contexts), width, settings, generator)
    held_out = torch.rand(len(numbers), generator=generator) < _HELD_OUT
    if len(numbers) * _HELD_OUT < 2 or not held_out.any() or held_out.all():
        held_out = torch.zeros(len(numbers), dtype=torch.bool)
    best = _train(start, rows, held_out, settings, generator)
    return Flows(best, width, settings)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What flows learn from, each tensor with flows first and rows second."""

    inputs: Tensor
    numbers: Tensor
    present: Tensor

    def take(self, rows: Tensor) -> _Rows:
        return _Rows(self.inputs[:, rows], self.numbers[:, rows], self.present[:, rows])


def _train(
    weights: dict[str, Tensor],
    rows: _Rows,
    held_out: Tensor,
    settings: FlowSettings,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """Return every flow's weights at the step where held-out rows fitted it best."""
    learned = torch.nonzero(~held_out)[:, 0]
    judging = rows.take(torch.nonzero(held_out)[:, 0]) if held_out.any() else None
    optimiser = torch.optim.AdamW(
        list(weights.values()), lr=settings.learning_rate, weight_decay=1e-3
    )
    best = {name: tensor.detach().clone() for name, tensor in weights.items()}
    least = torch.full((len(rows.numbers),), math.inf)
    last_gain = 0
    n_steps = settings.n_steps if judging else min(settings.n_steps, _STEPS_UNJUDGED)
    for step in range(n_steps):
        if step % _CHECK_EVERY == 0:
            gained = _keep_better(weights, best, least, judging, settings)
            last_gain = step if gained else last_gain
            if step - last_gain >= settings.patience:
                break
        batch = learned
        if len(learned) > _MOST_ROWS:
            drawn = torch.randint(len(learned), (_MOST_ROWS,), generator=generator)
            batch = learned[drawn]
        share = 0.5 * (1 + math.cos(math.pi * step / n_steps))
        optimiser.param_groups[0]["lr"] = settings.learning_rate * share
        loss = _loss(weights, rows.take(batch), settings, generator).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 5.0 * len(least) ** 0.5)
        optimiser.step()
    _keep_better(weights, best, least, judging, settings)
    return best


def _keep_better(
    weights: Weights,
    best: dict[str, Tensor],
    least: Tensor,
    judging: _Rows | None,
    settings: FlowSettings,
) -> bool:
    """Copy the weights of flows that fit held-out rows better than ever before."""
    if judging is None:
        better = torch.ones(len(least), dtype=torch.bool)
    else:
        with torch.no_grad():
            loss = _loss(weights, judging, settings, None)
        better = loss < least
        least[better] = loss[better]
    for name, tensor in weights.items():
        best[name][better] = tensor.detach()[better]
    return bool(better.any())


def _loss(
    weights: Weights,
    rows: _Rows,
    settings: FlowSettings,
    generator: torch.Generator | None,
) -> Tensor:
    """Return each flow's mean negative log-likelihood."""
    shift, stretch, spline = _transform(weights, rows.inputs, settings, generator)
    scaled = (rows.numbers - shift) * torch.exp(-stretch)
    bent, slope = spline.call_and_ladj(scaled)
    losses = 0.5 * bent**2 - slope + stretch
    n_present = rows.present.sum(dim=1).clamp(min=1)
    return torch.where(rows.present, losses, 0.0).sum(dim=1) / n_present


def _transform(
    weights: Weights,
    inputs: Tensor,
    settings: FlowSettings,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Any]:
    """Return shift, logarithm of the stretch, and the spline for every row."""
    hidden = inputs
    for layer in ("first", "second"):
        hidden = torch.baddbmm(weights[f"{layer}_bias"], hidden, weights[layer])
        hidden = torch.nn.functional.silu(hidden)
        if generator is not None:
            kept = torch.rand(hidden.shape, generator=generator) >= _DROPOUT
            hidden = hidden * kept / (1 - _DROPOUT)
    out = torch.baddbmm(weights["last_bias"], hidden, weights["last"])
    bins = settings.n_bins
    shift, stretch = (_WIDEST * torch.tanh(out[..., k] / _WIDEST) for k in (0, 1))
    parts = torch.split(out[..., 2:], [bins, bins, bins - 1], dim=-1)
    return shift, stretch, require("zuko.transforms").MonotonicRQSTransform(*parts)


def _initial(
    n_flows: int, width: int, settings: FlowSettings, generator: torch.Generator
) -> dict[str, Tensor]:
    """Return first weights; every flow begins as the standard normal."""
    hidden, n_out = settings.hidden, 3 * settings.n_bins + 1
    weights: dict[str, Tensor] = {}
    sizes = {"first": (width, hidden), "second": (hidden, hidden)}
    for name, (n_in, n_next) in sizes.items():
        first = torch.randn((n_flows, n_in, n_next), generator=generator)
        weights[name] = first / math.sqrt(n_in)
        weights[f"{name}_bias"] = torch.zeros((n_flows, 1, n_next))
    weights["last"] = torch.zeros((n_flows, hidden, n_out))
    weights["last_bias"] = torch.zeros((n_flows, 1, n_out))
    return {name: tensor.requires_grad_() for name, tensor in weights.items()}


def _pad(context: FloatArray, width: int) -> Any:  # noqa: ANN401  float32 array
    padded = np.zeros((len(context), width), dtype=np.float32)
    padded[:, : context.shape[1]] = context
    return padded
