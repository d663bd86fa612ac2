from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from stand_ins import one_learner

from tabtap.config import CommitConfig
from tabtap.domain import (
    CommitRequest,
    Figure,
    Lineages,
    Measured,
    RefereeScores,
    ScoresToBeat,
)
from tabtap.domain.judgement import (
    Bars,
    confidence_at,
    cross_fitted,
    gain_bound,
    one_sided,
    table_sha256,
)
from tabtap.loop import CrossfitCommitment
from tabtap.loop.commit import copies_like, nested_parts
from tabtap.table.table import concat

N_REAL = 40


@dataclass
class Script:
    """A referee that gives scores from a list, one at each call."""

    pages: list
    name: str = "script"
    learners: dict = field(default_factory=dict)
    read: list = field(default_factory=list)

    def scores(self, synthetic, only=None):
        if only is not None:  # copies of real rows change nothing
            return one_learner(self.pages[0])
        self.read.append(len(synthetic))
        return one_learner(self.pages[len(self.read) - 1])


@pytest.fixture
def judge(build_table):
    """Offer one pool after another to the rule, as the loop does."""
    real = build_table(np.zeros(N_REAL, int), np.zeros(N_REAL))
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    numbers = np.arange(10)
    pool = concat([real.take(numbers).with_origin(unseen_fold=k) for k in range(5)])

    def run(referee, n_checks, *, clusters=None, patience=99, **settings):
        config = CommitConfig(**{"confidence": 0.9, "min_gain": 0.0, **settings})
        rule = CrossfitCommitment(real, referee, config, clusters)
        committed, standing, certificates = real.empty(), ScoresToBeat(), []
        in_a_row = 0
        for window in range(n_checks):
            failures = sum(not c.shown for c in certificates)
            trial = CommitRequest(
                window, lineages, committed, pool, None, standing, failures
            )  # fmt: skip
            decision = rule.check(trial)
            certificate, standing = decision.certificate, decision.standing
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
    assert 0 < certificate.over_real.gain < certificate.over_incumbent.gain
    # Of a confidence of one half; older releases of scipy are off by a hair.
    assert certificate.over_incumbent.margin == pytest.approx(0.0, abs=1e-15)
    assert certificate.over_real.confidence == confidence_at(1, 0.9)
    assert "confidence the gain over real rows alone is at least" in certificate.reason
    assert referee.read == [0, 50]


def test_a_gain_that_is_shown_must_also_be_worth_having(judge):
    rng = np.random.default_rng(0)
    real = scores(rng)
    after = real + 0.1 + 0.1 * rng.normal(size=N_REAL)
    (plain,) = judge(Script([real, after]), 1)
    gain = plain.over_real.gain

    enough, short = (
        judge(Script([real, after]), 1, min_gain=least)[0]
        for least in (gain - 1e-9, gain + 1e-9)
    )

    assert (enough.shown, enough.committed) == (True, True)
    assert (short.shown, short.committed) == (True, False)
    assert "too small to matter" in short.reason


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
        shown = cross_fitted(real + step - real, level, 5, None, 1.5).lower > 0
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
    learners: ClassVar[dict] = {}

    def __init__(self, rng, gain=0.0):
        self.rng, self.gain = rng, gain

    def scores(self, synthetic, only=None):
        if only is not None or not len(synthetic):
            return one_learner(np.full(N_REAL, 0.5))
        return one_learner(scores(self.rng, self.gain))


def test_noise_is_committed_in_no_more_runs_than_confidence_allows(judge):
    n_runs = 400
    committed = 0
    for seed in range(n_runs):
        referee = Chance(np.random.default_rng(seed))
        committed += any(c.committed for c in judge(referee, 5, patience=5))

    # Five looks spend five sixths of the 10 %; the bars are for rows that err together,
    # and these do not.
    assert 0.0 < committed / n_runs <= 0.05


def test_harm_is_committed_in_hardly_any_run(judge):
    runs = [judge(Chance(np.random.default_rng(s), -0.03), 3) for s in range(200)]

    assert np.mean([any(c.committed for c in run) for run in runs]) <= 0.005


