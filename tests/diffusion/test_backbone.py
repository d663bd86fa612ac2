from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.diffusion import (
    DiffusionConfig,
    fit_backbone,
    fit_fold_backbones,
    load_backbone,
    load_stack,
)
from tabtap.diffusion.backbone import draw_seeds
from tabtap.diffusion.files import _encoding_arrays
from tabtap.errors import UserInputError
from tabtap.table import read_frame, write_frame

# ---- Backbones: what is drawn from them.


def test_a_member_gives_the_same_rows_alone_and_in_the_stack(stack, mixed, content):
    sizes = (5, 40, 17)
    anchors = [mixed.take(np.arange(size)) for size in sizes]
    masks = [np.random.default_rng(s).random(a.missing.shape) < 0.5
             for s, a in enumerate(anchors)]  # fmt: skip
    seeds = [draw_seeds(size, np.random.default_rng(size)) for size in sizes]

    together = stack.inpaint_seeded(anchors, masks, seeds)

    for member in range(3):
        alone = stack[member].inpaint_seeded(
            anchors[member], masks[member], seeds[member]
        )
        assert content(alone) == content(together[member])


def test_sampled_targets_are_as_frequent_as_real_ones_unless_given(quick):
    rng = np.random.default_rng(0)
    labels = np.repeat(["rare", "usual"], [10, 90])
    table = read_frame(pd.DataFrame({"x": rng.normal(size=100), "y": labels}), "y")
    fitted = fit_backbone(table, rng=rng, config=quick)

    by_default = fitted.sample(2000, rng).target
    asked = fitted.sample(3, rng, targets=0).target

    assert 0.06 < (by_default == 0).mean() < 0.14
    assert asked.tolist() == [0, 0, 0]


@pytest.mark.parametrize("wanted", [-1, 2])
def test_a_target_that_does_not_exist_is_refused(backbone, wanted):
    with pytest.raises(UserInputError, match=f"targets={wanted} is not usable"):
        backbone.sample(2, np.random.default_rng(0), targets=[0, wanted])


def test_a_target_without_training_rows_is_refused(mixed, quick):
    only_ill = mixed.take(np.flatnonzero(mixed.target == 0))
    fitted = fit_backbone(only_ill, rng=np.random.default_rng(0), config=quick)

    with pytest.raises(UserInputError, match="Target 1 has no training row"):
        fitted.sample(1, np.random.default_rng(0), targets=1)


@pytest.mark.parametrize(
    "mask",
    [np.zeros((48, 2), dtype=bool), np.zeros((48, 8)), np.zeros(48, dtype=bool)],
    ids=["too narrow", "not boolean", "flat"],
)
def test_a_mask_of_the_wrong_form_is_refused(backbone, mixed, mask):
    with pytest.raises(UserInputError, match=r"boolean array of shape \(48, 8\)"):
        backbone.inpaint(mixed, mask, np.random.default_rng(0))


def test_no_rows_give_no_rows(backbone, mixed):
    rng = np.random.default_rng(0)
    nobody = mixed.empty()

    assert len(backbone.sample(0, rng)) == 0
    assert len(backbone.inpaint(nobody, nobody.missing > 0, rng)) == 0


def test_a_stack_takes_members_without_rows(stack, mixed):
    rows = [mixed.empty(), mixed.take(np.arange(3)), mixed.empty()]
    masks = [np.ones(part.missing.shape, dtype=bool) for part in rows]

    made = stack.inpaint(rows, masks, np.random.default_rng(0))

    assert [len(part) for part in made] == [0, 3, 0]


def test_the_first_rows_are_the_same_whatever_follows(backbone, content):
    few = backbone.sample(5, np.random.default_rng(0), targets=1)
    many = backbone.sample(50, np.random.default_rng(0), targets=1)

    assert content(many.take(np.arange(5))) == content(few)


def test_a_regression_target_is_drawn_inside_its_bin_and_kept_by_inpainting(quick):
    rng = np.random.default_rng(0)
    price = rng.lognormal(size=70).round(2)
    table = read_frame(
        pd.DataFrame({"x": rng.normal(size=70), "price": price}), "price"
    )
    fitted = fit_backbone(table, rng=rng, config=quick)
    bins = np.resize(np.arange(table.schema.n_conditions), 70)

    rows = fitted.sample(70, rng, targets=bins)
    redrawn = fitted.inpaint(table, np.ones(table.missing.shape, dtype=bool), rng)

    assert np.array_equal(rows.condition, bins)
    assert len(np.unique(rows.target)) > table.schema.n_conditions
    assert np.array_equal(rows.target, rows.target.round(2))
    assert redrawn.target.tobytes() == table.target.tobytes()


