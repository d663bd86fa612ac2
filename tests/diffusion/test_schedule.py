from itertools import pairwise

import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import Layout
from tabtap.diffusion.network import (
    FixedSchedule,
    LearnedSchedule,
    WeightPlan,
    make_schedule,
)

LAYOUT = Layout(3, (4, 2, 5), 0, 2)


def make(kind, layout=LAYOUT, **settings):
    """Return a schedule and two members' first weights for it."""
    schedule = make_schedule(layout, DiffusionConfig(schedule=kind, **settings))
    plan = WeightPlan({"any.bias": (1, 1), **schedule.shapes})
    flat = plan.initial(2, torch.Generator().manual_seed(0))
    return schedule, plan.views(flat)


def test_settings_choose_the_schedule():
    assert isinstance(make("fixed")[0], FixedSchedule)
    assert isinstance(make("learned")[0], LearnedSchedule)


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_the_way_back_falls_from_most_noise_to_none(kind):
    schedule, weights = make(kind, n_sample_steps=9, sigma_min=0.02, sigma_max=20.0)

    sigmas = [level.sigma for level in schedule.reverse_levels(weights)]

    assert len(sigmas) == 10
    assert all((after < before).all() for before, after in pairwise(sigmas))
    assert torch.allclose(sigmas[0], torch.tensor(20.0), rtol=1e-4)
    assert (sigmas[-1] == 0).all()


def test_the_fixed_way_back_is_edm_s_power_grid():
    schedule, weights = make("fixed", n_sample_steps=5, sigma_min=0.1, sigma_max=10.0)

    found = [float(level.sigma) for level in schedule.reverse_levels(weights)[:-1]]

    ends = 10.0 ** (1 / 7), 0.1 ** (1 / 7)
    expected = [(ends[0] + k / 4 * (ends[1] - ends[0])) ** 7 for k in range(5)]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_training_noise_has_a_level_for_every_row(kind):
    schedule, weights = make(kind)

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    numbers, tokens = torch.zeros(2, 50, 3), torch.zeros(2, 50, 3)
    assert (noise.level.sigma + numbers).shape == (2, 50, 3)
    assert (noise.masking + tokens).shape == (2, 50, 3)
    assert noise.level.noise_level.shape == (2, 50, 1)
    assert (noise.level.sigma > 0).all()
    assert ((noise.masking >= 0) & (noise.masking <= 1)).all()
    assert len(noise.level.noise_level.unique()) == 100


def test_learned_schedules_start_at_edm_s_power_and_even_masking():
    schedule, weights = make("learned", sigma_min=0.002, sigma_max=80.0)

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    time = noise.level.noise_level
    expected = (0.002 ** (1 / 7) + time * (80 ** (1 / 7) - 0.002 ** (1 / 7))) ** 7
    assert torch.allclose(noise.level.sigma, expected.expand(2, 50, 3), rtol=0.02)
    assert torch.allclose(noise.masking, time.expand(2, 50, 3), atol=0.01)


def test_learned_schedules_follow_their_weights():
    schedule, weights = make("learned")
    weights["schedule.power.bias"][0, 0, 0] = 5.0
    weights["schedule.rate.bias"][0, 0, 0] = 3.0

    noise = schedule.draw(weights, 50, torch.Generator().manual_seed(0))

    assert not torch.allclose(noise.level.sigma[0, :, 0], noise.level.sigma[0, :, 1])
    # A larger rate masks later.
    assert (noise.masking[0, :, 0] < noise.masking[0, :, 1]).all()


@pytest.mark.parametrize("kind", ["fixed", "learned"])
def test_every_free_token_is_uncovered_at_an_event_that_takes_place(kind):
    schedule, weights = make(kind, n_sample_steps=9)
    generator = torch.Generator().manual_seed(0)
    free = torch.rand(2, 200, 3, generator=generator) < 0.6
    chance = torch.rand(2, 200, 3, generator=generator)

    event = schedule.uncovered_at(weights, free, chance)

    assert (event[free] >= 0).all()
    assert (event[free] < sum(schedule.events())).all()
    assert len(schedule.events()) == 9


def test_no_two_tokens_are_uncovered_together_while_there_are_events_enough():
    schedule, weights = make("fixed")
    chance = torch.rand(2, 200, 3, generator=torch.Generator().manual_seed(0))
    everything = torch.ones(2, 200, 3, dtype=torch.bool)

    event = schedule.uncovered_at(weights, everything, chance)

    assert event.sort(dim=-1).values.diff(dim=-1).min() >= 1


def test_many_tokens_share_a_bounded_number_of_events():
    schedule, weights = make("fixed", layout=Layout(0, (2,) * 300, 0, 1))
    chance = torch.rand(1, 5, 300, generator=torch.Generator().manual_seed(0))

    event = schedule.uncovered_at(weights, torch.ones(1, 5, 300).bool(), chance)

    n_events = sum(schedule.events())
    assert n_events <= 64
    assert set(event.unique().tolist()) == set(range(n_events))
