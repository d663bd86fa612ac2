import math

import pytest
import torch

from tabtap.rivals.ctgan import LevelSampler, Wish

N_DRAWN = 20_000


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


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
