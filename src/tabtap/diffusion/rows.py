"""Training rows, drawn with replacement from the (smoothed) table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Cells
from tabtap.diffusion.smoothing import Smoothing, bandwidth_of, fit_smoothing


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
