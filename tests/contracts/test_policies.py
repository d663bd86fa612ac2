"""Promises every policy keeps.  A new one earns them by joining the list below."""

import numpy as np
import pytest

from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Action, Experience, Feedback, LearnerState
from tabtap.policy import LearnedPolicy, ReferencePolicy
from tabtap.stages import ActionPolicy

N_TARGETS = 4
AVAILABLE = np.array([True, False, True, True])


def reference():
    return ReferencePolicy(PolicyConfig(), np.array([0.4, 0.3, 0.2, 0.1]))


def fresh():
    return LearnedPolicy.start(reference(), np.random.default_rng(0))


def taught():
    rng = np.random.default_rng(1)
    return fresh().improved([lesson(fresh(), rng) for _ in range(30)])


POLICIES = {"reference": reference, "fresh": fresh, "taught": taught}


def draw_state(rng):
    return LearnerState(
        deficit=rng.uniform(-1, 1, N_TARGETS),
        uncertainty=rng.random(N_TARGETS),
        pass_rate=rng.random(len(TEMPLATES)),
        novelty=rng.random(),
        available=AVAILABLE,
    )


def lesson(policy, rng):
    state = draw_state(rng)
    feedback = (Feedback.DESIRABLE, Feedback.UNDESIRABLE)[rng.integers(2)]
    return Experience(state, policy.sample(state, rng), feedback)


@pytest.mark.parametrize("policy", [make() for make in POLICIES.values()], ids=POLICIES)
class TestEveryPolicy:
    def test_has_the_methods_of_a_policy(self, policy):
        assert isinstance(policy, ActionPolicy)

    def test_draws_available_targets_and_clamps_exploration(self, policy):
        rng = np.random.default_rng(2)

        actions = [policy.sample(draw_state(rng), rng) for _ in range(200)]

        assert {action.target for action in actions} <= {0, 2, 3}
        for action in actions:
            assert action.exploration == min(max(action.raw_exploration, 0.0), 1.0)

    def test_draws_the_same_from_equal_generators(self, policy):
        state = draw_state(np.random.default_rng(3))

        first, second = (
            policy.sample(state, np.random.default_rng(4)) for _ in range(2)
        )

        assert first == second

    def test_takes_the_density_before_clamping(self, policy):
        state = draw_state(np.random.default_rng(5))
        action = Action(0, TEMPLATES[0], 1.0, 1.4)
        clamped = Action(0, TEMPLATES[0], 1.0, 1.0)

        assert policy.log_prob(state, action) < policy.log_prob(state, clamped)

    def test_thinks_an_unavailable_target_impossible(self, policy):
        state = draw_state(np.random.default_rng(6))

        found = policy.log_prob(state, Action(1, TEMPLATES[0], 0.5, 0.5))

        assert found == -np.inf

    def test_stays_as_it_is_when_another_is_made_of_it(self, policy):
        rng = np.random.default_rng(7)
        state, action = draw_state(rng), Action(2, TEMPLATES[1], 0.3, 0.3)
        before = policy.log_prob(state, action)

        policy.improved([lesson(policy, rng) for _ in range(10)])

        assert policy.log_prob(state, action) == before
