import numpy as np
import pytest
from scipy import stats

from tabtap.domain.judgement import confidence_at, one_sided, two_sided_fold_margin


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
    errors = [1 - confidence_at(look, confidence) for look in range(1, 2000)]

    assert sum(errors) <= 1 - confidence + 1e-12
    assert sum(errors) == pytest.approx(1 - confidence, rel=1e-3)
    assert (np.diff(errors) < 0).all()


def test_the_paper_s_error_bar_needs_two_folds():
    assert two_sided_fold_margin(np.array([0.3]), 0.95) == float("inf")
