from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.diffusion import fit_backbone, fit_fold_backbones
from tabtap.diffusion.files import _encoding_arrays
from tabtap.errors import UserInputError
from tabtap.table import read_frame, write_frame

FOLD = np.arange(48) % 3
CHANGED = 1


def same_arrays(first, second):
    pairs = _encoding_arrays(first), _encoding_arrays(second)
    return all(
        np.array_equal(pairs[0][n], pairs[1][n], equal_nan=True) for n in pairs[0]
    )


@pytest.fixture(scope="module")
def other_fold(mixed, quick):
    """Fit the stack again after the numbers of one fold have been changed."""
    rows = np.flatnonzero(FOLD == CHANGED)
    dose = mixed.cells[1].copy()
    dose[rows] = 1000.0 - dose[rows]
    table = replace(mixed, cells=(mixed.cells[0], dose, *mixed.cells[2:]))
    return fit_fold_backbones(table, FOLD, rng=np.random.default_rng(0), config=quick)


def test_a_member_knows_nothing_of_its_unseen_fold(stack, other_fold):
    before, after = stack.encodings, other_fold.encodings

    assert same_arrays(before[CHANGED], after[CHANGED])
    assert torch.equal(stack.weights[CHANGED], other_fold.weights[CHANGED])


def test_the_other_members_have_seen_that_fold(stack, other_fold):
    for member in {0, 1, 2} - {CHANGED}:
        assert not same_arrays(stack.encodings[member], other_fold.encodings[member])
        assert not torch.equal(stack.weights[member], other_fold.weights[member])


def test_a_member_draws_the_same_rows_whatever_its_unseen_fold_holds(
    stack, other_fold, content
):
    rows = [s[CHANGED].sample(9, np.random.default_rng(1)) for s in (stack, other_fold)]

    assert content(rows[0]) == content(rows[1])


def test_members_are_different_networks(stack):
    assert not torch.equal(stack.weights[0], stack.weights[1])


def test_rows_say_which_fold_their_generator_has_not_seen(stack):
    rows = stack.sample([np.array([0, 1])] * 3, np.random.default_rng(0))

    assert [made.unseen_fold.tolist() for made in rows] == [[0, 0], [1, 1], [2, 2]]


def test_the_same_generator_gives_the_same_backbone(mixed, quick, backbone):
    again = fit_backbone(mixed, rng=np.random.default_rng(0), config=quick)
    other = fit_backbone(mixed, rng=np.random.default_rng(1), config=quick)

    assert torch.equal(again.stack.weights, backbone.stack.weights)
    assert not torch.equal(other.stack.weights, backbone.stack.weights)


def test_too_few_rows_are_refused_with_the_way_out(mixed, quick):
    fold = np.arange(2)

    with pytest.raises(UserInputError, match=r"given 1 row\(s\).*Use fewer folds"):
        fit_fold_backbones(
            mixed.take(fold), fold, rng=np.random.default_rng(0), config=quick
        )


@pytest.mark.parametrize(
    "fold",
    [
        np.zeros(10, dtype=int),
        np.resize([0.0, 1.0], 48),
        np.resize([-1, 0], 48),
        np.zeros(48, dtype=int),
    ],
    ids=["too short", "not integers", "negative", "a single fold"],
)
def test_folds_that_are_none_are_refused_with_the_function_that_makes_them(
    mixed, quick, fold
):
    with pytest.raises(UserInputError, match=r"tabtap\.table\.split\.folds"):
        fit_fold_backbones(mixed, fold, rng=np.random.default_rng(0), config=quick)


def test_a_frame_in_place_of_a_table_is_refused_with_the_call():
    with pytest.raises(UserInputError, match="read_frame"):
        fit_backbone(pd.DataFrame({"a": [1]}), rng=np.random.default_rng(0))


def test_a_table_without_anything_to_learn_is_learned_at_once():
    frame = pd.DataFrame({"always": [5] * 20, "label": ["p", "q"] * 10})

    backbone = fit_backbone(read_frame(frame, "label"), rng=np.random.default_rng(0))
    drawn = write_frame(backbone.sample(4, np.random.default_rng(0), targets=1))

    assert "nothing to learn" in backbone.training.reason
    assert drawn.always.tolist() == [5] * 4
    assert drawn.label.tolist() == ["q"] * 4
