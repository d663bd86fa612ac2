import numpy as np
import pandas as pd
import pytest

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import PatternGroup, SingleGroup, fit_encodings
from tabtap.table import read_frame


def fit(table):
    encodings, layout = fit_encodings([table], DiffusionConfig())
    return encodings[0], layout


def test_a_mixed_table_becomes_numbers_and_tokens(mixed):
    encoding, layout = fit(mixed)

    cells = encoding.cells(mixed)

    # dose, pulse and seen; colour, the two faults together, and whether pulse is there.
    assert cells.numbers.shape == (48, 3)
    assert [type(group) for group in encoding.groups] == [
        SingleGroup,
        PatternGroup,
        PatternGroup,
    ]
    assert layout.n_numbers == 3
    assert layout.n_conditions == 2
    assert (cells.tokens < layout.group_sizes).all()
    assert np.array_equal(cells.observed, ~np.isnan(mixed.numeric))
    assert (cells.numbers[~cells.observed] == 0).all()
    assert np.array_equal(cells.condition, mixed.target)


def test_decoding_what_was_encoded_gives_the_table_back(mixed, content):
    encoding, _ = fit(mixed)
    cells = encoding.cells(mixed)
    everything = np.ones(mixed.missing.shape, dtype=bool)
    everything[:, 0] = False  # identifiers are not modelled
    uniforms = np.zeros(cells.tokens.shape)

    made = (cells.numbers.astype(np.float64), cells.tokens)
    back = encoding.decode(mixed, everything, made, uniforms)

    assert content(back) == content(mixed)


def test_a_mask_frees_numbers_and_every_token_that_it_touches(mixed):
    encoding, _ = fit(mixed)
    names = [column.name for column in mixed.schema.features]
    mask = np.zeros((1, len(names)), dtype=bool)
    mask[0, [names.index("pulse"), names.index("fault a")]] = True

    numbers, tokens = encoding.free(mask, target=True)

    assert numbers.tolist() == [[False, True, False]]
    # Not the colour; the faults, of which one is free; whether pulse is missing.
    assert tokens.tolist() == [[False, True, True]]


@pytest.fixture
def priced():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=70), "price": rng.lognormal(size=70)})
    return read_frame(frame, "price")


def test_a_regression_target_is_the_last_number(priced):
    encoding, layout = fit(priced)

    cells = encoding.cells(priced)

    assert layout.n_numbers == 2
    correlation = np.corrcoef(cells.numbers[:, 1], priced.target_values)[0, 1]
    assert correlation == pytest.approx(1.0)


@pytest.mark.parametrize("target", [True, False])
def test_a_regression_target_is_free_only_when_it_is_drawn(priced, target):
    encoding, _ = fit(priced)

    numbers, _ = encoding.free(np.ones((3, 1), dtype=bool), target=target)

    assert numbers[:, 1].tolist() == [target] * 3


def test_a_drawn_target_is_moved_into_the_real_range_of_its_bin(priced):
    encoding, _ = fit(priced)

    low = encoding.decode_target(priced, np.full((70, 2), -50.0))
    high = encoding.decode_target(priced, np.full((70, 2), 50.0))

    assert np.array_equal(low.condition, priced.condition)
    assert np.array_equal(high.condition, priced.condition)
    for k in range(priced.schema.n_conditions):
        real = priced.target[priced.condition == k]
        for made in (low, high):
            drawn = made.target[priced.condition == k]
            assert drawn.min() >= real.min()
            assert drawn.max() <= real.max()


def test_members_share_a_layout_and_nothing_else(mixed):
    parts = [mixed.take(np.arange(20)), mixed.take(np.arange(20, 48))]

    encodings, layout = fit_encodings(parts, DiffusionConfig())

    for encoding, part in zip(encodings, parts, strict=True):
        own, _ = fit(part)
        assert np.array_equal(encoding.scaling.scale.center, own.scaling.scale.center)
        sizes = [group.n_tokens for group in encoding.groups]
        assert (np.array(sizes) <= layout.group_sizes).all()
    centers = [encoding.scaling.scale.center for encoding in encodings]
    assert not np.allclose(*centers)


def test_class_shares_are_those_of_the_training_rows(mixed):
    rows = np.flatnonzero(mixed.target == 0)[:9].tolist()
    rows += np.flatnonzero(mixed.target == 1)[:3].tolist()

    encoding, _ = fit(mixed.take(np.array(rows)))

    assert encoding.weights.tolist() == [0.75, 0.25]
