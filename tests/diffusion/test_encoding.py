import numpy as np
import pandas as pd
import pytest

from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import (
    PatternGroup,
    SingleGroup,
    fit_encodings,
    flag_groups,
    state_groups,
)
from tabtap.table import Vocabulary, read_frame

# ---- A table as numbers and tokens.


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


# ---- Groups: flags that never meet are one category.


def codes(*rows):
    return np.array(rows, dtype=np.int32)


@pytest.fixture
def one_hot():
    """Give a group of three flags of which one is on, or none."""
    seen = codes([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0])
    return PatternGroup.of(seen, np.array([0, 1, 2]), are_states=False)


@pytest.fixture
def two_holes():
    """Give two numbers that are missing together, or both there."""
    return PatternGroup.of(codes([0, 0], [1, 1]), np.array([0, 1]), are_states=True)


def patterns_of(group, allowed):
    assert not allowed[:, len(group.patterns) :].any()
    return [group.patterns[row[:-1]].tolist() for row in allowed]


def test_flags_that_never_meet_are_one_group():
    on = codes([1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0])

    groups = flag_groups(on, np.array([True] * 4))

    # The third meets the first; the fourth meets the first, and so joins the third.
    assert [group.tolist() for group in groups] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "second",
    [[1, 1, 0], [0, -1, 1], [0, 0, 0]],
    ids=["they meet", "has a hole", "never on"],
)
def test_flags_without_a_partner_stay_single(second):
    pair = np.column_stack([[1, 0, 0], second]).astype(np.int32)

    assert flag_groups(pair, np.array([True, True])) == []


def test_columns_that_are_no_flags_are_left_out():
    assert flag_groups(codes([1, 0], [0, 1]), np.array([True, False])) == []


def test_columns_in_the_same_state_in_all_rows_share_a_token():
    # 1 is a hole, 2 a value that the column piles up on.
    states = codes([1, 0, 1, 0, 1], [0, 1, 0, 0, 0], [2, 1, 2, 0, 1])

    assert [g.tolist() for g in state_groups(states)] == [[0, 2], [1], [4]]


def test_a_pattern_and_its_token_stand_for_each_other(one_hot):
    tokens = one_hot.tokens(one_hot.patterns)

    assert sorted(tokens.tolist()) == [0, 1, 2, 3]
    back = one_hot.codes(tokens, np.zeros(4))
    assert np.array_equal(back, one_hot.patterns)


def test_a_pattern_never_seen_has_the_token_that_is_never_drawn(one_hot):
    strange = codes([1, 1, 0])

    assert one_hot.tokens(strange).tolist() == [one_hot.n_tokens - 1]
    everything = one_hot.allowed(strange, np.ones((1, 3), dtype=bool), holes=True)
    assert everything.tolist() == [[True] * 4 + [False]]


def test_only_patterns_that_agree_with_kept_flags_are_allowed(one_hot):
    row, free = codes([0, 1, 0]), np.array([[True, False, True]])

    allowed = one_hot.allowed(row, free, holes=True)

    assert patterns_of(one_hot, allowed) == [[[0, 1, 0]]]


def test_a_kept_pattern_never_seen_leaves_every_pattern_possible(one_hot):
    row, free = codes([1, 1, 0]), np.array([[False, False, True]])

    allowed = one_hot.allowed(row, free, holes=True)

    assert len(patterns_of(one_hot, allowed)[0]) == 4


@pytest.mark.parametrize(
    ("row", "free", "holes", "possible"),
    [
        ([0, 0], [True, True], True, [[0, 0], [1, 1]]),
        ([0, 0], [True, True], False, [[0, 0]]),
        ([1, 1], [True, False], True, [[1, 1]]),
        # The kept hole asks for another one, which is unwanted: that wish is stronger.
        ([1, 1], [True, False], False, [[0, 0]]),
    ],
    ids=["free", "no holes", "beside a kept hole", "no holes beside a kept hole"],
)
def test_holes_are_drawn_where_they_fit_and_are_wanted(
    two_holes, row, free, holes, possible
):
    allowed = two_holes.allowed(codes(row), np.array([free]), holes=holes)

    assert patterns_of(two_holes, allowed) == [possible]


def test_a_column_that_is_only_holes_stays_one():
    group = PatternGroup.of(codes([1], [1]), np.array([0]), are_states=True)

    allowed = group.allowed(codes([1]), np.array([[True]]), holes=False)

    assert patterns_of(group, allowed) == [[[1]]]


def test_a_single_category_never_draws_what_was_never_seen():
    words = Vocabulary.of(np.array([0, 0, 2, -1]), n_levels=3, cap=8)
    group = SingleGroup(np.array([0]), words)
    free = np.ones((1, 1), dtype=bool)

    with_holes = group.allowed(codes([1]), free, holes=True)
    without = group.allowed(codes([1]), free, holes=False)

    # Levels 0 and 2, the hole, and the unknown one.
    assert with_holes.tolist() == [[True, True, True, False]]
    assert without.tolist() == [[True, True, False, False]]
    assert group.tokens(codes([1])).tolist() == [3]
