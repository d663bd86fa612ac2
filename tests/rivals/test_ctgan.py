import math

import numpy as np
import pytest
import torch

from tabtap.errors import UserInputError
from tabtap.rivals.ctgan import Critic, Ctgan, Generator, LevelSampler, Wish
from tabtap.rivals.matrices import ModeEncoding
from tabtap.stopwatch import Stopwatch

# ---- CTGAN.


def test_a_batch_is_made_of_whole_packs():
    with pytest.raises(UserInputError, match=r"batch_size=55.*multiple of pack=10"):
        Ctgan(batch_size=55)


def test_more_rows_than_a_batch_can_be_drawn(truth, rng):
    rows = Ctgan(n_epochs=1, batch_size=40).make(truth, 90, rng, Stopwatch())

    assert len(rows) == 90


def test_numbers_alone_need_no_wish(build_table, rng):
    table = build_table(rng.normal(size=30), rng.normal(size=30), edges=(0.0,))

    rows = Ctgan(n_epochs=2, batch_size=20).make(table, 30, rng, Stopwatch())

    assert np.isfinite(rows.numeric).all()
    assert np.isfinite(rows.target_values).all()


@pytest.mark.slow
def test_it_learns_what_holds_in_the_table(truth, findings):
    drawn = Ctgan(batch_size=100, n_epochs=600).make(
        truth, 1000, np.random.default_rng(0), Stopwatch()
    )

    found = findings(drawn)
    assert found["apart low"] == pytest.approx(-2, abs=0.7)
    assert found["apart high"] == pytest.approx(2, abs=0.7)
    assert found["correlation"] > 0.4
    assert 0.15 < found["low"] < 0.45


# ---- Its networks.


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


# ---- Its sampling by condition.


N_DRAWN = 20_000


@pytest.fixture
def sampler():
    """Give a column with 90 rows of level 0 and 10 of level 1, and an even one."""
    rare = (torch.arange(100) >= 90).long()
    even = torch.arange(100) % 3
    return LevelSampler.of(torch.stack([rare, even], dim=1), (2, 3))


def share(wish, column, level):
    of_column = wish.columns == column
    return float((wish.levels[of_column] == level).float().mean())


def test_columns_are_asked_for_alike(sampler, generator):
    wish = sampler.common(N_DRAWN, generator)

    assert abs(float(wish.columns.float().mean()) - 0.5) < 0.02


def test_drawn_rows_are_asked_for_levels_as_often_as_they_are_met(sampler, generator):
    wish = sampler.common(N_DRAWN, generator)

    assert abs(share(wish, 0, 1) - 0.1) < 0.02


def test_training_rows_are_asked_for_levels_by_the_logarithm(sampler, generator):
    wish = sampler.rare(N_DRAWN, generator)

    expected = math.log(11) / (math.log(11) + math.log(91))
    assert abs(share(wish, 0, 1) - expected) < 0.02


def test_real_rows_have_the_level_asked_for_and_each_is_met(sampler, generator):
    wish = Wish(torch.zeros(1000, dtype=torch.long), torch.ones(1000, dtype=torch.long))

    rows = sampler.real_rows(wish, 1000, generator)

    assert set(rows.tolist()) == set(range(90, 100))


def test_a_wish_is_a_one_in_the_block_of_its_column(sampler):
    wish = Wish(torch.tensor([0, 1]), torch.tensor([1, 2]))

    vector = sampler.vector(wish, 2)

    asked = sampler.blocks.largest(vector)
    assert vector.sum(dim=1).tolist() == [1.0, 1.0]
    assert (int(asked[0, 0]), int(asked[1, 1])) == (1, 2)


def test_without_code_columns_any_row_will_do(generator):
    sampler = LevelSampler.of(torch.zeros(5, 0, dtype=torch.long), ())

    wish = sampler.rare(100, generator)

    assert wish is None
    assert sampler.vector(wish, 100).shape == (100, 0)
    assert set(sampler.real_rows(wish, 100, generator).tolist()) == set(range(5))
