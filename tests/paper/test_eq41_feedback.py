"""Equation 41: +1 above the deadband, -1 below its negative, otherwise no feedback.

Table 4: the deadband is the 0.6 quantile of the last 200 advantages' sizes.
"""

import numpy as np
import pytest

from tabtap.config import AugmentConfig
from tabtap.domain import Feedback
from tabtap.policy import FeedbackMemory

CONFIG = AugmentConfig.paper().policy


@pytest.fixture(scope="module")
def judgements():
    rng = np.random.default_rng(0)
    memory, found = FeedbackMemory(CONFIG), []
    for gain in rng.standard_t(3, size=450):  # heavy tails, as gains have
        judgement = memory.judged(gain, n_admitted=1)
        found.append(judgement)
        memory = judgement.memory
    return found


def test_the_sign_beyond_the_deadband_is_the_feedback(judgements):
    for place in range(2, len(judgements)):
        # The first action has nothing to be compared with.
        recent = [j.advantage for j in judgements[1 : place + 1]][-200:]
        deadband = np.quantile(np.abs(recent), 0.6)
        advantage = recent[-1]
        expected = int(advantage > deadband) - int(advantage < -deadband)

        assert int(judgements[place].feedback) == expected


def test_all_three_kinds_of_feedback_occur(judgements):
    assert {judgement.feedback for judgement in judgements} == set(Feedback)
