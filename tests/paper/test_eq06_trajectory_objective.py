"""Equation 6: a run is worth the loss of D_0 minus the loss of D_T."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import CommitConfig
from tabtap.domain import CommitRequest, ScoresToBeat
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldReferee
from tabtap.evaluate.metric import metric_of
from tabtap.loop import CrossfitCommitment


def test_a_certificate_states_the_gain_of_the_whole_run_over_real_rows_alone(
    real, lineages, make_rows, losses_by_hand
):
    referee = FoldReferee(
        real, lineages, EstimatorEvaluator(LogisticRegression()), metric_of("loss")
    )
    rule = CrossfitCommitment(real, referee, CommitConfig())
    committed, pool = make_rows(0, 60), make_rows(1, 60)

    last = rule.check(
        CommitRequest(1, lineages, committed, pool, None, ScoresToBeat(), 0)
    ).certificate

    gain = losses_by_hand() - losses_by_hand(committed, pool)
    assert last.over_real.gain == pytest.approx(np.mean(gain), rel=1e-3)
    assert last.score_after - last.score_real == pytest.approx(np.mean(gain), rel=1e-3)
