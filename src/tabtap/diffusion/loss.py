"""What training makes small: the error of the denoiser on freshly corrupted rows."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.config import DiffusionConfig
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.rows import Batch

_KEEP_SHARE = 0.8
"""Share of the rows that have kept cells; the others are drawn whole."""


def training_loss(
    denoiser: Denoiser,
    weights: Mapping[str, Tensor],
    batch: Batch,
    generator: torch.Generator,
    config: DiffusionConfig,
) -> Tensor:
    """Return each member's loss: weighted squares for numbers, surprise for tokens.

    The number of a hole, which is the mean, is learned like any other: only a number
    that goes there tells, later, that the cell is a hole.
    """
    n_rows, device = batch.condition.shape[1], generator.device
    noise = denoiser.schedule.draw(weights, n_rows, generator)
    fresh = torch.randn(batch.numbers.shape, generator=generator, device=device)
    noisy = batch.numbers + noise.level.sigma * fresh
    kept = _kept(batch.numbers, generator, config)
    if denoiser.layout.target_is_given:
        kept[..., -1] = 1.0
    hidden = _hidden(batch.tokens, noise.masking, generator)
    tokens = torch.where(hidden, denoiser.mask_tokens.to(device), batch.tokens)
    rest = batch.numbers, kept, tokens, batch.condition
    numbers, logits = denoiser(weights, noisy, noise.level, rest)
    loss = torch.zeros(len(batch.condition), device=device)
    if batch.numbers.shape[-1]:
        scale = (1 / noise.level.sigma**2 + 1) * (1 - kept)
        loss = loss + (scale * (numbers - batch.numbers) ** 2).mean((1, 2))
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
