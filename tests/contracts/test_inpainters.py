"""Promises every inpainter keeps.  A new one earns them by joining the list below."""

import numpy as np
import pytest

from tabtap.api.own_parts import check_redrawn
from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone, fit_fold_backbones
from tabtap.table import Kind

# Untrained networks keep the same promises as trained ones: a few steps will do.
QUICK = {"n_steps": 20, "n_sample_steps": 6, "width": 32, "device": "cpu"}
COMPACT = QUICK | {"depth": 2, "batch_size": 64}
PAPER = QUICK | {"size": "paper", "batch_size": 64}


def alone(**settings):
    def fit(table):
        config = DiffusionConfig(**settings)
        return fit_backbone(table, rng=np.random.default_rng(0), config=config)

    return fit


def stack_member(table):
    fold = np.arange(len(table)) % 3
    config = DiffusionConfig(**COMPACT)
    rng = np.random.default_rng(0)
    return fit_fold_backbones(table, fold, rng=rng, config=config)[1]


INPAINTERS = {
    "clean": alone(**COMPACT),
    "overwrite": alone(**COMPACT, conditioning="overwrite"),
    "learned schedule": alone(**COMPACT, schedule="learned"),
    "quantile scale": alone(**COMPACT, scale="quantile"),
    "paper": alone(
        **PAPER, schedule="learned", conditioning="overwrite", scale="quantile"
    ),
    "stack member": stack_member,
}


@pytest.fixture(scope="module", params=INPAINTERS)
def inpainter(request, table):
    return INPAINTERS[request.param](table)


@pytest.fixture(scope="module")
def anchors(table):
    return table.take(np.arange(37) % len(table))


@pytest.fixture(scope="module")
def regenerate(anchors):
    """Redraw half of the cells, in every combination that chance brings."""
    return np.random.default_rng(3).random(anchors.missing.shape) < 0.5


@pytest.fixture(scope="module")
def redrawn(inpainter, anchors, regenerate):
    return inpainter.inpaint(anchors, regenerate, np.random.default_rng(11))


def content(table):
    """Return everything of a table but its schema, as bytes."""
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]


def test_kept_cells_targets_and_origins_come_back_bit_for_bit(
    anchors, regenerate, redrawn
):
    check_redrawn(anchors, regenerate, redrawn)

    assert content(redrawn)[-3:] == content(anchors)[-3:]


def test_redrawing_nothing_is_the_identity(inpainter, anchors):
    nothing = np.zeros(anchors.missing.shape, dtype=bool)

    same = inpainter.inpaint(anchors, nothing, np.random.default_rng(0))

    assert content(same) == content(anchors)


def test_the_same_seed_gives_the_same_rows(inpainter, anchors, regenerate, redrawn):
    again = inpainter.inpaint(anchors, regenerate, np.random.default_rng(11))

    assert content(again) == content(redrawn)


def test_a_row_is_the_same_in_any_company(inpainter, anchors, regenerate):
    seeds = np.random.default_rng(5).integers(2**64, size=37, dtype=np.uint64)

    together = inpainter.inpaint_seeded(anchors, regenerate, seeds)

    for row in range(0, 37, 4):
        one = np.array([row])
        single = inpainter.inpaint_seeded(
            anchors.take(one), regenerate[one], seeds[one]
        )
        assert content(single) == content(together.take(one))


def test_redrawn_numbers_lie_on_the_grid_and_in_the_range(table, regenerate, redrawn):
    for place in table.schema.numeric:
        column = table.schema.features[place]
        shown = regenerate[:, place] & (redrawn.missing[:, place] == 0)
        drawn = redrawn.cells[place][shown]
        real = table.cells[place][table.missing[:, place] == 0]

        assert drawn.dtype == column.storage
        assert np.isfinite(drawn).all()
        assert (drawn >= real.min()).all()
        assert (drawn <= real.max()).all()
        assert np.array_equal(drawn, column.store(drawn.astype(np.float64)))


def test_redrawn_levels_are_levels_of_the_table(table, regenerate, redrawn):
    for place in table.schema.categorical:
        shown = regenerate[:, place] & (redrawn.missing[:, place] == 0)
        seen = table.cells[place][table.missing[:, place] == 0]

        assert np.isin(redrawn.cells[place][shown], seen).all()


def test_only_identifiers_and_columns_with_holes_are_left_empty(
    table, regenerate, redrawn
):
    for place, column in enumerate(table.schema.features):
        hole = redrawn.missing[regenerate[:, place], place] > 0
        if column.kind is Kind.IDENTIFIER:
            assert hole.all()
        elif not column.has_missing:
            assert not hole.any()


def test_no_redrawn_cell_is_missing_where_holes_are_unwanted(
    inpainter, anchors, regenerate
):
    full = inpainter.inpaint(anchors, regenerate, np.random.default_rng(2), holes=False)

    for place, column in enumerate(anchors.schema.features):
        if column.kind not in (Kind.IDENTIFIER, Kind.CONSTANT):
            assert not full.missing[regenerate[:, place], place].any(), column.name


def test_a_target_drawn_anew_stays_in_its_bin_and_a_label_what_it_was(
    inpainter, table, anchors, regenerate
):
    again = inpainter.inpaint(
        anchors, regenerate, np.random.default_rng(4), redraw_target=True
    )

    kept = ~regenerate
    assert np.array_equal(again.condition, anchors.condition)
    assert again.origin.tobytes() == anchors.origin.tobytes()
    assert np.array_equal(again.missing[kept], anchors.missing[kept])
    for place, (after, before) in enumerate(
        zip(again.cells, anchors.cells, strict=True)
    ):
        assert np.array_equal(after[kept[:, place]], before[kept[:, place]])
    if table.schema.target is not None and table.schema.target.task == "regression":
        assert (again.target != anchors.target).mean() > 0.5
    else:
        assert again.target.tobytes() == anchors.target.tobytes()


def test_inputs_stay_as_they_were(inpainter, anchors, regenerate):
    before, mask_before = content(anchors), regenerate.copy()

    inpainter.inpaint(anchors, regenerate, np.random.default_rng(0))

    assert content(anchors) == before
    assert np.array_equal(regenerate, mask_before)


def test_whole_rows_have_the_targets_that_were_asked_for(inpainter, table):
    known = np.flatnonzero(np.bincount(table.condition))
    wanted = np.resize(known, 20)

    rows = inpainter.sample(20, np.random.default_rng(0), targets=wanted)

    # In regression the condition is the bin, and the exact target must lie in it.
    assert np.array_equal(rows.condition, wanted)
    assert (rows.origin == -1).all()
    if table.schema.target is not None:
        real = table.target_values
        assert (rows.target_values >= real.min()).all()
        assert (rows.target_values <= real.max()).all()
