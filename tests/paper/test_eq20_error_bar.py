"""Equation 20 and theorem 3.1: an error bar that holds makes commitments safe.

Equation 49 is the error bar: t(0.975, M - 1) sigma / sqrt(M) over M = 5 folds.
"""

import numpy as np
import pytest
from stand_ins import ToldGains

from tabtap.config import AugmentConfig
from tabtap.domain import Baseline, CommitRequest, ScoresToBeat
from tabtap.domain.judgement import two_sided_fold_margin
from tabtap.loop import PaperCommitment

T_975_4 = 2.7764451  # from a printed table of Student's t


def test_equation_49_is_the_t_interval_over_five_folds():
    gains = np.array([0.12, -0.03, 0.08, 0.2, 0.01])
    deviation = (sum((g - sum(gains) / 5) ** 2 for g in gains) / 4) ** 0.5

    margin = two_sided_fold_margin(gains, 0.95)

    assert margin == pytest.approx(T_975_4 * deviation / 5**0.5, rel=1e-6)


@pytest.fixture
def checks(real, lineages, make_rows):
    """Run the paper's rule on pools whose true gain is known; five noisy folds."""
    pool = make_rows(0)
    losses = tuple(np.ones(1) for _ in range(5))
    baseline = Baseline((), (), losses, np.zeros(30), np.zeros(30))
    settings = AugmentConfig.paper().commit

    def run(true_gains, seed):
        rng = np.random.default_rng(seed)
        certificates = []
        for gain in true_gains:
            rule = PaperCommitment(
                ToldGains(gain + rng.normal(size=5)), settings, "noisy"
            )
            trial = CommitRequest(
                0, lineages, real.empty(), pool, baseline, ScoresToBeat(), 0
            )
            certificates.append(rule.check(trial).certificate)
        return certificates

    return run


def test_the_error_bar_holds_at_its_level_when_folds_err_independently(checks):
    true = np.linspace(-1, 1, 1500)

    bounds = [certificate.over_incumbent for certificate in checks(true, 0)]

    errors = np.array([bound.gain for bound in bounds]) - true
    held = np.abs(errors) <= [bound.margin for bound in bounds]
    assert held.mean() == pytest.approx(0.95, abs=0.02)


def test_theorem_31_pools_below_tau_are_committed_at_most_as_often_as_the_bar_fails(
    checks,
):
    harmful = np.full(1500, -1e-9)  # the worst case: no gain at all

    certificates = checks(harmful, 1)

    # Only an error upwards can commit them: half of alpha = 5 %.
    rate = np.mean([certificate.committed for certificate in certificates])
    assert rate <= 0.05
    assert rate == pytest.approx(0.025, abs=0.015)


def test_theorem_31_where_the_bar_holds_a_committed_gain_is_at_least_tau(checks):
    true = np.random.default_rng(2).normal(0.5, 1.0, 1500)

    certificates = checks(true, 2)

    committed = 0
    for gain, certificate in zip(true, certificates, strict=True):
        bound = certificate.over_incumbent
        if certificate.committed and abs(bound.gain - gain) <= bound.margin:
            committed += 1
            assert gain >= 0
    assert committed > 100
