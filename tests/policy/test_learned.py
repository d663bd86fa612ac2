import numpy as np
import pytest
import torch

from tabtap.config import AugmentConfig, PolicyConfig
from tabtap.domain import TEMPLATES, Experience, Feedback, Template
from tabtap.errors import UserInputError
from tabtap.policy import FeedbackMemory, LearnedPolicy, ReferencePolicy

N_TARGETS, USEFUL = 4, 2
CONSERVATIVE = TEMPLATES.index(Template.CONSERVATIVE)
EVEN = PolicyConfig(explore_share=0.5, exploration=0.5)
"""A reference that prefers nothing: the default one leaves little to be learned."""
DEFAULT, PAPER = AugmentConfig(policy=EVEN), AugmentConfig.paper()


def start(config, seed, n_targets=N_TARGETS):
    reference = ReferencePolicy(config, np.full(n_targets, 1 / n_targets))
    return LearnedPolicy.start(reference, np.random.default_rng(seed))


def practise(settings, seed, state, gain, n_steps=100):
    """Let a policy act in one state, told what each action gained."""
    rng = np.random.default_rng(seed)
    policy, memory = start(settings.policy, seed), FeedbackMemory(settings.policy)
    for _ in range(n_steps // settings.actions_per_batch):
        experience = []
        for _ in range(settings.actions_per_batch):
            action = policy.sample(state, rng)
            feedback, _, memory = memory.judged(gain(action, rng), n_admitted=4)
            experience.append(Experience(state, action, feedback))
        policy = policy.improved(experience)
    return policy


def useful_target_and_template(action, rng):
    hits = (action.target == USEFUL) + (action.template is Template.CONSERVATIVE)
    return hits + rng.normal(scale=0.5)


def high_exploration(action, rng):
    return 2 * action.exploration + rng.normal(scale=0.5)


def nothing_but_noise(action, rng):  # noqa: ARG001
    return rng.standard_t(3)


@pytest.fixture
def lessons(draw_state):
    rng = np.random.default_rng(8)
    policy = start(PolicyConfig(), 0)
    found = []
    for place in range(24):
        state = draw_state(rng, N_TARGETS)
        feedback = (Feedback.DESIRABLE, Feedback.UNDESIRABLE)[place % 2]
        found.append(Experience(state, policy.sample(state, rng), feedback))
    return found


@pytest.mark.parametrize("settings", [DEFAULT, PAPER], ids=["default", "paper"])
@pytest.mark.parametrize("seed", range(10))
def test_it_comes_to_prefer_the_useful_target_and_template_within_100_steps(
    make_state, settings, seed
):
    state = make_state(N_TARGETS)

    policy = practise(settings, seed, state, useful_target_and_template)

    found = policy.distribution([state])
    reference = policy.reference.distribution([state])
    targets = found.target_probabilities()[0]
    assert targets.argmax() == USEFUL
    assert targets[USEFUL] > 1.5 * reference.target_probabilities()[0, USEFUL]
    assert found.template_probabilities()[0, CONSERVATIVE] > 0.65


@pytest.mark.parametrize("seed", range(3))
def test_it_explores_more_where_exploration_gains(make_state, seed):
    state = make_state(N_TARGETS)

    policy = practise(DEFAULT, seed, state, high_exploration)

    reference = policy.reference.distribution([state])
    gap = float(policy.distribution([state]).mean) - float(reference.mean)
    assert gap > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_it_stays_near_its_reference_when_gains_are_noise(make_state, seed):
    state = make_state(N_TARGETS)

    policy = practise(DEFAULT, seed, state, nothing_but_noise, n_steps=200)

    found, reference = (p.distribution([state]) for p in (policy, policy.reference))
    assert float(found.divergence(reference)) < 0.25


def test_an_unavailable_target_is_never_drawn_whatever_was_learned(make_state, lessons):
    policy = start(PolicyConfig(updates_per_step=50), 0).improved(lessons)
    rng = np.random.default_rng(1)
    state = make_state(N_TARGETS, available=[True, False, True, False])
    found = policy.distribution([state])

    drawn = {found.draw(rng).target for _ in range(10_000)}

    assert drawn == {0, 2}


def test_what_has_no_label_teaches_nothing(lessons):
    policy = start(PolicyConfig(), 0)
    mute = [Experience(e.state, e.action, Feedback.NONE) for e in lessons]

    assert policy.improved(mute) is policy


def test_only_the_latest_lessons_are_kept(lessons):
    policy = start(PolicyConfig(feedback_window=20), 0)

    policy = policy.improved(lessons[:16]).improved(lessons[16:])

    assert policy.lessons == tuple(lessons[-20:])


def test_so_many_updates_as_the_setting_says_are_made(lessons):
    policy = start(PolicyConfig(updates_per_step=3), 0)

    assert policy.improved(lessons).improved(lessons).adam.n_updates == 6


def test_equal_seeds_and_experience_give_equal_policies(lessons):
    first, second, other = (
        start(PolicyConfig(batch_size=5), seed).improved(lessons) for seed in (3, 3, 4)
    )

    assert torch.equal(first.weights, second.weights)
    assert not torch.equal(first.weights, other.weights)


def test_a_policy_brought_back_from_arrays_goes_on_as_if_never_interrupted(lessons):
    config = PolicyConfig(batch_size=5)
    policy = start(config, 0).improved(lessons[:10])

    again = LearnedPolicy.from_arrays(policy.to_arrays(), policy.reference)
    straight, resumed = policy.improved(lessons[10:]), again.improved(lessons[10:])

    assert torch.equal(straight.weights, resumed.weights)
    assert torch.equal(straight.adam.second, resumed.adam.second)


def test_a_policy_without_lessons_comes_back_too():
    policy = start(PolicyConfig(), 0)

    again = LearnedPolicy.from_arrays(policy.to_arrays(), policy.reference)

    assert torch.equal(again.weights, policy.weights)
    assert (again.seed, again.lessons) == (policy.seed, ())


def test_weights_of_another_network_are_refused():
    arrays = start(PolicyConfig(), 0, n_targets=3).to_arrays()

    with pytest.raises(UserInputError, match="these settings and targets ask for"):
        LearnedPolicy.from_arrays(arrays, start(PolicyConfig(), 0).reference)


def test_a_loss_that_does_not_exist_is_refused():
    with pytest.raises(UserInputError, match="loss='hinge' is not usable"):
        PolicyConfig(loss="hinge")
