import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.study.protocol import grouped_split


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
