import numpy as np
import pytest

from tabtap.compare.predictors import score_predictors
from tabtap.errors import UserInputError
from tabtap.study.protocol import grouped_split, repetitions
from tabtap.table.table import concat

# ---- Splits.


@pytest.fixture
def table(build_table, rng):
    x = rng.normal(size=120)
    return build_table(x + 0.1 * rng.normal(size=120), x, edges=(0.0,))


def test_repetitions_have_the_sizes_of_the_paper_and_differ(table):
    first, second = repetitions(table, 20, n_splits=2)

    sizes = (len(first.real), len(first.validation), len(first.test))
    assert sizes == (20, 5, 60)
    assert first.real.origin.tolist() != second.real.origin.tolist()


def test_equal_seeds_give_equal_repetitions(table):
    drawn = [next(repetitions(table, 20, seed=seed)) for seed in (1, 1, 2)]

    rows = [repetition.real.origin.tolist() for repetition in drawn]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]


def test_test_rows_are_shared_by_all_scarcity_levels(table):
    few, many = (next(repetitions(table, n_real)) for n_real in (10, 40))

    assert few.test.origin.tolist() == many.test.origin.tolist()


def test_the_parts_share_no_row(table):
    one = next(repetitions(table, 40))

    rows = [set(part.origin) for part in (one.real, one.validation, one.test)]
    assert len(set.union(*rows)) == 40 + 10 + 60


def test_errors_are_in_units_of_the_real_rows_whatever_is_added(table):
    one = next(repetitions(table, 20))
    far = one.real.take(np.argsort(one.real.target)[-5:])

    scores = one.score(far, ["KNN"])

    augmented = concat([one.real, far])
    expected = score_predictors(augmented, one.test, ["KNN"], reference=one.real)
    own_unit = score_predictors(augmented, one.test, ["KNN"])
    assert scores == expected
    assert scores != own_unit


def test_without_synthetic_rows_the_real_ones_are_scored(table):
    one = next(repetitions(table, 20))

    assert one.score(names=["KNN"]) == score_predictors(one.real, one.test, ["KNN"])


def test_shares_are_kept_by_class_and_drawn_evenly_in_regression(build_table, rng):
    x = rng.normal(size=400)
    classes = build_table((x > 0).astype(int), x)
    numbers = build_table(x, x, edges=(0.0,))

    shares = [
        {int((one.real.numeric[:, 0] > 0).sum()) for one in repetitions(rows, 20, 40)}
        for rows in (classes, numbers)
    ]

    assert len(shares[0]) <= 2  # half of 20, to within a rounding
    assert len(shares[1]) > 5  # binomial, with a deviation of 2.2


# ---- Splits by groups.


@pytest.fixture
def mice():
    groups = np.repeat(np.arange(12), 10)
    return groups % 3, groups  # four mice of each of three classes


def test_no_mouse_is_both_trained_on_and_tested(mice):
    condition, groups = mice

    split = grouped_split(condition, groups, 20, np.random.default_rng(0))

    learned = set(groups[split.train]) | set(groups[split.validation])
    assert learned.isdisjoint(groups[split.test])
    assert (len(split.train), len(split.validation), len(split.test)) == (20, 5, 60)
    assert len(set(split.train) | set(split.validation)) == 25


def test_every_class_is_on_both_sides(mice):
    condition, groups = mice

    split = grouped_split(condition, groups, 21, np.random.default_rng(0))

    assert np.bincount(condition[split.train]).tolist() == [7, 7, 7]
    assert np.bincount(condition[split.test]).tolist() == [20, 20, 20]


def test_a_class_of_one_mouse_is_for_training():
    groups = np.repeat(np.arange(5), 4)
    condition = np.repeat([0, 1, 1, 1, 1], 4)

    split = grouped_split(condition, groups, 8, np.random.default_rng(0))

    assert 0 not in condition[split.test]


def test_too_few_rows_beside_the_test_are_refused(mice):
    with pytest.raises(UserInputError, match="60 rows are left beside the groups"):
        grouped_split(*mice, 61, np.random.default_rng(0))
