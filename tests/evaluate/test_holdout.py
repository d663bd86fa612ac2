import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from tabtap.evaluate.evaluators import HoldoutEvaluator, holdout_learners
from tabtap.evaluate.learners import encode


def test_it_is_the_linear_model_of_the_paper():
    classifier = holdout_learners("classification")["linear"]
    regressor = holdout_learners("regression")["linear"]

    assert isinstance(classifier, LogisticRegression)
    assert (classifier.max_iter, classifier.random_state) == (500, 42)
    assert isinstance(regressor, Ridge)
    assert (regressor.alpha, regressor.random_state) == (1.0, 42)


def test_the_gain_of_added_rows_is_the_fall_of_the_validation_loss(build_table):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=60)
    table = build_table(inputs + 0.1 * rng.normal(size=60), inputs)
    real, validation = table.take(np.arange(5)), table.take(np.arange(40, 60))
    more = table.take(np.arange(40))

    before, after = (
        prediction.in_unit_of(real)
        for prediction in HoldoutEvaluator().predict(
            [real, more], [validation, validation]
        )
    )

    gain = np.mean(before.losses(validation) - after.losses(validation))
    errors = []
    for context in (real, more):
        seen, (unseen,) = encode(context, [validation])
        model = Ridge(alpha=1.0).fit(seen, context.target_values)
        error = model.predict(unseen) - validation.target_values
        errors.append(np.mean((error / real.target_values.std()) ** 2))
    assert gain == pytest.approx(errors[0] - errors[1])
    assert gain > 0