def test_a_redrawn_target_follows_the_cells_that_stay():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "other": rng.normal(size=300), "y": 2.0 * x})
    table = read_frame(frame, "y", n_bins=1)
    config = DiffusionConfig(n_steps=300, width=64, depth=2, device="cpu")
    fitted = fit_backbone(table, rng=rng, config=config)
    only_other = np.zeros(table.missing.shape, dtype=bool)
    only_other[:, 1] = True

    made = fitted.inpaint(table, only_other, rng, redraw_target=True)

    assert made.cells[0].tobytes() == table.cells[0].tobytes()
    assert (made.target != table.target).mean() > 0.9
    assert np.corrcoef(made.target, made.cells[0])[0, 1] > 0.9


def test_the_rare_bucket_gives_real_rare_levels():
    rng = np.random.default_rng(0)
    # 30 towns are frequent; 1,000 others occur once, and share one token.
    towns = np.concatenate([np.repeat(np.arange(30), 40), np.arange(30, 1030)])
    frame = pd.DataFrame({"town": towns.astype(str), "y": rng.choice(["a", "b"], 2200)})
    table = read_frame(frame, "y", kinds={"town": "category"})
    config = DiffusionConfig(n_steps=150, width=32, batch_size=256, device="cpu")
    fitted = fit_backbone(table, rng=rng, config=config)

    levels = np.array(table.schema.features[0].levels)
    drawn = levels[fitted.sample(2000, rng).cells[0]].astype(int)

    rare = drawn >= 30
    assert 0.35 < rare.mean() < 0.55
    assert len(np.unique(drawn[rare])) > 300


@pytest.mark.parametrize("size", ["compact", "paper"])
def test_a_row_is_the_same_among_hundreds(mixed, content, size):
    # Wide enough for a matrix product to be split differently by its number of rows.
    config = DiffusionConfig(
        size=size, width=192, n_steps=5, n_sample_steps=4, batch_size=64, device="cpu"
    )
    fitted = fit_backbone(mixed, rng=np.random.default_rng(0), config=config)
    anchors = mixed.take(np.arange(700) % 48)
    mask = np.random.default_rng(1).random(anchors.missing.shape) < 0.5
    seeds = draw_seeds(700, np.random.default_rng(2))

    together = fitted.inpaint_seeded(anchors, mask, seeds)

    for rows in (np.array([0]), np.array([699]), np.arange(100, 133)):
        alone = fitted.inpaint_seeded(anchors.take(rows), mask[rows], seeds[rows])
        assert content(alone) == content(together.take(rows))


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (["ill", "well"], "class codes: 0 for"),
        ([0.5, 1.0], "class codes: 0 for"),
        ([0, 1, 0], "one integer or 2"),
        (7, "between 0 and"),
    ],
    ids=["labels", "floats", "wrong length", "no such code"],
)
def test_targets_that_are_no_codes_are_refused_with_the_codes(backbone, targets, told):
    with pytest.raises(UserInputError, match=told):
        backbone.sample(2, np.random.default_rng(0), targets=targets)


@pytest.mark.parametrize("n_rows", [-1, 2.5, True])
def test_a_number_of_rows_is_a_count(backbone, n_rows):
    with pytest.raises(UserInputError, match="n_rows"):
        backbone.sample(n_rows, np.random.default_rng(0))


def test_a_seed_in_place_of_a_generator_is_refused_with_the_call(backbone, mixed):
    with pytest.raises(UserInputError, match=r"default_rng\(0\)"):
        backbone.inpaint(mixed, mixed.missing > 0, 0)


def test_a_frame_in_place_of_anchors_is_refused_with_the_call(backbone):
    with pytest.raises(UserInputError, match="read_frame"):
        backbone.inpaint(pd.DataFrame({"a": [1]}), None, np.random.default_rng(0))


def test_anchors_with_other_labels_are_refused(backbone, mixed):
    target = mixed.schema.target
    column = replace(target.column, levels=tuple(reversed(target.column.levels)))
    schema = replace(mixed.schema, target=replace(target, column=column))
    anchors = replace(mixed, schema=schema)

    with pytest.raises(UserInputError, match="target is not the one"):
        backbone.inpaint(anchors, anchors.missing > 0, np.random.default_rng(0))


def test_anchors_of_a_class_without_training_rows_are_refused(mixed, quick):
    one_class = mixed.take(np.flatnonzero(mixed.target == 0))
    fitted = fit_backbone(one_class, rng=np.random.default_rng(0), config=quick)

    with pytest.raises(UserInputError, match="has no training row"):
        fitted.inpaint(mixed, mixed.missing > 0, np.random.default_rng(0))


