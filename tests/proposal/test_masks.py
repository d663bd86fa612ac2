import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.domain import Template
from tabtap.proposal import draw_masks, free_columns


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.booleans(), min_size=1, max_size=20),
    st.floats(0.0, 1.0),
    st.integers(0, 999),
)
def test_the_share_of_free_columns_is_redrawn_to_within_one(free, exploration, seed):
    free = np.array(free)

    masks = draw_masks(free, exploration, 12, np.random.default_rng(seed))

    count, wanted = masks.sum(axis=1), exploration * free.sum()
    assert masks.shape == (12, len(free))
    assert not masks[:, ~free].any()
    assert (count >= min(1, free.sum())).all()
    assert (np.abs(count - max(wanted, min(1, free.sum()))) < 1).all()


def test_the_number_redrawn_is_the_share_on_average():
    masks = draw_masks(np.ones(5, bool), 0.45, 4000, np.random.default_rng(0))

    assert set(masks.sum(axis=1)) == {2, 3}
    assert masks.sum(axis=1).mean() == pytest.approx(2.25, abs=0.03)


def test_everything_free_is_redrawn_at_exploration_one():
    free = np.array([True, False, True])

    masks = draw_masks(free, 1.0, 50, np.random.default_rng(0))

    assert (masks == free).all()


def test_one_column_is_redrawn_at_exploration_zero():
    masks = draw_masks(np.ones(9, bool), 0.0, 50, np.random.default_rng(0))

    assert (masks.sum(axis=1) == 1).all()


def test_every_candidate_has_a_draw_of_its_own_and_no_column_is_preferred():
    masks = draw_masks(np.ones(8, bool), 0.5, 4000, np.random.default_rng(0))

    assert len(np.unique(masks, axis=0)) == 70  # all subsets of 4 of 8
    assert masks.mean(axis=0) == pytest.approx(np.full(8, 0.5), abs=0.03)


def test_a_tenth_of_ten_columns_is_one():
    masks = draw_masks(np.ones(10, bool), 0.1 + 1e-17, 500, np.random.default_rng(0))

    assert (masks.sum(axis=1) == 1).all()


def test_templates_free_all_that_is_learned_but_for_the_important(people):
    names = np.array([column.name for column in people.schema.features])
    important = np.isin(names, ["number 0", "colour"])

    explore = free_columns(people.schema, Template.EXPLORE, important)
    conservative = free_columns(people.schema, Template.CONSERVATIVE, important)

    assert set(names[~explore]) == {"patient_id", "site"}
    assert set(names[explore & ~conservative]) == {"number 0", "colour"}
