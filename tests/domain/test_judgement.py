from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tabtap.domain import Bound, LearnerState, RefereeScores
from tabtap.domain.judgement import (
    confidence_at,
    one_sided,
    table_sha256,
    two_sided_fold_margin,
)

# ---- Judgements.


def test_what_a_gain_is_at_least_is_the_gain_minus_its_margin():
    assert Bound(0.5, 0.2, 0.9).lower == pytest.approx(0.3)
    assert Bound(0.5, float("inf"), 0.9).lower == -float("inf")
    assert np.isnan(Bound(float("nan"), 0.1, 0.9).lower)


def test_scores_are_averaged_over_rows_for_all_and_for_each_learner():
    by_learner = {"a": np.array([0.0, 0.5]), "b": np.array([1.0, 1.0])}

    assert RefereeScores(by_learner).learner_means() == {"a": 0.25, "b": 1.0}
    assert set(RefereeScores(by_learner).choices()) == {"a", "b"}
    (mean,) = RefereeScores(by_learner, is_mean=True).choices().values()
    assert mean.tolist() == [0.5, 0.75]


def test_a_policy_reads_the_state_as_one_row_without_what_is_available():
    state = LearnerState(
        deficit=np.array([0.1, -0.1]),
        uncertainty=np.array([0.3, 0.4]),
        pass_rate=np.array([0.5, 0.6]),
        novelty=0.7,
        available=np.array([True, False]),
    )

    assert state.vector().tolist() == [0.1, -0.1, 0.3, 0.4, 0.5, 0.6, 0.7]


# ---- Bounds of a gain.


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_lower_bound_is_that_of_a_one_sided_t_test(rng):
    differences = rng.normal(0.2, 1.0, 17)

    bound = one_sided(differences, 0.9)

    test = stats.ttest_1samp(differences, 0.0, alternative="greater")
    assert bound.lower == pytest.approx(test.confidence_interval(0.9).low)
    assert bound.gain == pytest.approx(differences.mean())


def test_equal_groups_are_counted_as_a_t_test_on_their_means(rng):
    by_group = rng.normal(size=(9, 1)) + 0.1 * rng.normal(size=(9, 4))
    clusters = np.repeat(rng.permutation(9) + 100, 4)

    bound = one_sided(by_group.ravel(), 0.95, clusters)

    test = stats.ttest_1samp(by_group.mean(axis=1), 0.0, alternative="greater")
    assert bound.lower == pytest.approx(test.confidence_interval(0.95).low)
    assert bound.margin > 1.5 * one_sided(by_group.ravel(), 0.95).margin


def test_groups_of_one_row_each_change_nothing(rng):
    differences = rng.normal(size=12)

    bound = one_sided(differences, 0.9, np.arange(12))

    assert bound.margin == pytest.approx(one_sided(differences, 0.9).margin)


def test_the_order_of_the_rows_does_not_matter(rng):
    differences, clusters = rng.normal(size=20), np.arange(20) % 6
    order = rng.permutation(20)

    bound = one_sided(differences[order], 0.9, clusters[order])

    assert bound.margin == pytest.approx(one_sided(differences, 0.9, clusters).margin)


def test_groups_do_not_apply_to_one_score_per_fold(rng):
    folds = rng.normal(size=5)

    bound = one_sided(folds, 0.9, np.arange(20) // 4)

    assert bound == one_sided(folds, 0.9)


@pytest.mark.parametrize(
    ("differences", "clusters"),
    [([], None), ([0.3], None), ([0.3, 0.4, 0.5], [1, 1, 1])],
    ids=["nothing", "one row", "one group"],
)
def test_too_little_to_tell_has_an_infinite_margin(differences, clusters):
    groups = None if clusters is None else np.array(clusters)

    bound = one_sided(np.array(differences, float), 0.9, groups)

    assert bound.margin == float("inf")
    assert not bound.lower > -float("inf")


def test_a_difference_that_is_not_a_number_leaves_no_promise():
    bound = one_sided(np.array([0.1, np.nan, 0.3]), 0.9)

    assert np.isnan(bound.gain)
    assert not bound.lower > 0


def coverage(draw, mean, confidence, n_runs=1500):
    return np.mean([one_sided(draw(), confidence).lower <= mean for _ in range(n_runs)])


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("n_rows", [5, 40])
def test_normal_differences_are_covered_at_the_stated_level(rng, confidence, n_rows):
    covered = coverage(lambda: rng.normal(0.1, 1.0, n_rows), 0.1, confidence)

    # 1,500 runs: a standard error of at most 1 point.
    assert covered == pytest.approx(confidence, abs=0.025)


@pytest.mark.parametrize("n_rows", [40, 100])
def test_bounded_skewed_differences_are_covered_to_within_four_points(rng, n_rows):
    # Most rows gain a little and a few lose much: the skew that flatters a bound.
    def draw():
        return 0.2 - rng.beta(0.5, 3.0, n_rows)

    covered = coverage(draw, 0.2 - 0.5 / 3.5, 0.9)

    assert covered == pytest.approx(0.9, abs=0.04)


def test_rows_of_one_group_that_agree_are_covered_only_by_groups(rng):
    clusters = np.repeat(np.arange(10), 5)
    draws = [np.repeat(rng.normal(size=10), 5) for _ in range(1000)]

    by_group = np.mean([one_sided(d, 0.9, clusters).lower <= 0 for d in draws])
    by_row = np.mean([one_sided(d, 0.9).lower <= 0 for d in draws])

    assert by_group == pytest.approx(0.9, abs=0.03)
    assert by_row < 0.8


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_all_looks_together_err_no_more_than_the_run_may(confidence):
    errors = [1 - confidence_at(look, confidence) for look in range(1, 20)]

    assert sum(errors) <= 1 - confidence + 1e-12
    assert sum(errors) == pytest.approx(1 - confidence, rel=1e-3)
    assert (np.diff(errors) < 0).all()


def test_the_paper_s_error_bar_needs_two_folds():
    assert two_sided_fold_margin(np.array([0.3]), 0.95) == float("inf")


# ---- The digest of a table.


@pytest.fixture
def table(build_table):
    return build_table([0, 1, 0], np.array([1.0, np.nan, 3.0]), np.array([0, 1, -1]))


def test_equal_rows_have_equal_fingerprints(table):
    assert table_sha256(table) == table_sha256(table.take(np.arange(3)))
    assert len(table_sha256(table.empty())) == 64


def test_what_lies_under_a_hole_does_not_count(table):
    cells = (np.array([1.0, 99.0, 3.0]), table.cells[1])

    assert table_sha256(replace(table, cells=cells)) == table_sha256(table)


def test_where_rows_come_from_does_not_count(table):
    assert table_sha256(table.with_origin(unseen_fold=4)) == table_sha256(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.take(np.array([0, 2, 1])),
        lambda t: t.take(np.arange(2)),
        lambda t: replace(t, target=t.target[::-1] + 1),
        lambda t: replace(t, missing=np.zeros_like(t.missing)),
        lambda t: replace(t, cells=(t.cells[0] + 1e-15, t.cells[1])),
    ],
    ids=["order", "fewer rows", "target", "holes", "last bit of a cell"],
)
def test_any_change_of_the_rows_shows(table, change):
    assert table_sha256(change(table)) != table_sha256(table)


def test_the_byte_order_of_the_machine_does_not_matter(table):
    swapped = tuple(cell.astype(cell.dtype.newbyteorder(">")) for cell in table.cells)

    assert table_sha256(replace(table, cells=swapped)) == table_sha256(table)
