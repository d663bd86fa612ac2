"""Equations 31 to 34: what one row more does to a logistic model, to first order.

The minimum is scikit-learn's, gradients and curvature are numerical differences, and
utilities are those of training again.
"""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from tabtap.study.theory import (
    LogisticModel,
    agreement,
    first_order_utility,
    retrained_utility,
)

PENALTY = 0.05


def draw(n_rows, seed):
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([rng.normal(size=(n_rows, 3)), np.ones(n_rows)])
    chance = 1 / (1 + np.exp(-inputs @ np.array([1.0, -2.0, 0.5, 0.3])))
    return inputs, (rng.random(n_rows) < chance).astype(np.int64)


@pytest.fixture
def model():
    return LogisticModel.fit(*draw(300, 0), PENALTY)


def test_equation_31_is_minimised_where_scikit_learn_has_it(model):
    # Its objective is ours times C n, with C = 1 / (lambda n).
    theirs = LogisticRegression(
        C=1 / (PENALTY * 300), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(model.inputs, model.label)

    assert model.weights == pytest.approx(theirs.coef_[0], abs=1e-5)


def test_gradient_and_hessian_are_those_of_the_objective(model):
    elsewhere = LogisticModel(
        model.weights + 0.3, model.inputs, model.label, model.penalty
    )

    def at(weights):
        return LogisticModel(weights, model.inputs, model.label, model.penalty)

    slope = approx_fprime(elsewhere.weights, lambda w: at(w).objective(), 1e-7)
    curve = np.array(
        [
            approx_fprime(
                elsewhere.weights, lambda w, k=k: at(w).objective_gradient()[k], 1e-7
            )
            for k in range(4)
        ]
    )
    assert elsewhere.objective_gradient() == pytest.approx(slope, abs=1e-5)
    assert elsewhere.hessian() == pytest.approx(curve, abs=1e-5)


@pytest.mark.parametrize(
    ("penalty", "whole", "within"),
    [(1e-5, False, 0.005), (PENALTY, True, 0.005), (PENALTY, False, 0.2)],
    ids=["no penalty", "the penalty's own term kept", "the paper's: it is dropped"],
)
def test_equation_32_is_how_far_one_row_moves_the_minimum(penalty, whole, within):
    model = LogisticModel.fit(*draw(5000, 1), penalty)
    row = np.array([1.0, 1.0, -1.0, 1.0])

    found = model.shifts(row[None], np.array([1]), whole=whole)[0]

    moved = model.with_row(row, 1).weights - model.weights
    error = np.abs(found - moved).max() / np.abs(moved).max()
    assert within / 10 < error < within


def test_equation_33_foretells_what_training_again_finds(model):
    rows, queries = draw(60, 2), draw(500, 3)

    found = first_order_utility(model, rows, queries)

    compared = agreement(found, retrained_utility(model, rows, queries))
    assert compared.rank_correlation > 0.99
    assert compared.slope == pytest.approx(1.0, abs=0.1)
    assert compared.same_sign > 0.9


def test_equation_34_is_the_slope_of_the_query_loss(model):
    queries = draw(500, 3)
    shift = np.array([1e-6, -2e-6, 3e-6, 0.0])
    moved = LogisticModel(model.weights + shift, *draw(300, 0), PENALTY)

    foretold = model.gradients(*queries).mean(axis=0) @ shift

    change = moved.losses(*queries).mean() - model.losses(*queries).mean()
    assert foretold == pytest.approx(change, rel=1e-4)


def test_few_rows_make_the_first_order_crude_as_the_paper_says():
    rows, queries = draw(40, 4), draw(500, 5)
    errors = {}

    for n_rows in (20, 2000):
        model = LogisticModel.fit(*draw(n_rows, 6), PENALTY)
        foretold = first_order_utility(model, rows, queries, whole=True)
        compared = agreement(foretold, retrained_utility(model, rows, queries))
        errors[n_rows] = compared.relative_error

    assert errors[20] > 10 * errors[2000]


def test_the_dropped_term_does_not_fade_with_the_rows():
    rows, queries = draw(40, 4), draw(500, 5)
    model = LogisticModel.fit(*draw(2000, 6), PENALTY)

    foretold = first_order_utility(model, rows, queries)

    compared = agreement(foretold, retrained_utility(model, rows, queries))
    assert compared.relative_error > 0.3
    assert compared.rank_correlation > 0.99  # the order of rows is right
