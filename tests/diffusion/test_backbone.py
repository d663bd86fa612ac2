from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.diffusion import DiffusionConfig, fit_backbone
from tabtap.diffusion.backbone import draw_seeds
from tabtap.errors import UserInputError
from tabtap.table import read_frame


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
