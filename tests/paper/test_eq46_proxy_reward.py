"""Equation 46: a step is rewarded by what its rows take off the loss of proxy rows."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from tabtap.evaluate.learners import encode
from tabtap.study.dynamics import proxy_loss, proxy_reward
from tabtap.study.protocol import Repetition
from tabtap.table.table import concat


@pytest.fixture
def part(real, make_rows):
    return Repetition(0, real, real.take(np.arange(3)), make_rows(99, 60))


def loss_by_hand(training, proxy):
    seen, (asked,) = encode(training, [proxy])
    losses = []
    for model in (
        LogisticRegression(max_iter=1000, random_state=42),
        RandomForestClassifier(100, random_state=42),
    ):
        stated = model.fit(seen, training.target).predict_proba(asked)
        own = np.clip(stated[np.arange(len(proxy)), proxy.target], 1e-6, 1.0)
        losses.append(-np.log(own).mean())
    return np.mean(losses)


def test_the_reward_is_the_fall_of_the_loss_of_learners_trained_again(
    real, make_rows, part
):
    training, step = concat([real, make_rows(1, 12)]), make_rows(2, 6)
    before = proxy_loss(part, training)

    reward = proxy_reward(part, training, before, step)

    after = loss_by_hand(concat([training, step]), part.test)
    assert before == pytest.approx(loss_by_hand(training, part.test), rel=1e-6)
    assert reward == pytest.approx(before - after, rel=1e-6)
    assert reward != 0


def test_a_step_without_rows_has_no_reward(real, part):
    assert proxy_reward(part, real, 1.0, real.empty()) == 0.0


def test_rows_with_wrong_labels_are_not_desirable(real, make_rows, part):
    wrong = make_rows(3, 40)
    wrong = wrong.take(np.arange(len(wrong)))
    flipped = type(wrong)(
        wrong.schema,
        wrong.cells,
        wrong.missing,
        1 - wrong.target,
        wrong.origin,
        wrong.unseen_fold,
    )

    assert proxy_reward(part, real, proxy_loss(part, real), flipped) < 0
