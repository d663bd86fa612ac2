"""Equations 19 and 39: the rule asks about the pool as a whole, on one baseline."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import CommitConfig, UtilityConfig
from tabtap.domain import CommitRequest, ScoresToBeat
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldUtility
from tabtap.loop import PaperCommitment
from tabtap.table.table import concat


def test_a_certificate_states_the_loss_of_d_minus_the_loss_of_d_and_the_pool(
    real, lineages, make_rows, losses_by_hand
):
    evaluator = EstimatorEvaluator(LogisticRegression())
    utility = FoldUtility(real, lineages, evaluator, UtilityConfig(focus_fraction=0.2))
    committed, steps = make_rows(10), [make_rows(seed, 20) for seed in (3, 4)]
    baseline = utility.baseline(committed)
    rule = PaperCommitment(utility, CommitConfig(), "logistic regression: loss")
    trial = CommitRequest(
        0, lineages, committed, concat(steps), baseline, ScoresToBeat(), 0
    )

    certificate = rule.check(trial).certificate

    focus = np.concatenate([rows.origin for rows in baseline.focus])
    before = losses_by_hand(committed)[focus].mean()
    after = losses_by_hand(committed, *steps)[focus].mean()
    assert certificate.over_incumbent.gain == pytest.approx(before - after, rel=1e-2)
    assert -certificate.score_before == pytest.approx(before, rel=1e-3)
    assert -certificate.score_after == pytest.approx(after, rel=1e-3)
    # Rows complement each other: the pool is not the sum of its steps.
    alone = [estimate.gain for estimate in utility.gains(baseline, steps)]
    assert abs(sum(alone) - (before - after)) > 1e-3
