import math

import numpy as np
import pytest
import torch

from tabtap.errors import UserInputError
from tabtap.rivals.matrices import Blocks
from tabtap.rivals.tabddpm import (
    DdpmNetwork,
    GaussianNoise,
    MultinomialNoise,
    QuantileScale,
    Schedule,
    TabDdpm,
    fourier_features,
)
from tabtap.stopwatch import Stopwatch

# ---- TabDDPM.


@pytest.fixture(scope="module")
def drawn(truth):
    """Draw rows after a training that is short, of a network that is small."""
    method = TabDdpm(n_steps=800, n_times=50, batch_size=100, widths=(128, 128))
    return method.make(truth, 600, np.random.default_rng(0), Stopwatch())


def test_it_recovers_what_is_known_of_the_table(drawn, findings):
    found = findings(drawn)

    assert found["correlation"] == pytest.approx(0.8, abs=0.1)
    assert found["deviation"] == pytest.approx(1, abs=0.15)
    # Thirteen quantiles span the gap between the two centers, and some rows fall in.
    assert found["apart low"] == pytest.approx(-2, abs=0.5)
    assert found["apart high"] == pytest.approx(2, abs=0.3)
    assert found["sign kept"] > 0.85
    assert found["low"] == pytest.approx(0.3, abs=0.05)


def test_numbers_stay_in_the_real_range(drawn, truth):
    assert (drawn.numeric >= truth.numeric.min(axis=0)).all()
    assert (drawn.numeric <= truth.numeric.max(axis=0)).all()


def test_the_published_size_takes_ten_times_the_steps():
    assert TabDdpm().training_steps == 3_000
    assert TabDdpm(size="paper").training_steps == 30_000
    assert TabDdpm(size="paper", n_steps=5).training_steps == 5


def test_a_regression_target_is_drawn_with_its_row(build_table):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=200)
    table = build_table(3 * numbers + 1, numbers, edges=(1.0,))

    rows = TabDdpm(n_steps=400, n_times=50, batch_size=100).make(
        table, 300, rng, Stopwatch()
    )

    assert np.corrcoef(rows.numeric[:, 0], rows.target_values)[0, 1] > 0.9


def test_categories_alone_can_be_learned(build_table):
    rng = np.random.default_rng(0)
    code = np.arange(120) % 3
    table = build_table(np.arange(120) % 2, code, code)

    rows = TabDdpm(n_steps=250, n_times=20).make(table, 300, rng, Stopwatch())

    same = rows.categorical[:, 0] == rows.categorical[:, 1]
    assert same.mean() > 0.9  # a third, if they were drawn apart


def test_a_training_that_runs_away_is_told(truth, rng):
    with pytest.raises(UserInputError, match="smaller learning_rate"):
        TabDdpm(n_steps=20, n_times=5, learning_rate=1e30).make(
            truth, 5, rng, Stopwatch()
        )


def test_scores_are_normal_and_lead_back_to_the_numbers(rng):
    numbers = rng.lognormal(size=(900, 1))
    scale = QuantileScale.of(numbers, rng)

    scores = scale.encode(numbers)

    inside = np.abs(scores) < 5
    assert scores[inside].std() == pytest.approx(1, abs=0.1)
    assert np.median(scores) == pytest.approx(0, abs=0.05)
    assert np.allclose(scale.decode(scores), numbers)
    assert scale.decode(scores[:0]).shape == (0, 1)


@pytest.mark.slow
def test_many_columns_and_few_rows_run_away_only_in_the_published_size(build_table):
    rng = np.random.default_rng(0)
    common = rng.normal(size=100)
    columns = [common + rng.normal(size=100) for _ in range(60)]
    table = build_table(np.arange(100) % 2, *columns)

    ends = {}
    for size in ("default", "paper"):
        method = TabDdpm(size=size, n_steps=1000, n_times=200)
        numbers = method.make(table, 200, rng, Stopwatch()).numeric
        low, high = table.numeric.min(axis=0), table.numeric.max(axis=0)
        ends[size] = ((numbers == low) | (numbers == high)).mean()

    assert ends["paper"] > 0.5
    assert ends["default"] < 0.2


# ---- Its network.


def test_steps_become_waves_of_falling_frequency():
    found = fourier_features(torch.tensor([0, 5]))

    assert found.shape == (2, 128)
    assert found[0].tolist() == [1.0] * 64 + [0.0] * 64
    assert math.isclose(found[1, 64], math.sin(5), rel_tol=1e-5)
    assert math.isclose(found[1, 127], math.sin(5 / 10_000 ** (63 / 64)), rel_tol=1e-4)


def test_time_and_class_change_what_is_predicted():
    network = DdpmNetwork(3, 2, (8,), torch.Generator().manual_seed(0))
    row, step, label = torch.ones(1, 3), torch.tensor([4]), torch.tensor([0])

    plain = network(row, step, None)

    assert plain.shape == (1, 3)
    assert not torch.equal(plain, network(row, step + 500, None))
    assert not torch.equal(network(row, step, label), network(row, step, label + 1))


# ---- Its noise.


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
