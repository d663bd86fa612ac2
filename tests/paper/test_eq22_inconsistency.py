"""Equation 22: a row is learnable if the learner would have given it its target.

Compared with scikit-learn's log loss and squared error.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_squared_error

from tabtap.evaluate import EstimatorEvaluator
from tabtap.study.learnability import diagnose, inconsistency


def test_of_a_class_it_is_the_log_loss_of_the_row():
    rng = np.random.default_rng(0)
    stated = rng.dirichlet([1.0, 1.0, 2.0], size=100)
    label = rng.integers(3, size=100)

    found = inconsistency(stated, label)

    by_hand = [
        log_loss([k], [p], labels=[0, 1, 2]) for k, p in zip(label, stated, strict=True)
    ]
    assert found == pytest.approx(by_hand)


def test_a_class_that_is_ruled_out_costs_much_and_not_all():
    found = inconsistency(np.array([[1.0, 0.0]]), np.array([1]))

    assert found == pytest.approx([-np.log(1e-6)])


def test_of_a_number_it_is_the_squared_residual():
    rng = np.random.default_rng(1)
    stated, value = rng.normal(size=(2, 50))

    found = inconsistency(stated, value)

    by_hand = [mean_squared_error([y], [f]) for y, f in zip(value, stated, strict=True)]
    assert found == pytest.approx(by_hand)


def test_a_wrong_label_is_the_least_learnable(build_table):
    rng = np.random.default_rng(2)
    label = np.arange(60) % 2
    real = build_table(label, 4.0 * label + rng.normal(size=60))
    rows = build_table([0, 1, 1], np.array([0.0, 4.0, 0.0]))

    found = diagnose(rows, real, EstimatorEvaluator(LogisticRegression()))

    assert found.inconsistency.argmax() == 2
    assert found.inconsistency[2] > 10 * found.inconsistency[:2].max()


def test_a_residual_is_counted_in_the_real_target_s_deviations(build_table):
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    real = build_table(100.0 + 50.0 * x, x)
    rows = build_table(100.0 + 50.0 * x[:3] + np.array([0.0, 50.0, 100.0]), x[:3])

    found = diagnose(rows, real, EstimatorEvaluator(LinearRegression()))

    unit = (50.0 * x).std()
    assert found.inconsistency == pytest.approx(
        [0.0, (50 / unit) ** 2, (100 / unit) ** 2], rel=1e-3, abs=1e-6
    )
