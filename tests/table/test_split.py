import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.errors import UserInputError
from tabtap.table.split import (
    RARE,
    allot,
    cut_rows,
    even_sample,
    folds,
    paper_split,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def all_rows(split):
    return np.concatenate([split.train, split.validation, split.test])


@pytest.mark.parametrize(
    ("n_rows", "n_test"), [(60, 30), (61, 30), (1000, 500), (3000, 500)]
)
def test_half_of_the_rows_and_at_most_500_are_held_out(n_rows, n_test):
    split = paper_split(np.arange(n_rows) % 3, 20, rng())

    assert len(split.test) == n_test


@pytest.mark.parametrize(
    ("inside", "n_train", "n_validation"), [(False, 20, 5), (True, 16, 4)]
)
def test_validation_rows_come_on_top_unless_read_literally(
    inside, n_train, n_validation
):
    split = paper_split(np.arange(400) % 2, 20, rng(), validation_inside=inside)

    assert (len(split.train), len(split.validation)) == (n_train, n_validation)


def test_validation_takes_what_is_left_of_a_small_table():
    split = paper_split(np.arange(1000) % 2, 490, rng())

    assert (len(split.train), len(split.validation)) == (490, 10)


@pytest.mark.parametrize("n_real", [20, 50, 100])
def test_eight_balanced_classes_are_drawn_evenly(n_real):
    # 20, 50 and 100 are no multiples of 8: rounding per class falls short.
    condition = np.arange(1080) % 8

    counts = np.bincount(condition[paper_split(condition, n_real, rng()).train])

    assert counts.sum() == n_real
    assert np.ptp(counts) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_one_percent_class_is_in_every_training_part(seed):
    condition = np.repeat([0, 1], [990, 10])

    split = paper_split(condition, 20, rng(seed))

    assert np.bincount(condition[split.train]).tolist() == [19, 1]


def test_a_class_of_one_row_is_trained_on_and_not_tested_on():
    condition = np.array([0] * 60 + [1])

    split = paper_split(condition, 10, rng())

    assert 60 in split.train
    assert 60 not in split.test


def test_with_fewer_rows_than_classes_the_largest_classes_are_drawn():
    condition = np.repeat([0, 1, 2, 3], [100, 100, 2, 2])

    split = paper_split(condition, 2, rng())

    assert sorted(condition[split.train]) == [0, 1]


def test_test_rows_are_the_same_for_every_number_of_real_rows():
    condition = rng(7).integers(5, size=700)

    small, large = (paper_split(condition, n, rng(3)) for n in (20, 200))

    assert small.test.tolist() == large.test.tolist()


def test_the_seed_decides_the_split():
    condition = np.arange(300) % 4

    again = [paper_split(condition, 20, rng(seed)).train.tolist() for seed in (1, 1, 2)]

    assert again[0] == again[1]
    assert again[0] != again[2]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-3, 30), min_size=8, max_size=120),
    st.integers(2, 60),
    st.integers(0, 5),
)
def test_any_split_is_disjoint_exact_and_keeps_every_class_it_can(labels, n_real, seed):
    condition = np.array(labels)
    n_left = len(labels) - len(labels) // 2
    n_real = min(n_real, n_left)

    split = paper_split(condition, n_real, rng(seed))

    rows = all_rows(split)
    assert len(set(rows.tolist())) == len(rows)
    assert len(split.test) == len(labels) // 2
    assert len(split.train) == n_real
    n_classes = len(set(labels))
    if len(labels) - n_classes >= len(split.test) and n_real >= n_classes:
        assert set(condition[split.train]) == set(labels)


@pytest.mark.parametrize("n_real", [1, 51])
def test_a_number_of_real_rows_that_cannot_be_had_is_refused(n_real):
    with pytest.raises(UserInputError, match=f"n_real={n_real} is not usable"):
        paper_split(np.arange(100) % 2, n_real, rng())


def test_shares_are_rounded_by_largest_remainder():
    # Exact shares are 4.1, 3.1 and 2.8: the seat left over goes to the third.
    shares = allot([41, 31, 28], 10, np.zeros(3))

    assert shares.tolist() == [4, 3, 3]


def test_equal_remainders_are_settled_by_luck():
    shares = [allot([1, 1, 1], 4, np.eye(3)[lucky]).tolist() for lucky in range(3)]

    assert shares == [[2, 1, 1], [1, 2, 1], [1, 1, 2]]


