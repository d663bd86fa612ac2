import numpy as np
import pytest
from scipy.special import softmax

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Template
from tabtap.errors import UserInputError
from tabtap.policy.reference import MOST_SURPLUS, ReferencePolicy

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