def test_clear_gains_are_committed_in_nearly_every_run(judge):
    # Four and a half standard errors of rows that err each by itself.
    runs = [judge(Chance(np.random.default_rng(s), 0.071), 1) for s in range(200)]

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
    assert np.array_equal(evidence["real"], pages[0])
    assert np.array_equal(evidence["before"], pages[1])
    assert (second.widening, second.usual) == (1.5, 0.12)
    level, bars = second.over_real.confidence, Bars(1.5, usual=0.12)
    drawn_in = gain_bound(evidence["real"], evidence["after"], level, bars)
    assert second.over_real == drawn_in
    increment = evidence["after"] - evidence["before"]
    assert second.over_incumbent == cross_fitted(increment, 0.5, 5, None, 1.5)


def test_standing_scores_are_asked_for_again_if_they_are_not_known(build_table):
    real = build_table(np.zeros(N_REAL, int), np.zeros(N_REAL))
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    rows = real.with_origin(unseen_fold=0)
    referee = Script([np.full(N_REAL, value) for value in (0.1, 0.2, 0.3)])
    rule = CrossfitCommitment(real, referee, CommitConfig(confidence=0.9))

    certificate = rule.check(
        CommitRequest(1, lineages, rows, rows, None, ScoresToBeat(), 0)
    ).certificate

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


# ---- Learners to choose from, parts of a pool, copies.


@dataclass
class Several:
    """A referee of two learners; what rows are worth to each is a function."""

    worth: object
    """Takes a learner and the number of rows in a lineage, gives each row's gain."""

    alone: dict
    name: str = "several"
    learners: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)

    def scores(self, synthetic, only=None):
        n_rows = int(np.sum(synthetic.unseen_fold == 0))
        names = self.alone if only is None else only
        self.asked.append((n_rows, tuple(names)))
        return RefereeScores(
            {k: self.alone[k] + (self.worth(k, n_rows) if n_rows else 0) for k in names}
        )


@pytest.fixture
def rule_and_request(build_table):
    real = build_table(np.zeros(N_REAL, int), np.zeros(N_REAL))
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    numbers = np.arange(36)
    pool = concat([real.take(numbers).with_origin(unseen_fold=k) for k in range(5)])

    def make(referee, **settings):
        config = CommitConfig(**{"confidence": 0.9, **settings})
        rule = CrossfitCommitment(real, referee, config)
        nothing = real.empty()
        request = CommitRequest(0, lineages, nothing, pool, None, ScoresToBeat(), 0)
        return rule, request

    return make


def jagged(seed):
    return 0.05 * np.random.default_rng(seed).normal(size=N_REAL)


def test_the_best_with_rows_is_held_against_the_best_without(rule_and_request):
    real = {"strong": 0.8 + jagged(0), "weak": 0.4 + jagged(1)}
    # The weak one gains much and stays behind: nobody would train it.
    worth = {"strong": jagged(2) * 0.1, "weak": 0.2 + jagged(3)}
    rule, request = rule_and_request(Several(lambda k, _: worth[k], real))

    certificate = rule.check(request).certificate

    assert not certificate.committed
    assert (certificate.learner, certificate.best_alone) == ("strong", "strong")
    assert certificate.effects["weak"].lower > 0
    assert certificate.score_real == pytest.approx(real["strong"].mean())


def test_another_learner_is_promised_where_it_overtakes_the_best(rule_and_request):
    real = {"strong": 0.6 + jagged(0), "weak": 0.5 + jagged(1)}
    worth = {"strong": jagged(2) * 0.1, "weak": 0.3 + jagged(3)}
    rule, request = rule_and_request(Several(lambda k, _: worth[k], real))

    decision = rule.check(request)

    certificate = decision.certificate
    assert certificate.committed
    assert (certificate.learner, certificate.best_alone) == ("weak", "strong")
    after = real["weak"] + worth["weak"]
    measured = np.mean(after - real["strong"])
    assert 0 < certificate.over_real.gain < measured
    assert certificate.score_after - certificate.score_real == pytest.approx(measured)
    assert decision.standing.learner == "weak"


