"""Equation 14: plug-in utility is the fall of the plug-in loss, on one focus."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import UtilityConfig
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldUtility


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_loss_of_d_minus_the_loss_of_d_and_s_on_the_focus_of_d(
    real, lineages, make_rows, losses_by_hand, seed
):
    committed, added = make_rows(10), make_rows(seed)
    evaluator = EstimatorEvaluator(LogisticRegression())
    utility = FoldUtility(real, lineages, evaluator, UtilityConfig(focus_fraction=0.2))
    baseline = utility.baseline(committed)

    (estimate,) = utility.gains(baseline, [added])

    focus = np.concatenate([rows.origin for rows in baseline.focus])
    before = losses_by_hand(committed)[focus].mean()
    after = losses_by_hand(committed, added)[focus].mean()
    assert estimate.gain == pytest.approx(before - after, rel=1e-2, abs=1e-5)
    assert len(focus) == 10
