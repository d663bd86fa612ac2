import numpy as np
import pytest
import torch

from tabtap.rivals.matrices import Blocks
from tabtap.rivals.tabddpm import GaussianNoise, MultinomialNoise, Schedule

K = 3


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def multinomial():
    return MultinomialNoise.of(Schedule.cosine(10), Blocks.of((K,)))


def transition(share):
    """Return the probabilities of each level after each, as a matrix."""
    return share * np.eye(K) + (1 - share) / K


def test_the_schedule_keeps_nearly_all_at_first_and_nothing_at_last():
    schedule = Schedule.cosine(1000)

    assert len(schedule) == 1000
    assert schedule.left_before[0] == 1
    assert schedule.left[0] > 0.9999
    assert schedule.left[500] == pytest.approx(0.5, abs=0.02)
    assert schedule.left[-1] < 1e-5


@pytest.mark.parametrize("reach", [None, 5.2])
def test_a_perfect_prediction_of_the_noise_leads_back_to_the_numbers(generator, reach):
    # Numbers are normal with mean 1.5 and deviation 0.4, so the noise in a noisy one
    # has a known mean, which is what the best network would say.
    schedule = Schedule.cosine(200)
    noise = GaussianNoise(schedule, reach)
    numbers = torch.randn(4000, 1, generator=generator)

    for step in reversed(range(200)):
        left = float(schedule.left[step])
        variance = left * 0.4**2 + 1 - left
        predicted = (1 - left) ** 0.5 * (numbers - left**0.5 * 1.5) / variance
        numbers = noise.reverse(numbers, predicted, step, generator)

    assert float(numbers.mean()) == pytest.approx(1.5, abs=0.03)
    assert float(numbers.std()) == pytest.approx(0.4, abs=0.03)


def test_noisy_numbers_have_the_share_that_is_left():
    noise = GaussianNoise(Schedule.cosine(10))
    clean = torch.full((1, 1), 3.0)

    found = noise.add(clean, torch.full((1, 1), 2.0), torch.tensor([4]))

    left = float(noise.schedule.left[4])
    assert float(found) == pytest.approx(3 * left**0.5 + 2 * (1 - left) ** 0.5)


def test_a_prediction_beyond_reach_is_held_back(generator):
    schedule = Schedule.cosine(10)
    wild = torch.full((1, 1), 1000.0)

    held = GaussianNoise(schedule, 5.2).reverse(torch.zeros(1, 1), wild, 0, generator)

    assert float(held) == pytest.approx(-5.2, abs=1e-3)


@pytest.mark.parametrize("step", [0, 4, 9])
def test_one_step_back_is_what_the_rule_of_bayes_says(multinomial, step):
    schedule = multinomial.schedule
    before = transition(float(schedule.left_before[step]))
    after = transition(float(schedule.kept[step]))
    clean, noisy = 1, 2

    found = multinomial.before(
        torch.eye(K)[[clean]], torch.eye(K)[[noisy]], torch.tensor([step])
    ).exp()

    joint = before[clean] * after[:, noisy]
    assert np.allclose(found[0].numpy(), joint / joint.sum(), atol=1e-6)


def test_noise_moves_codes_as_often_as_the_schedule_says(multinomial, generator):
    clean = torch.eye(K)[[1]].expand(20_000, -1)

    drawn = multinomial.add(clean, torch.full((20_000,), 6), generator)

    found = np.bincount(drawn[:, 0].numpy(), minlength=K) / 20_000
    expected = transition(float(multinomial.schedule.left[6]))[1]
    assert np.allclose(found, expected, atol=0.015)


def test_the_divergence_is_that_of_the_two_steps_back(multinomial):
    clean, noisy, steps = torch.eye(K)[[0]], torch.eye(K)[[1]], torch.tensor([5])
    logits = torch.tensor([[0.5, -1.0, 0.2]])

    found = multinomial.divergence(clean, noisy, logits, steps)

    p = multinomial.before(clean, noisy, steps).exp().numpy().astype(float)
    q = multinomial.before(logits.softmax(1), noisy, steps).exp().numpy().astype(float)
    assert float(found) == pytest.approx((p * np.log(p / q)).sum(), abs=1e-5)
    assert float(
        multinomial.divergence(clean, noisy, 50 * clean, steps)
    ) == pytest.approx(0, abs=1e-5)


def test_a_certain_prediction_leads_back_to_it(multinomial, generator):
    codes = multinomial.start(200, generator)
    assert set(codes[:, 0].tolist()) == {0, 1, 2}
    logits = torch.tensor([[0.0, 60.0, 0.0]]).expand(200, -1)

    for step in reversed(range(10)):
        noisy = multinomial.blocks.one_hot(codes)
        codes = multinomial.reverse(noisy, logits, step, generator)

    assert (codes == 1).all()
