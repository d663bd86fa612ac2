import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.errors import UserInputError
from tabtap.evaluate import EstimatorEvaluator


def test_it_is_called_by_its_class_or_as_the_user_says():
    assert EstimatorEvaluator(LogisticRegression()).name == "LogisticRegression"
    assert EstimatorEvaluator(LogisticRegression(), name="mine").name == "mine"


@pytest.mark.parametrize("wrong", [LogisticRegression, "forest", None])
def test_what_is_not_an_estimator_is_refused(wrong):
    with pytest.raises(UserInputError, match="unfitted scikit-learn estimator"):
        EstimatorEvaluator(wrong)


def test_more_informative_contexts_lower_the_loss(build_table):
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=300)
    table = build_table(label, rng.normal(size=300) + 2.0 * label)
    queries = table.take(np.arange(200, 300))
    few, many = table.take(np.arange(6)), table.take(np.arange(200))

    small, large = EstimatorEvaluator(LogisticRegression()).predict(
        [few, many], [queries, queries]
    )

    assert large.losses(queries).mean() < small.losses(queries).mean()
