import json
import math

import numpy as np
import pytest
import torch

from tabtap.config import AugmentConfig, PolicyConfig
from tabtap.domain import TEMPLATES, Experience, Feedback, Template
from tabtap.errors import UserInputError
from tabtap.policy import FeedbackMemory, LearnedPolicy, ReferencePolicy
from tabtap.policy.learned import (
    DECAY,
    AdamState,
    PolicyNetwork,
    adamw_step,
    adaptive_weights,
    clip_gradient,
    kto_loss,
    logistic_loss,
)
from tabtap.policy.reference import ActionDistribution

# ---- The learned policy.


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


# ---- Its network.


NETWORK = PolicyNetwork(3, PolicyConfig(width=16))


@pytest.fixture
def reference():
    return ActionDistribution(
        torch.tensor([[0.1, -torch.inf, 0.4]] * 5, dtype=torch.float64),
        torch.tensor([[0.0, -1.0]] * 5, dtype=torch.float64),
        torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0], dtype=torch.float64),
        torch.full((5,), 0.2, dtype=torch.float64),
    )


@pytest.fixture
def states():
    return torch.from_numpy(np.random.default_rng(0).normal(size=(5, 9)))


def test_outputs_are_those_of_two_tanh_layers(states):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=NETWORK.n_weights)
    cuts = np.cumsum([9 * 16, 16, 16 * 16, 16, 16 * 7])
    first, one, second, two, last, end = np.split(weights, cuts)

    found = NETWORK.outputs(torch.from_numpy(weights), states)

    hidden = np.tanh(states.numpy() @ first.reshape(9, 16) + one)
    hidden = np.tanh(hidden @ second.reshape(16, 16) + two)
    expected = hidden @ last.reshape(16, 7) + end
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_first_weights_change_nothing(reference, states):
    weights = NETWORK.initial(np.random.default_rng(2))

    found = NETWORK.shifted(weights, states, reference)

    assert torch.equal(found.target_logits, reference.target_logits)
    assert torch.equal(found.template_logits, reference.template_logits)
    assert torch.equal(found.mean, reference.mean)
    assert torch.equal(found.scale, reference.scale)


def test_no_weights_lead_out_of_bounds(reference, states):
    rng = np.random.default_rng(3)
    weights = torch.from_numpy(rng.normal(scale=20.0, size=NETWORK.n_weights))

    found = NETWORK.shifted(weights, states, reference)

    assert (found.target_logits[:, 1] == -torch.inf).all()
    assert (found.mean > -0.02).all()
    assert (found.mean < 1.02).all()
    assert (found.scale / 0.2 >= np.exp(-1.0) - 1e-12).all()
    assert (found.scale / 0.2 <= np.exp(1.0) + 1e-12).all()


def test_equal_generators_give_equal_first_weights():
    first = NETWORK.initial(np.random.default_rng(4))

    assert torch.equal(first, NETWORK.initial(np.random.default_rng(4)))
    assert not torch.equal(first, NETWORK.initial(np.random.default_rng(5)))


# ---- Its optimiser.


def test_steps_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(7, generator=generator, dtype=torch.float64)
    theirs = weights.clone().requires_grad_()
    adam = torch.optim.AdamW([theirs], lr=0.01)
    state = AdamState.fresh(weights)

    for _ in range(5):
        gradient = torch.randn(7, generator=generator, dtype=torch.float64)
        theirs.grad = gradient.clone()
        adam.step()
        weights, state = adamw_step(weights, gradient, state, 0.01)

    torch.testing.assert_close(weights, theirs.detach(), rtol=1e-12, atol=1e-12)
    assert state.n_updates == 5


