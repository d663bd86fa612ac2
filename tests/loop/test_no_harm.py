"""Groups of real rows that new rows may not harm: who they are, and what is decided."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from stand_ins import one_learner

from tabtap.config import CommitConfig
from tabtap.domain import CommitRequest, Lineages, ScoresToBeat
from tabtap.domain.judgement import Bars, gain_bound
from tabtap.loop import CrossfitCommitment
from tabtap.loop.commit import FEWEST_ROWS, group_effects, groups_of
from tabtap.table.table import concat

N_REAL = 60
SEX = np.arange(N_REAL) % 3 // 2  # 40 rows of level 0, 20 of level 1
AGE = np.arange(N_REAL, dtype=float)


@dataclass
class Gives:
    """A referee to whom new rows change the scores of real ones by these numbers."""

    change: np.ndarray
    name: str = "told"
    learners: dict = field(default_factory=dict)

    def scores(self, synthetic, only=None):
        change = 0.0 if only is not None or not len(synthetic) else self.change
        return one_learner(np.full(N_REAL, 0.5) + change)


@pytest.fixture
def real(build_table):
    return build_table(np.zeros(N_REAL, int), SEX, AGE)


@pytest.fixture
def check(real):
    """Offer one pool to the rule."""
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    pool = concat(
        [real.take(np.arange(4)).with_origin(unseen_fold=k) for k in range(5)]
    )

    def run(change, no_harm, clusters=None):
        config = CommitConfig(confidence=0.8, min_gain=0.0)
        rule = CrossfitCommitment(
            real, Gives(change), config, clusters, no_harm=no_harm
        )
        request = CommitRequest(
            0, lineages, real.empty(), pool, None, ScoresToBeat(), 0
        )
        return rule.check(request).certificate

    return run


def changes(for_many, for_few, rng=None):
    rng = np.random.default_rng(0) if rng is None else rng
    return np.where(SEX == 1, for_few, for_many) + 0.01 * rng.normal(size=N_REAL)


def test_a_pool_that_helps_most_and_harms_a_group_is_let_in_only_if_nobody_asks(check):
    change = changes(0.2, -0.05)

    unasked, asked = check(change, {}), check(change, {"x0": 0.02})

    assert unasked.committed
    assert unasked.groups == ()
    assert (asked.shown, asked.committed) == (True, False)
    (harmed,) = asked.harmed
    assert (harmed.column, harmed.value, harmed.n_rows) == ("x0", "level 1", 20)
    assert "but the group x0 (level 1) loses 0.0" in asked.reason


def test_a_loss_within_what_is_allowed_does_not_keep_a_pool_out(check):
    change = changes(0.2, -0.05)

    strict, lax = (check(change, {"x0": allowed}) for allowed in (0.03, 0.08))

    assert not strict.committed
    assert lax.committed
    assert lax.harmed == ()


def test_the_estimate_decides_and_not_its_bar(check):
    rng = np.random.default_rng(1)
    noisy = changes(0.2, -0.05) + np.where(SEX == 1, 0.3 * rng.normal(size=N_REAL), 0.0)
    few = SEX == 1
    noisy[few] += -0.05 - noisy[few].mean()

    certificate = check(noisy, {"x0": 0.02})

    change = certificate.groups[1].change
    assert change.gain + change.margin > 0  # nothing is shown of this group
    assert certificate.harmed == (certificate.groups[1],)
    assert not certificate.committed


def test_every_group_has_the_change_and_the_bar_of_its_own_rows(check):
    change = changes(0.2, 0.1)
    clusters = np.arange(N_REAL) // 2

    alone = check(change, {"x0": 0.02}).groups
    together = check(change, {"x0": 0.02}, clusters).groups

    few = SEX == 1
    wanted = gain_bound(np.zeros(20), change[few], 0.95, Bars(1.5))
    assert alone[1].change.gain == pytest.approx(change[few].mean())
    assert alone[1].change.margin == pytest.approx(wanted.margin)
    counted = gain_bound(np.zeros(20), change[few], 0.95, Bars(1.5), clusters[few])
    assert together[1].change.margin == pytest.approx(counted.margin)


def test_a_group_of_few_rows_is_told_as_such_and_decides_nothing(build_table):
    rare = np.where(np.arange(N_REAL) < FEWEST_ROWS - 1, 1, 0)
    real = build_table(np.zeros(N_REAL, int), rare)
    before, after = np.zeros(N_REAL), np.where(rare == 1, -1.0, 0.5)

    many, few = group_effects(real, {"x0": 0.0}, [before, after], Bars(1.5))

    assert (few.n_rows, few.change, few.is_harmed) == (FEWEST_ROWS - 1, None, False)
    assert many.change.gain == 0.5


def test_a_number_is_cut_at_its_median(real):
    low, high = groups_of(real, "x1")

    assert (low[0], high[0]) == ("at most 29", "above 29")
    assert low[1].tolist() == (AGE <= 29).tolist()
    assert (low[1] ^ high[1]).all()


def test_a_flag_that_most_rows_have_is_cut_below_it(build_table):
    flag = np.where(np.arange(N_REAL) < 15, 0.0, 1.0)
    real = build_table(np.zeros(N_REAL, int), flag)

    sides = dict(groups_of(real, "x0"))

    assert {name: rows.sum() for name, rows in sides.items()} == {
        "below 1": 15,
        "from 1": 45,
    }


def test_rows_without_a_value_are_a_group(build_table):
    holes = np.where(np.arange(N_REAL) < 12, np.nan, AGE)
    real = build_table(np.zeros(N_REAL, int), holes)

    sizes = {name: int(rows.sum()) for name, rows in groups_of(real, "x0")}

    assert sizes == {"at most 35": 24, "above 35": 24, "missing": 12}


def test_many_rare_values_are_one_group(build_table):
    site = np.where(np.arange(N_REAL) < 40, 0, np.arange(N_REAL) // 4)
    real = build_table(np.zeros(N_REAL, int), site)

    sizes = {name: int(rows.sum()) for name, rows in groups_of(real, "x0")}

    assert sizes == {"5 other values": 20, "level 0": 40}


def test_the_target_can_be_named_too(build_table):
    real = build_table(SEX, AGE)

    assert [name for name, _ in groups_of(real, "y")] == ["0", "1"]


def test_a_later_pool_is_held_to_the_real_rows_and_not_to_the_one_before(real):
    # The group has less of the second pool than of the first, and more than of none.
    first, second = changes(0.2, 0.2), changes(0.3, 0.1)
    lineages = Lineages(np.arange(N_REAL) % 5, crossfit=True)
    pool = concat(
        [real.take(np.arange(4)).with_origin(unseen_fold=k) for k in range(5)]
    )
    rule = CrossfitCommitment(
        real, Gives(first), CommitConfig(min_gain=0.0), no_harm={"x0": 0.02}
    )
    request = CommitRequest(0, lineages, real.empty(), pool, None, ScoresToBeat(), 0)
    decision = rule.check(request)

    later = replace(request, window=1, committed=pool, standing=decision.standing)
    certificate = replace(rule, referee=Gives(second)).check(later).certificate

    assert decision.certificate.committed
    assert certificate.committed
    assert certificate.groups[1].change.gain == pytest.approx(0.1, abs=0.01)
