import math

import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.train import Batch, training_loss


class Known(Denoiser):
    """Answers with fixed numbers and fixed logits, and remembers what it was shown."""

    def __init__(self, layout, config, numbers, logits):
        super().__init__(layout, config)
        self._answer = numbers, logits
        self.seen = []

    def __call__(self, weights, noisy, level, rest):  # noqa: ARG002
        self.seen.append((noisy, level, rest))
        return self._answer


def loss_of(layout, batch, numbers, logits, **settings):
    config = DiffusionConfig(**settings)
    denoiser = Known(layout, config, numbers, logits)
    weights = denoiser.plan.views(torch.zeros(1, denoiser.plan.n_weights))
    generator = torch.Generator().manual_seed(0)
    return training_loss(denoiser, weights, batch, generator, config), denoiser


def test_a_perfect_answer_costs_nothing():
    layout = Layout(2, (2,), 0, 1)
    numbers = torch.randn(1, 64, 2, generator=torch.Generator().manual_seed(1))
    tokens = torch.randint(2, (1, 64, 1), generator=torch.Generator().manual_seed(2))
    logits = torch.where(torch.arange(2) == tokens, 0.0, -1e9).unsqueeze(2)
    batch = Batch(numbers, tokens, torch.zeros(1, 64, dtype=torch.long))

    loss, _ = loss_of(layout, batch, numbers, logits)

    assert loss.tolist() == [0.0]


@pytest.mark.parametrize("n_tokens", [2, 5])
def test_a_guess_among_tokens_costs_its_entropy(n_tokens):
    layout = Layout(0, (n_tokens, n_tokens), 0, 1)
    tokens = torch.zeros(1, 32, 2, dtype=torch.long)
    batch = Batch(torch.zeros(1, 32, 0), tokens, torch.zeros(1, 32, dtype=torch.long))

    loss, _ = loss_of(
        layout, batch, torch.zeros(1, 32, 0), torch.zeros(1, 32, 2, n_tokens)
    )

    assert math.isclose(loss.item(), math.log(n_tokens), rel_tol=1e-5)


def test_kept_numbers_go_in_clean_and_are_not_counted():
    layout = Layout(3, (), 0, 1)
    numbers = torch.ones(1, 256, 3)
    batch = Batch(
        numbers,
        torch.zeros(1, 256, 0, dtype=torch.long),
        torch.zeros(1, 256, dtype=torch.long),
    )
    # Wrong by 1 everywhere, so the loss is the mean weight of the cells that count.
    loss, denoiser = loss_of(layout, batch, numbers + 1, torch.zeros(1, 256, 0, 1))

    _, level, (clean, kept, _, _) = denoiser.seen[0]
    weight = (1 / level.sigma**2 + 1) * (1 - kept)
    assert torch.equal(clean, numbers)
    assert 0.2 < kept.mean() < 0.6
    assert math.isclose(loss.item(), weight.mean().item(), rel_tol=1e-5)


def test_overwriting_trains_without_kept_cells():
    layout = Layout(3, (), 0, 1)
    batch = Batch(
        torch.ones(1, 64, 3),
        torch.zeros(1, 64, 0, dtype=torch.long),
        torch.zeros(1, 64, dtype=torch.long),
    )

    _, denoiser = loss_of(
        layout,
        batch,
        torch.ones(1, 64, 3),
        torch.zeros(1, 64, 0, 1),
        conditioning="overwrite",
    )

    _, _, (_, kept, _, _) = denoiser.seen[0]
    assert not kept.any()


def test_every_row_has_a_masked_token_to_learn_from():
    layout = Layout(0, (3, 3, 3), 0, 1)
    tokens = torch.zeros(1, 500, 3, dtype=torch.long)
    batch = Batch(torch.zeros(1, 500, 0), tokens, torch.zeros(1, 500, dtype=torch.long))

    _, denoiser = loss_of(
        layout, batch, torch.zeros(1, 500, 0), torch.zeros(1, 500, 3, 3)
    )

    _, _, (_, _, shown, _) = denoiser.seen[0]
    n_masked = (shown == 3).sum(-1)
    assert n_masked.min() == 1
    assert n_masked.max() == 3
