"""A regression target is drawn first, inside its bin, and its row is drawn given it."""

import numpy as np
import pandas as pd
import pytest

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.diffusion.encoding import fit_encodings
from tabtap.diffusion.sample import first_targets, move_targets
from tabtap.table import read_frame


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def table_of(x, y, **more):
    frame = pd.DataFrame({"x": x, "y": y})
    return read_frame(frame, "y", task="regression", **more)


@pytest.fixture
def line(rng):
    """Two hundred rows in which x is twice the target, and a little noise."""
    y = rng.normal(size=200)
    return table_of(2 * y + 0.1 * rng.normal(size=200), y, n_bins=4)


def encoding_of(table, **config):
    (encoding,), _ = fit_encodings([table], DiffusionConfig(**config))
    return encoding


def test_first_targets_are_real_ones_of_the_wanted_bin(line, rng):
    bins = np.repeat(np.arange(4), 50)

    drawn = first_targets(encoding_of(line), bins, rng.random(200))

    assert set(drawn) <= set(line.target_values)
    edges = line.schema.target.edges
    assert np.searchsorted(edges, drawn, side="left").tolist() == bins.tolist()


def test_chance_reaches_the_first_and_the_last_of_a_bin(line):
    inside = np.sort(line.target_values[line.condition == 2])
    chance = np.array([0.0, np.nextafter(1.0, 0.0)])

    drawn = first_targets(encoding_of(line), np.array([2, 2]), chance)

    assert drawn.tolist() == [inside[0], inside[-1]]


def test_of_many_rows_some_targets_are_kept(rng):
    y = rng.normal(size=5000)

    kept = encoding_of(table_of(y, y)).targets

    assert len(kept) == 1000
    assert (kept[0], kept[-1]) == (y.min(), y.max())
    assert np.median(kept) == pytest.approx(np.median(y), abs=0.01)


def test_moved_targets_stay_in_their_bins_and_spread_as_before(rng):
    y = rng.normal(size=40)
    table = table_of(y, y, n_bins=4).take(np.tile(np.arange(40), 100))
    encoding = encoding_of(table.take(np.arange(40)))

    moved = move_targets(encoding, table, rng.standard_normal(4000))

    assert moved.condition.tolist() == table.condition.tolist()
    assert (moved.target_values != table.target_values).mean() > 0.99
    assert moved.target_values.mean() == pytest.approx(y.mean(), abs=0.1)
    assert moved.target_values.std() == pytest.approx(y.std(), rel=0.1)
    assert moved.target_values.min() >= y.min()
    assert moved.target_values.max() <= y.max()


@pytest.mark.parametrize("values", [np.arange(40) // 4, np.arange(40) * 100])
def test_whole_numbers_are_rounded_and_do_not_leave_their_bin(values, rng):
    table = table_of(rng.normal(size=40), values, n_bins=7)

    moved = move_targets(encoding_of(table), table, rng.standard_normal(40))

    assert moved.condition.tolist() == table.condition.tolist()
    assert (moved.target_values == moved.target_values.round()).all()


def test_without_smoothing_a_target_stays_what_it_is(line, rng):
    encoding = encoding_of(line, smoothing=0.0)

    moved = move_targets(encoding, line, rng.standard_normal(200))

    assert moved.target_values == pytest.approx(line.target_values, abs=1e-12)


def test_where_kept_cells_are_overwritten_the_bin_is_given(line):
    encodings, layout = fit_encodings([line], DiffusionConfig.paper())

    assert layout.n_conditions == 4
    assert not layout.target_is_given
    assert encodings[0].cells(line).condition.tolist() == line.condition.tolist()


def test_a_row_belongs_to_its_exact_target_not_only_to_its_bin(line, rng):
    backbone = fit_backbone(line, rng=rng, config=DiffusionConfig(n_steps=600))

    rows = backbone.sample(800, rng)

    # Within a bin, where rows that only knew their bin would have no slope at all.
    inner = rows.condition == 1
    slope, _ = np.polyfit(rows.target_values[inner], rows.numeric[inner, 0], 1)
    assert slope == pytest.approx(2.0, abs=0.3)


def test_the_first_rows_do_not_depend_on_how_many_follow(line):
    backbone = fit_backbone(
        line, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=5)
    )
    wanted = np.array([0, 1, 2, 3])

    few = backbone.sample(4, np.random.default_rng(1), targets=wanted)
    many = backbone.sample(
        8, np.random.default_rng(1), targets=np.concatenate([wanted, wanted])
    )

    assert few.target_values.tolist() == many.target_values[:4].tolist()
    assert few.numeric.tolist() == many.numeric[:4].tolist()
