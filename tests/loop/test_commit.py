from dataclasses import dataclass, field

import numpy as np
import pytest

from tabtap.config import CommitConfig
from tabtap.domain import CommitRequest, Lineages, RefereeScores, ScoresToBeat
from tabtap.domain.judgement import confidence_at, one_sided, table_sha256
from tabtap.loop import CrossfitCommitment
from tabtap.table.table import concat

N_REAL = 40


@dataclass
class Script:
    """A referee that gives scores from a list, one at each call."""

    pages: list
    name: str = "script"
    read: list = field(default_factory=list)

    def scores(self, synthetic):
        self.read.append(len(synthetic))
        return RefereeScores(np.asarray(self.pages[len(self.read) - 1]))


@pytest.fixture
def judge(build_table):
    """Offer one pool after another to the rule, as the loop does."""
    real = build_table(np.zeros(N_REAL, int), np.zeros(N_REAL))
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    numbers = np.arange(10)
    pool = concat([real.take(numbers).with_origin(unseen_fold=k) for k in range(5)])

    def run(referee, n_checks, *, clusters=None, patience=99, **settings):
        config = CommitConfig(**{"confidence": 0.9, **settings})
        rule = CrossfitCommitment(referee, config, clusters)
        committed, standing, certificates = real.empty(), ScoresToBeat(), []
        in_a_row = 0
        for window in range(n_checks):
            failures = sum(not c.shown for c in certificates)
            trial = CommitRequest(
                window, lineages, committed, pool, None, standing, failures
            )  # fmt: skip
            certificate, standing = rule.check(trial)
            certificates.append(certificate)
            in_a_row = 0 if certificate.committed else in_a_row + 1
            if certificate.committed:
                committed = concat([committed, pool])
            if in_a_row == patience:
                break
        return certificates

    return run


def scores(rng, gain=0.0, spread=0.1):
    return 0.5 + gain + spread * rng.normal(size=N_REAL)


