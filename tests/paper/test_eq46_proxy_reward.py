"""Equation 46: a step is rewarded by what its rows take off the loss of proxy rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.domain import Baseline
from tabtap.evaluate.learners import encode
from tabtap.study.dynamics import ProxyUtility, proxy_loss, proxy_reward
from tabtap.study.protocol import Repetition
from tabtap.table.table import Table, concat

JUDGES = ("LR",)


class Silent:
    """A utility that has nothing to say."""

    def baseline(self, committed):
        return Baseline((), (), (), np.zeros(len(committed)), np.zeros(len(committed)))

    def gains(self, _, added):
        return [None for _ in added]


@pytest.fixture
def part(real, make_rows):
    return Repetition(0, real, real.take(np.arange(3)), make_rows(99, 60))


@pytest.fixture
def watched(part, lineages):
    return ProxyUtility(Silent(), part, lineages, JUDGES)


def loss_by_hand(training, proxy):
    seen, (asked,) = encode(training, [proxy])
    model = LogisticRegression(max_iter=1000, random_state=42)
    stated = model.fit(seen, training.target).predict_proba(asked)
    return -np.log(stated[np.arange(len(proxy)), proxy.target]).mean()


def test_the_reward_is_the_fall_of_the_loss_of_learners_trained_again(
    real, make_rows, part, watched
):
    committed, step = make_rows(1, 12), make_rows(2, 6)

    baseline = watched.baseline(committed)
    watched.gains(baseline, [step])

    training = concat([real, committed])
    before = loss_by_hand(training, part.test)
    after = loss_by_hand(concat([training, step]), part.test)
    assert proxy_loss(part, training, JUDGES) == pytest.approx(before)
    assert watched.rewards == [pytest.approx(proxy_reward(before, after))]
    assert watched.rewards != [0.0]


def test_every_step_is_compared_with_the_committed_rows_and_not_with_the_last_step(
    real, make_rows, watched
):
    steps = [make_rows(2, 6), make_rows(3, 6)]

    baseline = watched.baseline(real.empty())
    watched.gains(baseline, steps)
    watched.gains(baseline, steps[1:])

    assert watched.rewards[1] == watched.rewards[2]
    assert watched.rewards[0] != watched.rewards[1]


def test_a_step_without_rows_has_no_reward(real, watched):
    baseline = watched.baseline(real.empty())

    watched.gains(baseline, [real.empty()])

    assert watched.rewards == [0.0]


def test_rows_with_wrong_labels_are_not_desirable(real, make_rows, watched):
    rows = make_rows(3, 40)
    wrong = Table(
        rows.schema,
        rows.cells,
        rows.missing,
        1 - rows.target,
        rows.origin,
        rows.unseen_fold,
    )

    watched.gains(watched.baseline(real.empty()), [wrong])

    assert watched.rewards[0] < 0
