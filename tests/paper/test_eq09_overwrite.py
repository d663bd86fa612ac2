"""Equation 9: at every reverse step kept cells are put back, with that step's noise.

The paper writes it for a process that preserves variance,

    x_kept <- sqrt(abar) x + sqrt(1 - abar) eps,

the sampler works in EDM's, where variance explodes: x + sigma eps.  The two are one and
the same up to the scale sqrt(abar), with sigma = sqrt((1 - abar) / abar).
"""

import numpy as np
import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.sample import Job, Sampler

N_ROWS, N_NUMBERS, N_STEPS = 16, 3, 7


class Recording:
    """A denoiser that notes the numbers and the noise it is shown."""

    def __init__(self, denoiser):
        self._denoiser = denoiser
        self.shown = []

    def __getattr__(self, name):
        return getattr(self._denoiser, name)

    def __call__(self, weights, noisy, level, rest):
        self.shown.append((noisy.clone(), level.sigma.clone()))
        return self._denoiser(weights, noisy, level, rest)


def make_job(generator):
    def normal(*shape):
        return torch.randn(shape, generator=generator)

    return Job(
        condition=torch.zeros(1, N_ROWS, dtype=torch.long),
        numbers=normal(1, N_ROWS, N_NUMBERS),
        free_numbers=normal(1, N_ROWS, N_NUMBERS) > 0,
        tokens=torch.zeros(1, N_ROWS, 0, dtype=torch.long),
        free_tokens=torch.zeros(1, N_ROWS, 0, dtype=torch.bool),
        allowed=torch.zeros(1, N_ROWS, 0, 1, dtype=torch.bool),
        fresh=normal(N_STEPS + 1, 1, N_ROWS, N_NUMBERS),
        overwriting=normal(N_STEPS + 1, 1, N_ROWS, N_NUMBERS),
        order=torch.zeros(1, N_ROWS, 0),
        pick=torch.zeros(1, N_ROWS, 0),
    )


@pytest.fixture(params=["fixed", "learned"])
def run(request):
    """Run the reverse process of a random network; give what it was shown."""
    config = DiffusionConfig(
        conditioning="overwrite",
        schedule=request.param,
        n_sample_steps=N_STEPS,
        churn=0.0,
        width=16,
        depth=1,
    )
    generator = torch.Generator().manual_seed(0)
    denoiser = Denoiser(Layout(N_NUMBERS, (), 0, 1), config)
    weights = denoiser.plan.initial(1, generator)
    weights += 0.1 * torch.randn(weights.shape, generator=generator)
    recording, job = Recording(denoiser), make_job(generator)
    numbers, _ = Sampler(recording, denoiser.plan.views(weights), config).run(job)
    # Each step looks once before it moves and once, to correct, after it.
    return job, recording.shown[::2], numbers


def test_kept_cells_are_the_anchor_with_the_noise_of_every_step(run):
    job, shown, _ = run
    kept = ~job.free_numbers

    assert len(shown) == N_STEPS
    for step, (numbers, sigma) in enumerate(shown):
        expected = job.numbers + sigma * job.overwriting[step]
        assert torch.equal(numbers[kept], expected[kept])


def test_it_is_the_paper_s_equation_up_to_the_scale_of_the_process(run):
    job, shown, _ = run
    kept = (~job.free_numbers).numpy()

    for step, (numbers, sigma) in enumerate(shown):
        sigma = sigma.double().numpy()
        abar = 1 / (1 + sigma**2)
        clean, noise = job.numbers.numpy(), job.overwriting[step].numpy()
        printed = np.sqrt(abar) * clean + np.sqrt(1 - abar) * noise
        rescaled = np.sqrt(abar) * numbers.numpy()
        np.testing.assert_allclose(rescaled[kept], printed[kept], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(sigma, np.sqrt((1 - abar) / abar), rtol=1e-6)


def test_free_cells_are_not_overwritten(run):
    job, shown, _ = run
    free = job.free_numbers

    for step, (numbers, sigma) in enumerate(shown):
        overwritten = job.numbers + sigma * job.overwriting[step]
        assert not torch.isclose(numbers[free], overwritten[free]).any()


def test_at_the_end_kept_cells_are_the_anchor_itself(run):
    job, _, numbers = run
    kept = ~job.free_numbers

    assert torch.equal(numbers[kept], job.numbers[kept])
    assert torch.isfinite(numbers).all()
