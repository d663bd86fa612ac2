"""Equation 2: a set is worth the loss before minus the loss after retraining."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldReferee
from tabtap.evaluate.metric import metric_of
from tabtap.table.table import concat


@pytest.mark.parametrize("seed", range(3))
def test_the_referee_measures_the_fall_of_the_loss(
    real, lineages, make_rows, losses_by_hand, seed
):
    committed, added = make_rows(10), make_rows(seed)
    referee = FoldReferee(
        real, lineages, EstimatorEvaluator(LogisticRegression()), metric_of("loss")
    )

    (before,) = referee.scores(committed).by_learner.values()
    (after,) = referee.scores(concat([committed, added])).by_learner.values()

    fall = losses_by_hand(committed) - losses_by_hand(committed, added)
    assert np.mean(after - before) == pytest.approx(fall.mean(), rel=1e-3, abs=1e-6)
    assert after - before == pytest.approx(fall, rel=1e-3, abs=1e-5)
