"""Equation 4: a pool is committed if its gain exceeds tau, else nothing changes."""

import numpy as np
import pytest
from stand_ins import ToldGains

from tabtap.config import CommitConfig
from tabtap.domain import Baseline, CommitRequest, ScoresToBeat
from tabtap.loop import PaperCommitment


@pytest.mark.parametrize(
    ("gain", "least", "committed"),
    [
        (0.1, 0.0, True),
        (0.0, 0.0, False),
        (-0.1, 0.0, False),
        (0.1, 0.05, True),
        (0.05, 0.05, False),
        (0.04, 0.05, False),
    ],
)
def test_the_pool_is_committed_if_its_gain_exceeds_tau(
    real, lineages, make_rows, gain, least, committed
):
    # All folds agree, so there is no error bar.
    rule = PaperCommitment(ToldGains([gain] * 5), CommitConfig(min_gain=least), "told")
    losses = tuple(np.ones(2) for _ in range(5))
    baseline = Baseline((), (), losses, np.zeros(30), np.zeros(30))
    trial = CommitRequest(
        0, lineages, real.empty(), make_rows(0), baseline, ScoresToBeat(), 0
    )

    certificate = rule.check(trial).certificate

    assert certificate.committed is committed
    assert certificate.over_incumbent.margin == 0.0
    assert certificate.n_rows == 8
