import numpy as np
import pytest
import torch

from tabtap.rivals.ctgan import Critic, Generator
from tabtap.rivals.matrices import ModeEncoding


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def encoding(build_table, rng):
    table = build_table(np.arange(40) % 2, rng.normal(size=40), np.arange(40) % 3)
    return ModeEncoding.of(table, rng)


def test_the_penalty_is_ten_times_the_squared_distance_of_the_slope_from_one(generator):
    critic = Critic(2, (), 2, generator)
    with torch.no_grad():
        critic.body[0].weight.copy_(torch.tensor([[0.0, 3.0, 4.0, 0.0]]))
    rows = torch.randn(6, 2, generator=generator)

    penalty = critic.slope_penalty(rows, torch.zeros(6, 2))

    assert penalty.item() == pytest.approx(10 * (5 - 1) ** 2)


def test_the_critic_gives_one_score_to_a_pack(generator):
    critic = Critic(3, (8,), 5, generator)

    assert critic(torch.zeros(20, 3)).shape == (4, 1)


def test_soft_rows_are_nearly_drawn_levels(encoding, generator):
    maker = Generator(4, (8,), encoding, generator)
    places, logits = maker(torch.randn(30, 4, generator=generator), torch.zeros(30, 0))

    rows = maker.soft_rows(places, logits)

    start = encoding.n_numbers + encoding.blocks.starts[1]
    category = rows[:, start : start + 3]
    assert torch.allclose(category.sum(dim=1), torch.tensor(1.0))
    assert category.max(dim=1).values.mean().item() > 0.85


def test_levels_of_soft_rows_are_drawn_by_their_probability(
    build_table, rng, generator
):
    encoding = ModeEncoding.of(build_table([0, 1]), rng)
    maker = Generator(4, (8,), encoding, generator)
    logits = torch.tensor([0.8, 0.2]).log().expand(4000, -1)

    rows = maker.soft_rows(torch.zeros(4000, 0), logits)

    assert abs(float((rows[:, 0] > 0.5).float().mean()) - 0.8) < 0.03