def test_what_a_full_class_cannot_take_goes_to_the_others():
    shares = allot([80, 10, 10], 10, np.zeros(3), np.array([2, 10, 10]))

    assert shares.tolist() == [2, 4, 4]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=80),
    st.integers(2, 10),
    st.integers(0, 5),
)
def test_folds_are_even_in_size_and_in_every_class(labels, n_folds, seed):
    condition = np.array(labels)
    n_folds = min(n_folds, len(labels))

    fold = folds(condition, n_folds, rng(seed))

    sizes = np.bincount(fold, minlength=n_folds)
    assert len(sizes) == n_folds
    assert np.ptp(sizes) <= 1
    for label in set(labels):
        held = np.bincount(fold[condition == label], minlength=n_folds)
        assert np.ptp(held) <= 1


def test_folds_are_not_dealt_in_row_order():
    first, second = (folds(np.zeros(50, dtype=int), 5, rng(seed)) for seed in (0, 1))

    assert first.tolist() != second.tolist()


def test_rows_are_cut_alike_every_time_and_anew_for_every_further_cut():
    condition = np.repeat([0, 1], [30, 20])

    first, again, further = (cut_rows(condition, 5, number=n) for n in (0, 0, 1))

    assert first.tolist() == again.tolist() != further.tolist()
    assert np.bincount(first[:30]).tolist() == np.bincount(further[:30]).tolist()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 9), min_size=3, max_size=25),
    st.integers(2, 6),
    st.integers(0, 5),
)
def test_no_group_is_in_two_folds_and_no_fold_is_empty(sizes, n_folds, seed):
    n_folds = min(n_folds, len(sizes))
    groups = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    condition = rng(seed).integers(3, size=len(groups))

    fold = folds(condition, n_folds, rng(seed), groups)

    held = np.bincount(fold, minlength=n_folds)
    assert held.min() > 0
    assert all(len(set(fold[groups == name])) == 1 for name in set(groups))
    # No fold exceeds its fair share by more than one group.
    assert held.max() - len(groups) / n_folds <= max(sizes)


def test_folds_of_equal_groups_are_equal_and_stratified():
    # 40 mice of 15 rows, 5 mice of each of 8 classes: one per class and fold.
    groups = np.repeat(np.arange(40), 15)
    condition = groups % 8

    fold = folds(condition, 5, rng(), groups)

    assert np.bincount(fold).tolist() == [120] * 5
    assert all((np.bincount(fold[condition == c]) == 15).all() for c in range(8))


def test_equal_sizes_come_before_even_classes_of_groups():
    # One group of four rows and four groups of one: 4 + 4, though 6 + 2 is more even
    # in the second class.
    groups = np.array([0, 0, 0, 0, 1, 2, 3, 4])
    condition = np.array([0, 0, 0, 0, 1, 1, 1, 1])

    fold = folds(condition, 2, rng(), groups)

    assert np.bincount(fold).tolist() == [4, 4]


def test_more_folds_than_rows_are_refused():
    with pytest.raises(UserInputError, match="only 3 rows"):
        folds(np.zeros(3, dtype=int), 4, rng())


def test_more_folds_than_groups_are_refused():
    with pytest.raises(UserInputError, match="only 2 groups"):
        folds(np.zeros(6, dtype=int), 3, rng(), ["a", "a", "a", "b", "b", "b"])


def test_a_single_fold_is_refused():
    with pytest.raises(UserInputError, match="n_folds=1 is not usable"):
        folds(np.zeros(6, dtype=int), 1, rng())


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(1, 300), min_size=1, max_size=6),
    n_rows=st.integers(20, 200),
    seed=st.integers(0, 5),
)
def test_a_sample_is_of_distinct_rows_and_keeps_rare_classes_whole(
    counts, n_rows, seed
):
    condition = np.repeat(np.arange(len(counts)), counts)

    rows = even_sample(condition, n_rows, rng(seed))

    assert np.array_equal(rows, np.unique(rows))
    assert len(rows) <= n_rows
    kept = np.bincount(condition[rows], minlength=len(counts))
    for count, n_kept in zip(counts, kept, strict=True):
        if count < RARE * max(counts):
            assert n_kept == min(count, n_rows // len(counts))


def test_a_sample_has_frequent_classes_in_their_own_shares():
    condition = np.repeat([0, 1, 2], [6000, 4000, 50])

    kept = np.bincount(condition[even_sample(condition, 250, rng())])

    assert kept.tolist() == [120, 80, 50]
