"""The way back with a network whose answers are known: no training is needed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.sample import Job, Sampler

N_ROWS = 4000
CORRELATION = 0.8


class Ideal(Denoiser):
    """Know the best answer for two standard normal numbers and for any tokens."""

    def __init__(self, layout, config, chances):
        super().__init__(layout, config)
        self._log_chances = torch.tensor(chances).log()

    def __call__(self, weights, noisy, level, rest):
        del weights
        clean, kept, tokens, _ = rest
        covariance = torch.tensor([[1.0, CORRELATION], [CORRELATION, 1.0]])
        # A kept number is one without noise.
        kept = kept[0, 0]
        seen = torch.where(kept > 0, clean, noisy)
        noise = torch.diag(level.sigma.flatten()[0] ** 2 * (1 - kept) + 1e-6 * kept)
        answer = seen @ torch.linalg.inv(covariance + noise) @ covariance
        logits = self._log_chances.expand(*tokens.shape, -1)
        return answer, logits


def run(*, free_numbers=(True, True), chances=(0.2, 0.5, 0.3), **settings):
    """Draw rows of two numbers and a category around the anchors (1, 1, token 2)."""
    config = DiffusionConfig(n_sample_steps=30, **settings)
    denoiser = Ideal(Layout(2, (3,), 0, 1), config, chances)
    generator = torch.Generator().manual_seed(0)
    noise = (31, 1, N_ROWS, 2)
    job = Job(
        condition=torch.zeros(1, N_ROWS, dtype=torch.long),
        numbers=torch.ones(1, N_ROWS, 2),
        free_numbers=torch.tensor(free_numbers).expand(1, N_ROWS, 2),
        tokens=torch.full((1, N_ROWS, 1), 2),
        free_tokens=torch.ones(1, N_ROWS, 1, dtype=torch.bool),
        allowed=torch.ones(1, N_ROWS, 1, 3, dtype=torch.bool),
        fresh=torch.randn(noise, generator=generator),
        overwriting=torch.randn(noise, generator=generator),
        order=torch.rand(1, N_ROWS, 1, generator=generator),
        pick=torch.rand(1, N_ROWS, 1, generator=generator),
    )
    weights = {"any": torch.zeros(1, 1)}
    return job, Sampler(denoiser, weights, config)


@pytest.mark.parametrize("churn", [0.0, 0.3])
@pytest.mark.parametrize("conditioning", ["clean", "overwrite"])
def test_with_a_perfect_network_whole_rows_have_the_true_covariance(
    conditioning, churn
):
    job, sampler = run(conditioning=conditioning, churn=churn)

    numbers = sampler.run(job)[0][0].numpy()

    # 4,000 rows: a variance has a standard error of 0.02.
    expected = [[1.0, CORRELATION], [CORRELATION, 1.0]]
    assert np.allclose(np.cov(numbers.T), expected, atol=0.08)
    assert np.allclose(numbers.mean(axis=0), 0, atol=0.06)


def test_with_a_perfect_network_clean_conditioning_is_exact():
    # Without fresh noise the start, which knows no mean, would still show.
    job, sampler = run(free_numbers=(True, False), conditioning="clean", churn=0.3)

    drawn = sampler.run(job)[0][0, :, 0].numpy()

    assert drawn.mean() == pytest.approx(CORRELATION, abs=0.04)
    assert drawn.var() == pytest.approx(1 - CORRELATION**2, abs=0.04)


def test_even_with_a_perfect_network_overwriting_pulls_too_little():
    job, sampler = run(free_numbers=(True, False), conditioning="overwrite", churn=0.3)

    drawn = sampler.run(job)[0][0, :, 0].numpy()

    # Equation 9 is an approximation: the pull has the right sign, not the full size.
    assert 0.2 < drawn.mean() < CORRELATION
    assert drawn.var() > 1 - CORRELATION**2


def test_tokens_are_drawn_as_often_as_the_network_says():
    job, sampler = run(chances=(0.2, 0.5, 0.3))

    tokens = sampler.run(job)[1].flatten()

    shares = torch.bincount(tokens, minlength=3) / N_ROWS
    assert torch.allclose(shares, torch.tensor([0.2, 0.5, 0.3]), atol=0.03)


def test_only_allowed_tokens_are_drawn_and_keep_their_proportions():
    job, sampler = run(chances=(0.2, 0.5, 0.3))
    allowed = torch.tensor([True, False, True]).expand_as(job.allowed)

    tokens = sampler.run(replace(job, allowed=allowed))[1].flatten()

    shares = torch.bincount(tokens, minlength=3) / N_ROWS
    assert torch.allclose(shares, torch.tensor([0.4, 0.0, 0.6]), atol=0.03)


@pytest.mark.parametrize("pick", [1e-12, 1.0])
def test_the_ends_of_chance_still_give_an_allowed_token(pick):
    # float32 rounds numbers just below 1 up to it.
    job, sampler = run(chances=(0.2, 0.5, 0.3))
    allowed = torch.tensor([False, True, False]).expand_as(job.allowed)
    edge = torch.full_like(job.pick, pick)

    tokens = sampler.run(replace(job, allowed=allowed, pick=edge))[1]

    assert (tokens == 1).all()


@pytest.mark.parametrize("conditioning", ["clean", "overwrite"])
def test_kept_tokens_stay_whatever_the_network_says(conditioning):
    job, sampler = run(chances=(0.98, 0.01, 0.01), conditioning=conditioning)
    kept = torch.zeros_like(job.free_tokens)

    tokens = sampler.run(replace(job, free_tokens=kept))[1]

    assert (tokens == 2).all()
