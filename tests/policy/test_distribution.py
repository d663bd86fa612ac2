import numpy as np
import pytest
import torch

from tabtap.domain import TEMPLATES, Action, Template
from tabtap.policy.reference import ActionBatch, ActionDistribution


def distribution(targets, templates, mean, scale):
    return ActionDistribution(
        torch.tensor([targets], dtype=torch.float64),
        torch.tensor([templates], dtype=torch.float64),
        torch.tensor([mean], dtype=torch.float64),
        torch.tensor([scale], dtype=torch.float64),
    )


@pytest.fixture
def wide():
    # Half of the explorations fall outside [0, 1].
    return distribution([0.3, -torch.inf, -0.4], [0.5, -0.5], 0.9, 1.2)


def test_what_is_drawn_is_clamped_and_remembered_as_it_was(wide):
    rng = np.random.default_rng(0)

    actions = [wide.draw(rng) for _ in range(200)]

    raw = np.array([action.raw_exploration for action in actions])
    assert raw.min() < 0
    assert raw.max() > 1
    clamped = [action.exploration for action in actions]
    assert clamped == np.clip(raw, 0.0, 1.0).tolist()


def test_draws_follow_the_probabilities(wide):
    rng = np.random.default_rng(1)

    actions = [wide.draw(rng) for _ in range(4000)]

    targets = np.bincount([action.target for action in actions], minlength=3) / 4000
    explored = np.mean([action.template is Template.EXPLORE for action in actions])
    raw = np.array([action.raw_exploration for action in actions])
    assert targets == pytest.approx(wide.target_probabilities()[0], abs=0.03)
    expected = wide.template_probabilities()[0, TEMPLATES.index(Template.EXPLORE)]
    assert explored == pytest.approx(expected, abs=0.03)
    assert (raw.mean(), raw.std()) == pytest.approx((0.9, 1.2), abs=0.06)


def test_densities_add_up_to_one(wide):
    grid = np.linspace(-8, 10, 4001)

    total = 0.0
    for target in (0, 2):
        for template in TEMPLATES:
            actions = [Action(target, template, 0.0, float(raw)) for raw in grid]
            rows = torch.zeros(len(grid), dtype=torch.long)
            density = wide.take(rows).log_prob(ActionBatch.of(actions)).exp()
            total += float(density.sum()) * (grid[1] - grid[0])

    assert total == pytest.approx(1.0, abs=1e-6)


def test_an_impossible_target_has_no_density(wide):
    action = Action(1, Template.EXPLORE, 0.5, 0.5)

    assert float(wide.log_prob(ActionBatch.of([action]))) == -np.inf


def test_the_divergence_from_itself_is_nothing(wide):
    assert float(wide.divergence(wide)) == 0.0


def with_chances(chances):
    with np.errstate(divide="ignore"):
        return distribution(np.log(chances).tolist(), [0.0, 0.0], 0.5, 0.2)


def test_spread_targets_come_as_often_as_their_chance_says():
    chances = np.array([0.5, 0.3, 0.2, 0.0])

    for seed in range(20):
        rng = np.random.default_rng(seed)
        actions = with_chances(chances).draw_spread(10, rng)
        counts = np.bincount([action.target for action in actions], minlength=4)
        assert (np.abs(counts - 10 * chances) < 1).all()


def test_each_spread_action_by_itself_is_drawn_from_the_distribution():
    chances = np.array([0.55, 0.3, 0.15])
    rng = np.random.default_rng(0)

    first = [with_chances(chances).draw_spread(3, rng)[0] for _ in range(3000)]

    shares = np.bincount([action.target for action in first]) / 3000
    assert np.abs(shares - chances).max() < 0.03