def test_what_a_choice_owes_to_luck_is_not_promised(rule_and_request):
    # Nothing helps; forty learners of noise, the luckiest of which looks helped.
    real = {f"l{k}": np.full(N_REAL, 0.5) for k in range(40)}
    gains, n_runs = [], 60
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        noise = {k: 0.1 * rng.normal(size=N_REAL) for k in real}
        rule, request = rule_and_request(Several(lambda k, _, n=noise: n[k], real))
        gains.append(rule.check(request).certificate.over_real.gain)

    luckiest = 0.1 / np.sqrt(N_REAL) * 2.16  # the largest of 40 normal numbers
    assert np.mean(gains) < luckiest / 10


def test_a_part_of_a_pool_is_let_in_where_the_whole_is_not(rule_and_request):
    real = {"one": 0.5 + jagged(0)}

    def worth(_, n_rows):
        return (0.2 if n_rows < 20 else -0.2) + jagged(1)

    referee = Several(worth, real)
    rule, request = rule_and_request(referee)

    decision = rule.check(request)

    assert decision.certificate.committed
    assert len(decision.kept) == decision.certificate.n_judged == 5 * 9
    own = [np.sum(request.pool.take(decision.kept).unseen_fold == k) for k in range(5)]
    assert own == [9] * 5
    assert decision.certificate.n_rows == 9


def test_parts_are_nested_spread_and_only_of_a_first_pool(rule_and_request):
    _, request = rule_and_request(None)

    whole, quarter = nested_parts(request, 24)
    later = nested_parts(replace(request, committed=request.pool), 24)

    assert whole.tolist() == list(range(180))
    assert set(quarter) < set(whole)
    places = quarter[request.pool.unseen_fold[quarter] == 0]
    assert np.diff([-1, *places, 36]).max() <= 6  # no stretch is left out
    assert len(later) == 1


def test_of_smaller_parts_only_the_likeliest_learners_are_asked(rule_and_request):
    real = {"a": 0.8 + jagged(0), "b": 0.5 + jagged(1), "c": 0.1 + jagged(2)}
    referee = Several(lambda k, _: 0.6 * (k == "b") - 0.1 + jagged(3), real)
    rule, request = rule_and_request(referee)

    rule.check(request)

    assert referee.asked[:3] == [(0, ("a", "b", "c")), (36, ("a", "b", "c")),
                                 (9, ("a", "b"))]  # fmt: skip


def test_copies_stand_in_every_check(rule_and_request):
    real = {"one": 0.5 + jagged(0)}
    shift = 0.2 + jagged(1)
    rule, request = rule_and_request(Several(lambda *_: shift, real))

    certificate = rule.check(request).certificate

    # The stand-in does not look at rows, so copies do exactly as well.
    assert certificate.copies.gain == certificate.over_real.gain > 0.0
    assert certificate.over_copies.gain == pytest.approx(0.0)


def test_copies_are_of_rows_that_the_lineage_has_seen_and_evenly(build_table):
    real = build_table(np.zeros(20, int), np.arange(20.0))
    lineages = Lineages(np.arange(20) % 4, crossfit=True)
    made = concat([real.with_origin(unseen_fold=k) for k in range(4)])

    twins = copies_like(made, real, lineages)

    assert len(twins) == len(made)
    for member in range(4):
        own = twins.take(twins.unseen_fold == member)
        assert set(own.origin) == set(lineages.seen(member))
        assert np.bincount(own.origin).max() == 2


class Plain(Several):
    """A referee to whom accuracy falls while the score rises."""

    def scores(self, synthetic, only=None):
        scores = super().scores(synthetic, only)
        answers = {k: np.zeros((1, N_REAL)) for k in scores.by_learner}
        return RefereeScores(scores.by_learner, answers)

    def figures(self, *_):
        none = Measured(0.0, 0.0)
        return (Figure("accuracy", True, none, none, none, Measured(-0.01, 0.1)),)  # noqa: FBT003


def test_a_pool_whose_plain_figure_falls_is_not_let_in(rule_and_request):
    real = {"one": 0.5 + jagged(0)}
    rule, request = rule_and_request(Plain(lambda *_: 0.2 + jagged(1), real))

    certificate = rule.check(request).certificate

    assert certificate.shown
    assert not certificate.committed
    assert "the accuracy is estimated to get worse" in certificate.reason
