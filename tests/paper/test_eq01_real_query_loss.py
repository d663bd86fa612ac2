"""Equation 1: downstream performance is the mean loss on real queries."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error

from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.learners import encode


def test_classification_is_measured_by_cross_entropy(real):
    training, queries = real.take(np.arange(20)), real.take(np.arange(20, 30))

    (answer,) = EstimatorEvaluator(LogisticRegression()).predict([training], [queries])

    seen, (unseen,) = encode(training, [queries])
    model = LogisticRegression(random_state=42).fit(seen, training.target)
    expected = log_loss(queries.target, model.predict_proba(unseen))
    assert answer.losses(queries).mean() == pytest.approx(expected)


def test_regression_is_measured_by_squared_error_on_the_standardised_target(
    build_table,
):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=30)
    table = build_table(50 + 9 * inputs + rng.normal(size=30), inputs)
    training, queries = table.take(np.arange(20)), table.take(np.arange(20, 30))

    (answer,) = EstimatorEvaluator(Ridge()).predict([training], [queries])

    seen, (unseen,) = encode(training, [queries])
    model = Ridge().fit(seen, training.target)
    error = mean_squared_error(queries.target, model.predict(unseen))
    losses = answer.in_unit_of(training).losses(queries)
    assert losses.mean() == pytest.approx(error / training.target.var())