def test_a_clear_gain_is_committed(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    referee = Script([real, real + 0.1 + 0.1 * rng.normal(size=N_REAL)])

    (certificate,) = judge(referee, 1)

    assert certificate.committed
    assert certificate.score_real == certificate.score_before == real.mean()
    assert certificate.over_real.gain == certificate.over_incumbent.gain
    assert certificate.over_incumbent.margin == 0.0  # of a confidence of one half
    assert certificate.over_real.confidence == confidence_at(1, 0.9)
    assert "confidence the gain over real rows alone is at least" in certificate.reason
    assert referee.read == [0, 50]


def test_a_gain_must_exceed_min_gain_even_at_its_lower_bound(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    after = real + 0.1 + 0.1 * rng.normal(size=N_REAL)
    lower = one_sided(after - real, confidence_at(1, 0.9)).lower

    enough, short = (
        judge(Script([real, after]), 1, min_gain=least)[0].committed
        for least in (lower - 1e-9, lower)
    )

    assert (enough, short) == (True, False)


def test_a_harmful_increment_after_a_success_is_refused(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    good = real + 0.2 + 0.05 * rng.normal(size=N_REAL)
    # Still far better than real rows alone, and worse than what is in already.
    worse = good - 0.05 + 0.02 * rng.normal(size=N_REAL)

    first, second = judge(Script([real, good, worse]), 2)

    assert first.committed
    assert not second.committed
    assert second.over_real.lower > 0
    assert "adds" in second.reason


def test_a_small_further_gain_is_committed_though_it_is_not_significant_alone(judge):
    rng = np.random.default_rng(3)
    real = scores(rng)
    good = real + 0.2 + 0.05 * rng.normal(size=N_REAL)
    better = good + 0.003 + 0.02 * rng.normal(size=N_REAL)

    _, second = judge(Script([real, good, better]), 2)

    alone = one_sided(better - good, 0.95)
    assert alone.lower < 0 < alone.gain
    assert second.committed


@pytest.mark.parametrize("seed", range(5))
def test_a_pool_must_beat_the_real_rows_surely_and_the_incumbent_at_least_likely(
    judge, seed
):
    rng = np.random.default_rng(seed)
    real = scores(rng)
    steps = [0.05 * k + 0.1 * rng.normal(size=N_REAL) for k in range(1, 12)]

    certificates = judge(Script([real, *(real + step for step in steps)]), 11)

    incumbent = None
    for certificate, step in zip(certificates, steps, strict=True):
        level = certificate.over_real.confidence
        shown = one_sided(real + step - real, level).lower > 0
        adds = incumbent is None or np.mean(step - incumbent) > 0
        assert certificate.shown == shown
        assert certificate.committed == (shown and adds)
        incumbent = step if certificate.committed else incumbent
    assert sum(c.committed for c in certificates) > 3


def test_a_stricter_increment_confidence_asks_more_of_later_pools(judge):
    rng = np.random.default_rng(3)
    real = scores(rng)
    good = real + 0.2 + 0.05 * rng.normal(size=N_REAL)
    better = good + 0.003 + 0.02 * rng.normal(size=N_REAL)

    _, second = judge(Script([real, good, better]), 2, increment_confidence=0.95)

    assert not second.committed


def test_a_failed_attempt_makes_the_next_check_stricter_and_a_success_does_not(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    up, down = (real + gain + 0.01 * rng.normal(size=N_REAL) for gain in (0.1, -0.1))
    pages = [real, down, up, up + 0.1, down, up]

    certificates = judge(Script(pages), 5)

    assert [c.committed for c in certificates] == [False, True, True, False, False]
    assert [c.look for c in certificates] == [1, 2, 2, 2, 3]
    levels = [c.over_real.confidence for c in certificates]
    assert levels == [confidence_at(look, 0.9) for look in (1, 2, 2, 2, 3)]


class Chance:
    """A referee to whom every pool is noise around a true gain."""

    name = "chance"

    def __init__(self, rng, gain=0.0):
        self.rng, self.gain = rng, gain

    def scores(self, synthetic):
        if not len(synthetic):
            return RefereeScores(np.full(N_REAL, 0.5))
        return RefereeScores(scores(self.rng, self.gain))


def test_noise_is_committed_in_no_more_runs_than_confidence_allows(judge):
    n_runs = 400
    committed = 0
    for seed in range(n_runs):
        referee = Chance(np.random.default_rng(seed))
        committed += any(c.committed for c in judge(referee, 5, patience=5))

    # Five looks spend five sixths of the 10 %; 400 runs have an error of 1.5 points.
    assert committed / n_runs <= 0.1
    assert committed / n_runs >= 0.04  # nor is it so strict that nothing ever passes


def test_harm_is_committed_in_hardly_any_run(judge):
    runs = [judge(Chance(np.random.default_rng(s), -0.03), 3) for s in range(200)]

    assert np.mean([any(c.committed for c in run) for run in runs]) <= 0.005


def test_clear_gains_are_committed_in_nearly_every_run(judge):
    # Three standard errors.
    runs = [judge(Chance(np.random.default_rng(s), 0.047), 1) for s in range(200)]

    assert np.mean([run[0].committed for run in runs]) > 0.85


def test_rows_that_belong_together_are_counted_by_groups(judge):
    rng = np.random.default_rng(1)
    real = scores(rng)
    clusters = np.arange(N_REAL) // 8
    by_group = np.array([0.4, 0.02, -0.02, 0.01, 0.05])[clusters]

    alone = judge(Script([real, real + by_group]), 1)[0]
    together = judge(Script([real, real + by_group]), 1, clusters=clusters)[0]

    assert alone.committed
    assert not together.committed
    assert together.evidence["clusters"].tolist() == clusters.tolist()


def test_scores_that_are_not_numbers_are_refused_in_a_sentence(judge):
    real = np.full(N_REAL, 0.5)

    (certificate,) = judge(Script([real, np.full(N_REAL, np.nan)]), 1)

    assert not certificate.committed
    assert "not numbers" in certificate.reason


def test_a_certificate_carries_the_evidence_for_its_bounds(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    pages = [real, real + 0.1, real + 0.2 + 0.01 * rng.normal(size=N_REAL)]

    _, second = judge(Script(pages), 2)

    evidence = second.evidence
    level = second.over_real.confidence
    assert np.array_equal(evidence["real"], pages[0])
    assert np.array_equal(evidence["before"], pages[1])
    assert second.over_real == one_sided(evidence["after"] - evidence["real"], level)
    assert second.over_incumbent == one_sided(
        evidence["after"] - evidence["before"], 0.5
    )


def test_standing_scores_are_asked_for_again_if_they_are_not_known(build_table):
    real = build_table(np.zeros(N_REAL, int), np.zeros(N_REAL))
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    rows = real.with_origin(unseen_fold=0)
    referee = Script([np.full(N_REAL, value) for value in (0.1, 0.2, 0.3)])
    rule = CrossfitCommitment(referee, CommitConfig(confidence=0.9))

    certificate, _ = rule.check(
        CommitRequest(1, lineages, rows, rows, None, ScoresToBeat(), 0)
    )

    # Real rows only, the incumbent, and the pool beside it.
    assert referee.read == [0, N_REAL, 2 * N_REAL]
    assert certificate.score_before == pytest.approx(0.2)


def test_certificates_name_the_rows_that_are_delivered(make_world):
    world = make_world(lambda _, rng, n: 1 + rng.random(n), n_rows=1, window_length=2)

    outcome = world.run()

    # Two rows in each of three lineages and window: a third is delivered, beginning
    # where the window before left off.
    delivered = world.delivered(outcome)
    numbers = world.scene.lineages.delivered(outcome.progress.committed.rows)
    window = outcome.progress.committed.step[numbers] // 2
    for certificate in outcome.progress.certificates:
        own = delivered.take(window == certificate.window)
        assert certificate.committed
        assert certificate.n_rows == len(own) == 2
        assert certificate.pool_sha256 == table_sha256(own)
        assert certificate.n_judged == 6
