"""Equation 21: informative is where the learner is unsure, or its values differ.

Entropies are compared with scipy's, variances with scikit-learn's neighbours.
"""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.learners import encode
from tabtap.study.learnability import boundary_score, diagnose, nearest_rows


def test_of_a_class_it_is_the_entropy_of_what_the_learner_states():
    stated = np.random.default_rng(0).dirichlet([0.3, 1.0, 2.0], size=200)

    found = boundary_score(stated)

    assert found == pytest.approx(entropy(stated, axis=1))


def test_a_class_that_is_ruled_out_counts_for_nothing():
    assert boundary_score(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == pytest.approx(
        [0.0, 0.6931471805599453]
    )


def test_of_a_number_it_is_the_variance_of_f_over_the_neighbours():
    predicted = np.array([1.0, 2.0, 4.0, 8.0])
    neighbours = np.array([[0, 1, 2], [3, 3, 3]])

    found = boundary_score(predicted, neighbours)

    # Of 1, 2 and 4, whose mean is 7 / 3.
    assert found == pytest.approx([14 / 9, 0.0])


def test_neighbours_are_those_of_the_paper_s_knn(build_table):
    rng = np.random.default_rng(1)
    real = build_table(rng.normal(size=40), *rng.normal(size=(3, 40)))
    rows = build_table(rng.normal(size=15), *rng.normal(size=(3, 15)))

    near = nearest_rows(rows, real)

    seen, (asked,) = encode(real, [rows])
    mean = KNeighborsRegressor(5).fit(seen, real.target_values).predict(asked)
    assert near.shape == (15, 5)
    assert real.target_values[near].mean(axis=1) == pytest.approx(mean)


def test_rows_between_two_classes_are_the_informative_ones(build_table):
    rng = np.random.default_rng(2)
    label = np.arange(60) % 2
    real = build_table(label, 4.0 * label + rng.normal(size=60))
    rows = build_table([0, 1, 0], np.array([-2.0, 6.0, 2.0]))

    found = diagnose(rows, real, EstimatorEvaluator(LogisticRegression()))

    assert found.boundary.argmax() == 2
    assert found.boundary[2] > 10 * found.boundary[:2].max()