def test_holes_are_filled_by_a_backbone_that_has_never_seen_one(mixed, quick):
    full = mixed.take(np.flatnonzero((mixed.missing == 0).all(axis=1)))
    fitted = fit_backbone(full, rng=np.random.default_rng(0), config=quick)

    filled = fitted.inpaint(mixed, mixed.missing > 0, np.random.default_rng(0))

    assert (mixed.missing > 0).any()
    assert (filled.missing == 0).all()


def test_a_backbone_and_a_table_are_shown_in_one_line(backbone, mixed):
    assert repr(backbone).startswith("Backbone(")
    assert repr(mixed).startswith("Table(48 rows, 8 features")
    assert max(len(repr(backbone)), len(repr(mixed))) < 100


# ---- Fitting a member for each unseen fold.


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


# ---- Loading what was saved.


def half(table):
    return np.random.default_rng(4).random(table.missing.shape) < 0.5


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"conditioning": "overwrite"},
        {"schedule": "learned", "scale": "quantile"},
        {"size": "paper", "clip_quantiles": (0.01, 0.99)},
    ],
    ids=["default", "overwrite", "learned quantile", "paper"],
)
def test_a_loaded_backbone_draws_the_same_rows(tmp_path, mixed, content, changes):
    settings = {"n_steps": 10, "batch_size": 32, "width": 16, "n_sample_steps": 4}
    config = DiffusionConfig(**settings | changes)
    fitted = fit_backbone(mixed, rng=np.random.default_rng(0), config=config)
    fitted.save(tmp_path / "b")

    loaded = load_backbone(tmp_path / "b")

    for draw in (
        lambda b: b.sample(20, np.random.default_rng(1)),
        lambda b: b.sample(20, np.random.default_rng(1), targets=1, holes=False),
        lambda b: b.inpaint(mixed, half(mixed), np.random.default_rng(2)),
    ):
        assert content(draw(loaded)) == content(draw(fitted))


def test_a_loaded_backbone_redraws_rows_into_the_same_frame(tmp_path, mixed, backbone):
    backbone.save(tmp_path / "b")
    loaded = load_backbone(str(tmp_path / "b"))

    frames = [
        write_frame(b.inpaint(mixed, half(mixed), np.random.default_rng(0)))
        for b in (backbone, loaded)
    ]

    # Identifiers that were kept are still there: they come with the anchors.
    pd.testing.assert_frame_equal(*frames)


def test_a_regression_backbone_draws_the_same_targets(tmp_path, content, quick):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.normal(size=40), "price": rng.normal(size=40)})
    table = read_frame(frame, "price")
    fitted = fit_backbone(table, rng=rng, config=quick)
    fitted.save(tmp_path / "b")

    loaded = load_backbone(tmp_path / "b")

    rows = [b.sample(30, np.random.default_rng(1)) for b in (fitted, loaded)]
    assert content(rows[0]) == content(rows[1])


def test_a_loaded_stack_has_the_same_members(tmp_path, stack, content):
    stack.save(tmp_path / "s")

    loaded = load_stack(tmp_path / "s")

    targets = [np.array([0, 1, 1])] * 3
    before = stack.sample(targets, np.random.default_rng(0))
    after = loaded.sample(targets, np.random.default_rng(0))
    assert [content(rows) for rows in after] == [content(rows) for rows in before]
    assert [rows.unseen_fold[0] for rows in after] == [0, 1, 2]


def test_one_backbone_can_be_loaded_as_a_stack_but_not_the_reverse(
    tmp_path, stack, backbone
):
    backbone.save(tmp_path / "b")
    stack.save(tmp_path / "s")

    assert len(load_stack(tmp_path / "b")) == 1
    with pytest.raises(UserInputError, match=r"holds 3 backbones\. Use load_stack"):
        load_backbone(tmp_path / "s")


def test_the_device_is_chosen_anew(tmp_path, mixed, quick):
    fold = np.arange(len(mixed)) % 2
    rng = np.random.default_rng(0)
    fit_fold_backbones(mixed, fold, rng=rng, config=quick)[0].save(tmp_path / "b")

    assert load_stack(tmp_path / "b").config.device == "auto"
    assert load_stack(tmp_path / "b", device="cpu").weights.device.type == "cpu"
    with pytest.raises(UserInputError, match="device='abacus' is not usable"):
        load_stack(tmp_path / "b", device="abacus")
