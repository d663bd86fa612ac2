import json
import math

import numpy as np
import pytest

from tabtap.config import PolicyConfig
from tabtap.domain import Feedback
from tabtap.policy.learned import DECAY, FeedbackMemory


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
