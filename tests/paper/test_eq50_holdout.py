"""Equation 50: the holdout estimator's utility is the fall of the validation loss."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error

from tabtap.evaluate import HoldoutEvaluator
from tabtap.evaluate.learners import encode
from tabtap.table.table import concat


def gain_of(contexts, validation, unit):
    answers = HoldoutEvaluator().predict(contexts, [validation, validation])
    before, after = (a.in_unit_of(unit).losses(validation).mean() for a in answers)
    return before - after


def test_classification_retrains_a_logistic_regression(real, make_rows):
    training, validation = real.take(np.arange(20)), real.take(np.arange(20, 30))
    contexts = [training, concat([training, make_rows(0, 30)])]

    losses = []
    for context in contexts:
        seen, (unseen,) = encode(context, [validation])
        model = LogisticRegression(max_iter=500, random_state=42)
        stated = model.fit(seen, context.target).predict_proba(unseen)
        losses.append(log_loss(validation.target, stated))
    assert gain_of(contexts, validation, training) == pytest.approx(
        losses[0] - losses[1]
    )


def test_regression_retrains_a_ridge_regression(build_table):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=40)
    table = build_table(20 * inputs + rng.normal(size=40), inputs)
    training, validation = table.take(np.arange(10)), table.take(np.arange(30, 40))
    contexts = [training, table.take(np.arange(30))]

    losses = []
    for context in contexts:
        seen, (unseen,) = encode(context, [validation])
        model = Ridge(alpha=1.0).fit(seen, context.target)
        losses.append(mean_squared_error(validation.target, model.predict(unseen)))
    expected = (losses[0] - losses[1]) / training.target.var()
    assert gain_of(contexts, validation, training) == pytest.approx(expected)
