"""Equation 15: the expected gain is the chance to pass times the gain of what passes.

It holds because a proposal of which nothing passes gains exactly nothing.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import UtilityConfig
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldUtility


def test_the_mean_gain_factors_into_feasibility_and_conditional_utility(
    real, lineages, make_rows
):
    evaluator = EstimatorEvaluator(LogisticRegression())
    utility = FoldUtility(real, lineages, evaluator, UtilityConfig())
    baseline = utility.baseline(make_rows(99))
    passes = np.random.default_rng(0).random(20) < 0.6
    proposals = [make_rows(seed, n_rows=2) for seed in range(20)]
    admitted = [
        rows if passed else rows.empty()
        for rows, passed in zip(proposals, passes, strict=True)
    ]

    gains = np.array([e.gain for e in utility.gains(baseline, admitted)])

    assert 0 < passes.sum() < 20
    assert gains.mean() == pytest.approx(passes.mean() * gains[passes].mean())
    assert (gains[~passes] == 0).all()
    assert (gains[passes] != 0).all()
