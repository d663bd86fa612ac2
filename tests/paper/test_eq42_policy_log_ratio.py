"""Equation 42: r = log pi - log pi_ref, which is 0 for every action at the start.

Equation 44: log pi is the sum of the logs of its three parts, exploration before clamp.
"""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm

from tabtap.config import AugmentConfig
from tabtap.domain import TEMPLATES, Action, Experience, Feedback, LearnerState
from tabtap.policy import LearnedPolicy, ReferencePolicy

CONFIG = AugmentConfig.paper().policy


def draw_state(rng, n_targets):
    return LearnerState(
        deficit=rng.uniform(-1, 1, n_targets),
        uncertainty=rng.random(n_targets),
        pass_rate=rng.random(len(TEMPLATES)),
        novelty=rng.random(),
        available=(rng.random(n_targets) < 0.6) | (np.arange(n_targets) == 0),
    )


def draw_action(rng, n_targets):
    raw = float(rng.normal(0.5, 1.0))
    template = TEMPLATES[rng.integers(len(TEMPLATES))]
    return Action(int(rng.integers(n_targets)), template, min(max(raw, 0), 1), raw)


def start(n_targets):
    reference = ReferencePolicy(CONFIG, np.full(n_targets, 1 / n_targets))
    return LearnedPolicy.start(reference, np.random.default_rng(n_targets))


@pytest.mark.parametrize("n_targets", [1, 2, 7, 16])
def test_the_policy_starts_exactly_at_the_reference(n_targets):
    rng, policy = np.random.default_rng(0), start(n_targets)

    for _ in range(50):
        state, action = draw_state(rng, n_targets), draw_action(rng, n_targets)
        assert policy.log_ratio(state, action) == 0.0


def test_the_log_ratio_is_the_difference_of_the_log_densities():
    rng = np.random.default_rng(1)
    state, action = draw_state(rng, 5), Action(0, TEMPLATES[1], 0.6, 0.6)
    policy = start(5).improved([Experience(state, action, Feedback.DESIRABLE)])

    found = policy.log_ratio(state, action)

    before = policy.reference.log_prob(state, action)
    assert found == policy.log_prob(state, action) - before
    assert found > 0.0


def test_the_log_density_is_the_sum_of_its_three_parts():
    rng = np.random.default_rng(2)
    state, action = draw_state(rng, 5), Action(0, TEMPLATES[0], 1.0, 1.3)
    policy = start(5).improved([Experience(state, action, Feedback.UNDESIRABLE)])
    parts = policy.distribution([state])

    found = policy.log_prob(state, action)

    target = log_softmax(parts.target_logits[0].numpy())[0]
    template = log_softmax(parts.template_logits[0].numpy())[0]
    exploration = norm(float(parts.mean[0]), float(parts.scale[0])).logpdf(1.3)
    assert found == pytest.approx(target + template + exploration)