def test_what_a_step_is_given_stays_as_it_is():
    weights = torch.ones(3, dtype=torch.float64)
    state = AdamState.fresh(weights)

    adamw_step(weights, torch.ones(3, dtype=torch.float64), state, 0.1)

    assert weights.tolist() == [1.0, 1.0, 1.0]
    assert state.first.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "expected"), [([3.0, 4.0], [0.3, 0.4]), ([0.1, 0.2], [0.1, 0.2])]
)
def test_only_long_gradients_are_shortened(given, expected):
    found = clip_gradient(torch.tensor(given, dtype=torch.float64), 0.5)

    assert found.tolist() == pytest.approx(expected)


# ---- Its loss.


LABELS = torch.tensor([True, False, True, False])


def ratios(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_the_gradient_is_that_of_finite_differences():
    point, kl = ratios(0.3, -0.2, -1.0, 0.8), ratios(0.1, 0.0, 0.4, 0.2)

    def loss(at):
        return kto_loss(at, LABELS, kl, 1.5, 0.7, 3.0)

    assert torch.autograd.gradcheck(loss, point.clone().requires_grad_())


def test_desirable_actions_are_pushed_up_and_undesirable_ones_down():
    point = ratios(0.3, -0.2, -1.0, 0.8).requires_grad_()

    kto_loss(point, LABELS, torch.zeros(()), 1.0, 1.0, 3.0).backward()

    assert (point.grad < 0).tolist() == LABELS.tolist()


def test_an_action_far_on_its_side_is_hardly_pushed_any_further():
    point = ratios(0.0, 3.0, -3.0).requires_grad_()
    labels = torch.tensor([True, True, False])

    kto_loss(point, labels, torch.zeros(()), 1.0, 1.0, 3.0).backward()

    pull = point.grad.abs()
    assert (pull[1:] < 0.001 * pull[0]).all()


def test_no_gradient_flows_into_the_divergence():
    kl = ratios(0.2, 0.2, 0.2, 0.2).requires_grad_()
    point = torch.zeros(4, dtype=torch.float64, requires_grad=True)

    kto_loss(point, LABELS, kl, 1.0, 1.0, 3.0).backward()

    assert kl.grad is None


def test_a_divergence_estimated_below_zero_counts_as_zero():
    point = ratios(0.3, -0.2, -1.0, 0.8)

    below = kto_loss(point, LABELS, torch.tensor(-0.5), 1.0, 1.0, 3.0)

    assert below == kto_loss(point, LABELS, torch.tensor(0.0), 1.0, 1.0, 3.0)


def test_the_logistic_gradient_is_that_of_finite_differences():
    point = ratios(0.3, -0.2, -1.0, 0.8)

    def loss(at):
        return logistic_loss(at, LABELS, 1.5, 0.7, 3.0)

    assert torch.autograd.gradcheck(loss, point.clone().requires_grad_())


@pytest.mark.parametrize(("n_good", "n_bad"), [(3, 1), (2, 2), (1, 7)])
def test_the_logistic_loss_is_least_where_the_evidence_is_weighed(n_good, n_bad):
    labels = torch.tensor([True] * n_good + [False] * n_bad)
    grid = np.linspace(-1, 1, 2001)

    losses = [
        float(logistic_loss(torch.full((n_good + n_bad,), r), labels, 1.0, 1.0, 3.0))
        for r in grid
    ]

    expected = np.log(n_good / n_bad) / 3.0
    assert grid[np.argmin(losses)] == pytest.approx(expected, abs=0.002)


def test_the_loss_of_the_kto_paper_follows_any_majority_to_the_end():
    labels = torch.tensor([True, True, True, False, False])
    grid = np.linspace(-1, 1, 21)

    losses = [
        float(kto_loss(torch.full((5,), r), labels, torch.zeros(()), 1.0, 1.0, 3.0))
        for r in grid
    ]

    assert np.argmin(losses) == len(grid) - 1


@pytest.mark.parametrize(("n_good", "n_bad"), [(1, 1), (2, 6), (30, 2)])
def test_both_kinds_weigh_the_same_and_an_action_one_on_average(n_good, n_bad):
    good, bad = adaptive_weights(n_good, n_bad)

    assert good * n_good == pytest.approx(bad * n_bad)
    assert good * n_good + bad * n_bad == pytest.approx(n_good + n_bad)


def test_a_kind_that_is_alone_keeps_half_of_the_weight():
    assert adaptive_weights(0, 8)[1] == 0.5
    assert adaptive_weights(8, 0)[0] == 0.5


# ---- Feedback: what is better than usual.


def judge_all(gains, **settings):
    memory, found = FeedbackMemory(PolicyConfig(**settings)), []
    for gain in gains:
        judgement = memory.judged(gain, n_admitted=1)
        found.append(judgement)
        memory = judgement.memory
    return found


def test_the_baseline_is_the_discounted_mean_of_all_gains():
    gains = np.random.default_rng(0).normal(size=40)

    memory = judge_all(gains)[-1].memory

    weights = DECAY ** np.arange(40)[::-1]
    assert memory.baseline == pytest.approx(np.average(gains, weights=weights))


def test_the_baseline_does_not_stick_to_the_first_gain():
    memory = judge_all([100.0] + [1.0] * 60)[-1].memory

    assert abs(memory.baseline - 1.0) < 0.5


def test_an_advantage_is_the_gain_minus_the_baseline_before_it():
    found = judge_all([1.0, 3.0, 0.0])

    second = (DECAY * 1.0 + 3.0) / (DECAY + 1.0)
    assert [j.advantage for j in found] == pytest.approx([0.0, 2.0, -second])


def test_the_first_two_gains_get_no_feedback():
    found = judge_all([5.0, -5.0])

    assert {judgement.feedback for judgement in found} == {Feedback.NONE}


def test_equal_gains_get_no_feedback():
    found = judge_all([0.3] * 50)

    assert {judgement.feedback for judgement in found} == {Feedback.NONE}


def test_about_two_fifths_of_the_actions_get_a_label():
    found = judge_all(np.random.default_rng(1).standard_t(3, size=1000))

    share = np.mean([judgement.feedback is not Feedback.NONE for judgement in found])
    assert share == pytest.approx(0.4, abs=0.05)


def test_feedback_does_not_depend_on_the_unit_of_the_gains():
    gains = np.random.default_rng(2).normal(size=100)

    small = [judgement.feedback for judgement in judge_all(gains * 1e-6)]
    large = [judgement.feedback for judgement in judge_all(gains * 1e6)]

    assert small == large


def test_a_drift_of_the_gains_is_followed():
    # Without forgetting, the baseline would be a whole deviation behind in the end.
    rng = np.random.default_rng(3)
    gains = np.linspace(3.0, 0.0, 200) + rng.normal(size=200)

    late = [judgement.feedback for judgement in judge_all(gains)[100:]]

    assert late.count(Feedback.DESIRABLE) >= 10


def test_an_action_without_admitted_rows_is_undesirable_even_below_zero():
    memory = judge_all([-5.0, -4.0, -6.0, -5.0])[-1].memory

    judgement = memory.judged(0.0, n_admitted=0)

    assert judgement.feedback is Feedback.UNDESIRABLE
    assert judgement.advantage <= 0.0
    assert judgement.memory == memory


@pytest.mark.parametrize("gain", [math.nan, math.inf, -math.inf])
def test_a_gain_that_is_not_known_is_forgotten(gain):
    memory = judge_all([1.0, 2.0, 3.0])[-1].memory

    judgement = memory.judged(gain, n_admitted=3)

    assert judgement.feedback is Feedback.NONE
    assert math.isnan(judgement.advantage)
    assert judgement.memory == memory


def test_the_memory_comes_back_from_json():
    config = PolicyConfig()
    memory = judge_all(np.random.default_rng(4).normal(size=30))[-1].memory

    text = json.dumps(memory.to_lists())

    assert FeedbackMemory.from_lists(json.loads(text), config) == memory
