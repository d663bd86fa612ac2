"""Equations 3 and 33: a row is worth (1 / n) grad L' inverse(H) grad l, to first order.

The algorithm does not compute it.  Measured utility agrees with it where the learner is
smooth and the row is one among many, which ties the sign and the scale of a gain.
"""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.config import UtilityConfig
from tabtap.domain import Lineages, TargetUnit, ValuePrediction
from tabtap.evaluate.judging import FoldUtility

N_ROWS, N_COLUMNS, PENALTY = 4000, 3, 1e-3


def design(rows):
    return np.column_stack([*rows.cells, np.ones(len(rows))])


def fit(rows, unit):
    """Minimise mean squared error plus PENALTY |theta|^2 (equation 31)."""
    inputs, values = design(rows), unit.standardise(rows.target_values)
    normal = inputs.T @ inputs / len(rows) + PENALTY * np.eye(inputs.shape[1])
    return np.linalg.solve(normal, inputs.T @ values / len(rows))


class SmoothLearner:
    name = "smooth"

    def __init__(self, unit):
        self.unit = unit

    def predict(self, contexts, queries):
        return [
            ValuePrediction(
                design(asked) @ fit(context, self.unit) * self.unit.spread
                + self.unit.center,
                np.ones(len(asked)),
            )
            for context, asked in zip(contexts, queries, strict=True)
        ]


@pytest.fixture
def scene(build_table):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(N_COLUMNS, N_ROWS))
    # The folds follow different lines, so that there is a gradient to go down.
    slope = np.where(np.arange(N_ROWS) % 2, 1.0, 2.0)
    target = 3 + 5 * (slope * inputs[0] - inputs[1] + rng.normal(size=N_ROWS))
    table = build_table(target, *inputs)
    lineages = Lineages(np.arange(N_ROWS) % 2, crossfit=False)
    learner = SmoothLearner(TargetUnit.of(table))
    config = UtilityConfig(n_folds=2, focus_fraction=1.0)
    return table, FoldUtility(table, lineages, learner, config)


def first_order(utility, fold, row):
    table, unit = utility.real, utility.evaluator.unit
    context = table.take(utility.lineages.seen(fold))
    queries = table.take(utility.lineages.asked(fold))
    theta = fit(context, unit)
    hessian = 2 * (design(context).T @ design(context) / len(context))
    hessian += 2 * PENALTY * np.eye(len(theta))

    def gradient(rows):
        error = design(rows) @ theta - unit.standardise(rows.target_values)
        return 2 * design(rows).T @ error / len(rows)

    shift = -np.linalg.solve(hessian, gradient(row)) / len(context)  # equation 32
    return -gradient(queries) @ shift


def test_measured_utility_of_a_single_row_agrees_to_first_order(scene):
    table, utility = scene
    baseline = utility.baseline(table.empty())
    rows = [
        replace(table.take(np.array([k])), target=np.array([value]))
        for k, value in ((0, 20.0), (1, -20.0), (2, 15.0), (3, 0.0), (4, 30.0))
    ]

    estimates = utility.gains(baseline, rows)

    expected = [[first_order(utility, fold, row) for fold in (0, 1)] for row in rows]
    found = [estimate.fold_gains for estimate in estimates]
    assert np.ravel(found) == pytest.approx(np.ravel(expected), rel=0.1, abs=1e-6)
    assert {np.sign(gain) for gain in np.ravel(expected)} == {-1.0, 1.0}
