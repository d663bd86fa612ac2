"""Equation 7: the gains of the committed pools add up to the gain of the run."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.config import CommitConfig, UtilityConfig
from tabtap.domain import CommitRequest, ScoresToBeat
from tabtap.evaluate import EstimatorEvaluator
from tabtap.evaluate.judging import FoldReferee, FoldUtility
from tabtap.evaluate.metric import metric_of
from tabtap.loop import CrossfitCommitment
from tabtap.table.table import concat


def test_gains_of_committed_pools_add_up_and_refused_ones_do_not_count(
    real, lineages, make_rows, losses_by_hand
):
    evaluator = EstimatorEvaluator(LogisticRegression())
    referee = FoldReferee(real, lineages, evaluator, metric_of("loss"))
    # So little confidence that whatever seems to help is committed.
    rule = CrossfitCommitment(
        real, referee, CommitConfig(confidence=1e-9, min_gain=-1.0)
    )
    committed, standing = real.empty(), ScoresToBeat()
    pools, certificates = [], []

    for window in range(8):
        pool = make_rows(window, 40)
        trial = CommitRequest(window, lineages, committed, pool, None, standing, 0)
        decision = rule.check(trial)
        certificate, standing = decision.certificate, decision.standing
        certificates.append(certificate)
        if certificate.committed:
            pools.append(pool.take(decision.kept))
            committed = concat([committed, pools[-1]])

    decisions = [c.committed for c in certificates]
    gains = [c.over_incumbent.gain for c in certificates if c.committed]
    total = np.mean(losses_by_hand() - losses_by_hand(*pools))
    assert len(gains) > 1
    assert not all(decisions)
    assert sum(gains) == pytest.approx(total, rel=1e-3)


def test_plug_in_utility_telescopes_on_a_focus_that_stays(real, lineages, make_rows):
    evaluator = EstimatorEvaluator(LogisticRegression())
    config = UtilityConfig(focus_fraction=1.0, max_committed=None)
    utility = FoldUtility(real, lineages, evaluator, config)
    pools = [make_rows(seed) for seed in range(4)]

    parts = []
    for place, pool in enumerate(pools):
        baseline = utility.baseline(concat([real.empty(), *pools[:place]]))
        parts.append(utility.gains(baseline, [pool])[0].gain)
    start = utility.baseline(real.empty())
    whole = utility.gains(start, [concat(pools)])[0].gain

    assert sum(parts) == pytest.approx(whole, rel=1e-6, abs=1e-9)
    assert min(map(abs, parts)) > 0
