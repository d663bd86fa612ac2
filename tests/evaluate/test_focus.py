import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabtap.errors import UserInputError
from tabtap.evaluate.judging import hardest_rows


@pytest.mark.parametrize(
    ("n_rows", "fraction", "n_kept"),
    [(10, 0.2, 2), (8, 0.2, 2), (4, 0.2, 1), (1, 0.2, 1), (5, 1.0, 5), (3, 0.0, 1)],
)
def test_a_share_of_the_rows_is_kept_rounded_up_and_never_none(
    n_rows, fraction, n_kept
):
    assert len(hardest_rows(np.arange(n_rows, dtype=float), fraction)) == n_kept


def test_equally_hard_rows_keep_their_order():
    assert hardest_rows(np.array([1.0, 2.0, 1.0, 2.0]), 1.0).tolist() == [1, 3, 0, 2]


@given(
    hardness=st.lists(st.floats(0, 10), min_size=1, max_size=30),
    fraction=st.floats(0.01, 1.0),
)
def test_no_row_left_out_is_harder_than_one_that_is_kept(hardness, fraction):
    kept = hardest_rows(np.array(hardness), fraction)

    left = np.delete(np.array(hardness), kept)
    assert len(set(kept.tolist())) == len(kept)
    assert left.size == 0 or left.max() <= np.array(hardness)[kept].min()


def test_no_rows_are_refused():
    with pytest.raises(UserInputError, match="fewer folds or more rows"):
        hardest_rows(np.zeros(0), 0.2)


def test_a_hardness_that_is_not_a_number_is_refused_with_its_row():
    with pytest.raises(UserInputError, match="NaN for query row 2"):
        hardest_rows(np.array([0.1, 0.2, np.nan]), 0.2)
