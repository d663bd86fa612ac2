import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
)
from sklearn.svm import SVC

from tabtap.evaluate.learners import class_probabilities, value_moments


@pytest.fixture
def three_blobs():
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2], 10)
    return rng.normal(size=(30, 2)) + 3 * np.eye(3)[code][:, :2], code


def test_stated_probabilities_are_taken_as_they_are(three_blobs):
    model = LogisticRegression().fit(*three_blobs)

    answer = class_probabilities(model, three_blobs[0], 3)

    assert answer == pytest.approx(model.predict_proba(three_blobs[0]))


def test_margins_of_many_classes_become_probabilities_by_softmax(three_blobs):
    model = RidgeClassifier().fit(*three_blobs)

    answer = class_probabilities(model, three_blobs[0], 3)

    assert answer == pytest.approx(
        softmax(model.decision_function(three_blobs[0]), axis=1)
    )


def test_margins_of_two_classes_become_probabilities_by_the_logistic(three_blobs):
    matrix, code = three_blobs[0][:20], three_blobs[1][:20]
    model = Perceptron().fit(matrix, code)

    answer = class_probabilities(model, matrix, 2)

    assert answer[:, 1] == pytest.approx(expit(model.decision_function(matrix)))
    assert answer.sum(axis=1) == pytest.approx(1.0)


def test_margins_between_pairs_of_classes_are_not_taken_for_classes():
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2, 3], 5)
    matrix = rng.normal(size=(20, 2)) + 9 * code[:, None]
    model = SVC(decision_function_shape="ovo").fit(matrix, code)  # six margins

    answer = class_probabilities(model, matrix, 4)

    assert answer.tolist() == np.eye(4)[code].tolist()


def test_a_model_that_only_names_labels_is_counted_by_its_votes():
    class Namer:
        def predict(self, matrix):
            return np.resize([2, 0], len(matrix))

    answer = class_probabilities(Namer(), np.zeros((2, 1)), 3)

    assert answer.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_stated_deviation_is_the_variance():
    matrix, values = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    model = BayesianRidge().fit(matrix, values)

    mean, variance = value_moments(model, matrix, matrix, values)

    stated_mean, stated_deviation = model.predict(matrix, return_std=True)
    assert mean == pytest.approx(stated_mean)
    assert variance == pytest.approx(stated_deviation**2)


def test_the_trees_of_a_forest_give_its_variance():
    matrix, values = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    model = RandomForestRegressor(5, random_state=0).fit(matrix, values)

    mean, variance = value_moments(model, matrix, matrix, values)

    trees = np.array([tree.predict(matrix) for tree in model.estimators_])
    assert mean == pytest.approx(trees.mean(axis=0))
    assert variance == pytest.approx(trees.var(axis=0))


def test_other_regressors_have_the_variance_of_their_residuals():
    seen, values = np.array([[-1.0], [0.0], [1.0]]), np.array([1.0, -2.0, 1.0])
    model = LinearRegression().fit(seen, values)  # the line is 0 everywhere

    mean, variance = value_moments(model, np.array([[7.0], [8.0]]), seen, values)

    assert mean == pytest.approx([0.0, 0.0])
    assert variance == pytest.approx([2.0, 2.0])
