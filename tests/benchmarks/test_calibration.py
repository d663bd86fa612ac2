from dataclasses import replace

import numpy as np
import pytest
from calibration import (
    clustered_share,
    coverage,
    decided_at,
    decisions,
    promise,
)

from tabtap.config import CommitConfig
from tabtap.domain import Baseline, Lineages, RefereeScores, Standing, Trial
from tabtap.loop import CrossfitCommitment


@pytest.fixture
def make_check():
    """Build a commitment check; only what a test is about need be given."""

    def make(**other):
        record = {
            **{"table": "credit-g", "n_real": 50, "split": 0, "seed": 0},
            **{"protocol": "crossfit", "look": 1, "first": True, "committed": True},
            "over_real": {"gain": 0.2, "margin": 0.1, "confidence": 0.95},
            "over_incumbent": {"gain": 0.2, "margin": 0.0, "confidence": 0.5},
            "truth": {
                "over_real": {"score": 0.15, "loss": 0.3},
                "over_incumbent": {"score": 0.15, "loss": 0.3},
            },
            "evidence": {
                "real": [0.0, 0.0, 0.0],
                "before": [0.0, 0.0, 0.0],
                "after": [0.1, 0.2, 0.3],
            },
        }
        return {**record, **other}

    return make


def truth_of(over_real, over_incumbent):
    return {
        "over_real": {"score": over_real, "loss": 0.0},
        "over_incumbent": {"score": over_incumbent, "loss": 0.0},
    }


def test_a_promise_holds_when_the_truth_is_not_below_the_bound(make_check):
    made = promise(make_check())

    assert (made.estimate, made.nominal, made.truth) == (0.2, 0.95, 0.15)
    assert made.lower == pytest.approx(0.1)
    assert made.kept


def test_a_promise_at_another_level_comes_from_the_evidence(make_check):
    made = promise(make_check(), 0.9)

    # t(2) at 0.9 is 1.8856; the three differences deviate by 0.1.
    assert made.lower == pytest.approx(0.2 - 1.8856 * 0.1 / np.sqrt(3), abs=1e-5)
    assert made.nominal == 0.9


def test_the_papers_promise_is_a_loss_and_its_interval_two_sided(make_check):
    check = make_check(
        protocol="paper",
        over_real=None,
        over_incumbent={"gain": 0.5, "margin": 0.1, "confidence": 0.95},
        evidence={"fold_gains": [0.4, 0.6]},
    )

    made = promise(check)

    assert made.nominal == pytest.approx(0.975)
    assert made.truth == 0.3
    assert not made.kept


def test_coverage_leaves_out_what_could_not_be_estimated(make_check):
    unknown = {"gain": float("nan"), "margin": 0.0, "confidence": 0.95}
    checks = [
        make_check(split=0),
        make_check(split=1, truth=truth_of(0.05, 0.05)),
        make_check(split=2, over_real=unknown),
    ]

    found = coverage(checks)

    assert (found.share, found.n, found.n_cells) == (0.5, 2, 2)


def test_equal_cases_of_one_cell_count_once_in_the_error():
    once = clustered_share([True, False, True], ["a", "b", "c"])
    thrice = clustered_share([True, False, True] * 3, ["a", "b", "c"] * 3)

    # Cells of one case each: the deviation over the root of their number.
    assert once.error == pytest.approx(np.std([1, 0, 1], ddof=1) / np.sqrt(3))
    assert thrice.error == pytest.approx(once.error)
    assert (thrice.n, thrice.n_cells) == (9, 3)


def test_one_cell_tells_nothing_of_the_error():
    assert np.isnan(clustered_share([True, False], ["a", "a"]).error)


def test_harm_is_counted_among_the_committed_and_power_among_the_helpful(make_check):
    checks = [
        make_check(truth=truth_of(0.05, 0.02), committed=True),
        make_check(truth=truth_of(0.05, -0.02), committed=True),
        make_check(truth=truth_of(-0.05, -0.02), committed=True),
        make_check(truth=truth_of(0.05, 0.005), committed=False),
        make_check(truth=truth_of(-0.05, -0.02), committed=False),
    ]

    found = decisions(checks)

    assert (found.n, found.n_committed) == (5, 3)
    assert found.harmful == pytest.approx(1 / 3)
    assert found.harmful_step == pytest.approx(2 / 3)
    assert found.power == pytest.approx(2 / 3)
    assert found.power_step == 1.0


def test_other_decisions_can_be_judged_by_the_same_truth(make_check):
    checks = [make_check(truth=truth_of(-0.1, -0.1), committed=True)]

    found = decisions(checks, [False])

    assert found.n_committed == 0
    assert np.isnan(found.harmful)


class Scores:
    """A referee who says what a test wants to hear."""

    name = "stand-in"

    def __init__(self, after):
        self.after = after

    def scores(self, synthetic):
        del synthetic
        return RefereeScores(self.after)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first", [True, False])
def test_a_replayed_decision_is_the_rules_own(birds, make_check, seed, first):
    rng = np.random.default_rng(seed)
    n = 12
    real, before, after = rng.normal(size=(3, n)) * 0.1 + [[0], [0.05], [0.1]]
    before = real if first else before
    rows = birds.take(np.arange(n))
    lineages = Lineages(np.arange(n) % 2, crossfit=True)
    held = replace(rows, unseen_fold=lineages.fold)
    nothing = np.zeros(n)
    trial = Trial(
        0,
        lineages,
        rows.empty() if first else held,
        held,
        Baseline((), (), (), nothing, nothing),
        Standing(RefereeScores(real), RefereeScores(before)),
        n_failures=1,
    )
    rule = CrossfitCommitment(Scores(after), CommitConfig(confidence=0.8))
    certificate, _ = rule.check(trial)
    step = {"confidence": certificate.over_incumbent.confidence}
    evidence = {"real": real, "before": before, "after": after}
    check = make_check(look=2, first=first, over_incumbent=step, evidence=evidence)

    assert decided_at(check, 0.8) == certificate.committed
