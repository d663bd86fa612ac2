import numpy as np
import pytest
import torch
from scipy.special import softmax

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Action, Template
from tabtap.errors import UserInputError
from tabtap.policy.reference import (
    MOST_SURPLUS,
    ActionBatch,
    ActionDistribution,
    ReferencePolicy,
)

# ---- The reference policy.


EXPLORE = TEMPLATES.index(Template.EXPLORE)


def balanced(n_targets, **settings):
    wanted = np.full(n_targets, 1 / n_targets)
    return ReferencePolicy(PolicyConfig(**settings), wanted)


def test_without_deficits_targets_come_as_often_as_they_are_wanted(make_state):
    wanted = np.array([0.7, 0.2, 0.1])

    found = ReferencePolicy(PolicyConfig(), wanted).distribution([make_state()])

    assert found.target_probabilities()[0] == pytest.approx(wanted)


def test_targets_short_of_rows_are_favoured_by_their_relative_shortage(make_state):
    deficit = [0.25, -0.25, 0.0, 0.0]

    found = balanced(4, deficit_strength=2.0).distribution(
        [make_state(4, deficit=deficit)]
    )

    expected = softmax([2.0, -2.0, 0.0, 0.0])
    assert found.target_probabilities()[0] == pytest.approx(expected)


def test_no_wanted_target_is_ever_out_of_reach(make_state):
    wanted = np.array([1e-6, 1 - 1e-6])
    state = make_state(2, deficit=wanted - np.array([1.0, 0.0]))

    config = PolicyConfig(deficit_strength=1.0)
    found = ReferencePolicy(config, wanted).distribution([state])

    odds = np.divide(*found.target_probabilities()[0])
    shortage = 1.0  # of the second target, nothing of which is held
    expected = 1e-6 / (1 - 1e-6) * np.exp(-MOST_SURPLUS - shortage)
    assert odds == pytest.approx(expected, rel=1e-5)


def test_unavailable_and_unwanted_targets_have_no_chance_at_all(make_state):
    policy = ReferencePolicy(PolicyConfig(), np.array([0.5, 0.5, 0.0]))
    state = make_state(available=[False, True, True])

    found = policy.distribution([state])

    assert found.target_probabilities()[0].tolist() == [0.0, 1.0, 0.0]


def test_a_state_in_which_nothing_can_be_chosen_gets_a_sentence(make_state):
    state = make_state(available=[False, False, False])

    with pytest.raises(UserInputError, match="No target can be chosen"):
        balanced(3).distribution([state])


@pytest.mark.parametrize(
    ("explore", "conservative", "factor"),
    [(1.0, 1.0, 1.0), (0.9, 0.3, 1.0), (0.2, 0.2, 1.0), (0.2, 0.6, 0.5)],
    ids=["all pass", "explore passes more", "few pass of both", "explore passes less"],
)
def test_explore_is_rarer_when_it_passes_less_often_than_conservative(
    make_state, explore, conservative, factor
):
    rates = {Template.EXPLORE: explore, Template.CONSERVATIVE: conservative}
    state = make_state(pass_rate=[rates[template] for template in TEMPLATES])

    found = balanced(3, explore_share=0.6).distribution([state])

    chance = found.template_probabilities()[0, EXPLORE]
    assert chance == pytest.approx(0.6 * factor)


def test_explore_stays_possible_when_none_of_its_rows_ever_passed(make_state):
    rates = {Template.EXPLORE: 0.0, Template.CONSERVATIVE: 1.0}
    state = make_state(pass_rate=[rates[template] for template in TEMPLATES])

    found = balanced(3).distribution([state])

    assert 0 < found.template_probabilities()[0, EXPLORE] < 0.01


@pytest.mark.parametrize(("rate", "mean"), [(1.0, 0.8), (0.5, 0.6), (0.0, 0.4)])
def test_exploration_falls_to_half_of_its_setting_when_no_row_passes(
    make_state, rate, mean
):
    policy = balanced(3, exploration=0.8, exploration_scale=0.3)

    found = policy.distribution([make_state(pass_rate=(rate, rate))])

    assert float(found.mean[0]) == pytest.approx(mean)
    assert float(found.scale[0]) == pytest.approx(0.3)


def test_it_does_not_learn():
    policy = balanced(3)

    assert policy.improved([]) is policy


# ---- The distribution of actions.


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
