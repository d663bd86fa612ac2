import numpy as np
import pytest
import torch
from scipy.stats import norm

from tabtap.rivals.matrices import (
    Blocks,
    ColumnModes,
    FlatColumns,
    ModeEncoding,
    ModeScale,
    SeededDropout,
    generator_from,
    join_target,
    linear,
    perceptron,
    split_target,
    whole_rows,
)
from tabtap.table import read_frame

# ---- Rows as one matrix.


NAN = np.nan


@pytest.fixture
def mixed(build_table):
    """Give a number with a hole, one without, and a category with a hole."""
    return build_table(
        [0, 1, 1, 0],
        np.array([1.0, NAN, 3.0, 5.0]),
        np.array([0.0, 1.0, 2.0, 3.0]),
        np.array([0, 2, -1, 2]),
    )


def test_rows_and_their_holes_come_back_as_they_were(mixed):
    columns = FlatColumns.of(mixed)

    back = columns.table(columns.rows(mixed))

    assert np.array_equal(back.numeric, mixed.numeric, equal_nan=True)
    assert np.array_equal(back.categorical, mixed.categorical)
    assert np.array_equal(back.target, mixed.target)
    assert back.target.dtype == mixed.target.dtype
    assert back.origin.tolist() == [-1] * 4


def test_a_missing_number_stands_at_the_mean_with_a_flag_beside_it(mixed):
    rows = FlatColumns.of(mixed).rows(mixed)

    assert rows.numbers[1, 0] == 3.0  # the mean of 1, 3 and 5
    assert rows.codes[:, 1].tolist() == [0, 1, 0, 0]


def test_only_levels_of_the_training_rows_are_known(mixed):
    columns = FlatColumns.of(mixed)

    # Level 1 of three is in no row, and a hole is a level; then a flag and two classes.
    assert columns.sizes == (3, 2, 2)


def test_a_label_may_be_kept_apart(mixed):
    columns = FlatColumns.of(mixed, joint_label=False)
    labels = np.array([1, 1, 1, 0])

    back = columns.table(columns.rows(mixed), labels)

    assert columns.sizes == (3, 2)
    assert back.target.tolist() == labels.tolist()


def test_a_regression_target_is_the_last_number(build_table):
    table = build_table(np.array([7.0, 8.0]), np.array([1.0, 2.0]), edges=(7.5,))
    columns = FlatColumns.of(table)

    rows = columns.rows(table)

    assert rows.numbers.tolist() == [[1.0, 7.0], [2.0, 8.0]]
    assert columns.table(rows).target.tolist() == [7.0, 8.0]


def test_a_column_without_any_value_stays_without(build_table):
    table = build_table([0, 1], np.array([NAN, NAN]))
    columns = FlatColumns.of(table)

    back = columns.table(columns.rows(table))

    assert np.isnan(back.numeric).all()


# ---- A target as a column.


def content(table):
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.tobytes()) for a in (*table.cells, *rest)]


@pytest.fixture
def classes(read_columns):
    return read_columns(dose=np.arange(12) / 7, label=["ill", "well", "well"] * 4)


@pytest.fixture
def prices(read_columns):
    return read_columns(dose=np.arange(12) / 7, price=np.arange(12) * 1.5)


@pytest.mark.parametrize("name", ["classes", "prices"])
def test_a_target_becomes_a_column_and_a_target_again(name, request):
    train = request.getfixturevalue(name)

    joint = join_target(train)

    assert joint.schema.target is None
    assert joint.schema.features[-1] == train.schema.target.column
    assert joint.cells[-1].tolist() == train.target.tolist()
    assert joint.schema.n_conditions == 1
    assert content(split_target(joint, train)) == content(train)
    assert split_target(joint, train).schema == train.schema


def test_a_table_without_a_target_is_what_it_was():
    train = read_frame(np.arange(24.0).reshape(12, 2) / 7)

    joint = join_target(train)

    assert content(joint) == content(train)
    assert content(split_target(joint, train)) == content(train)


def test_drawn_values_become_rows_on_the_grid_with_their_holes(read_columns):
    steps = [0.25, 0.5, np.nan, 1.0, 0.26, 0.51, np.nan, 1.01, 0.27, 0.52, np.nan, 1.02]
    train = read_columns(dose=steps, colour=["red", "blue", None] * 4, label=[0, 1] * 6)
    joint = join_target(train)
    numbers, codes = np.array([[0.31], [np.nan]]), np.array([[-1, 0], [1, 1]])

    rows = split_target(
        whole_rows(joint.schema, numbers, codes.astype(np.int32)), train
    )

    assert rows.numeric.ravel()[0] == 0.31
    assert rows.missing.tolist() == [[0, 1], [1, 0]]
    assert rows.categorical.ravel().tolist() == [-1, 1]
    assert rows.target.tolist() == [0, 1]
    assert rows.origin.tolist() == [-1, -1]


# ---- Codes as blocks of ones.


SIZES = (3, 2, 3, 1)


@pytest.fixture
def blocks():
    return Blocks.of(SIZES)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def column(blocks, place):
    """Return the matrix columns of one block."""
    start = blocks.starts[place]
    return slice(start, start + SIZES[place])


def test_codes_come_back_from_their_ones(blocks):
    codes = torch.tensor([[2, 0, 1, 0], [0, 1, 2, 0]])

    matrix = blocks.one_hot(codes)

    assert matrix.shape == (2, 9)
    assert matrix.sum(dim=1).tolist() == [4.0, 4.0]
    assert torch.equal(blocks.largest(matrix), codes)


def test_each_block_has_a_softmax_of_its_own(blocks, generator):
    logits = torch.randn(5, blocks.width, generator=generator)

    found = blocks.log_softmax(logits)

    for place in range(len(SIZES)):
        part = column(blocks, place)
        assert torch.allclose(found[:, part], logits[:, part].log_softmax(1))


def test_cross_entropy_is_that_of_torch_column_by_column(blocks, generator):
    logits = torch.randn(5, blocks.width, generator=generator)
    codes = torch.tensor([[2, 1, 0, 0]] * 5)

    found = blocks.cross_entropy(logits, codes)

    for place in range(len(SIZES)):
        part = logits[:, column(blocks, place)]
        expected = torch.nn.functional.cross_entropy(
            part, codes[:, place], reduction="none"
        )
        assert torch.allclose(found[:, place], expected, atol=1e-6)


def test_levels_are_drawn_as_often_as_they_are_likely(generator):
    blocks = Blocks.of((2, 3))
    shares = torch.tensor([0.3, 0.7, 0.1, 0.2, 0.7])

    drawn = blocks.draw(shares.log().expand(20_000, -1), generator)

    found = blocks.one_hot(drawn).mean(dim=0)
    assert torch.allclose(found, shares, atol=0.015)  # four standard errors


def test_a_value_of_each_block_is_spread_over_its_columns(blocks):
    spread = blocks.expanded(torch.tensor([10.0, 20.0, 30.0, 40.0]))

    for place, value in enumerate((10.0, 20.0, 30.0, 40.0)):
        assert (spread[column(blocks, place)] == value).all()


def test_there_may_be_no_blocks_and_no_rows(blocks, generator):
    nothing = Blocks.of(())

    assert nothing.one_hot(torch.zeros(3, 0, dtype=torch.long)).shape == (3, 0)
    assert nothing.draw(torch.zeros(3, 0), generator).shape == (3, 0)
    assert blocks.draw(torch.zeros(0, blocks.width), generator).shape == (0, 4)


# ---- Modes of numbers.


@pytest.fixture
def two_humps(rng):
    """Give 600 numbers around -5, with deviation 0.5, and 300 around 10."""
    return np.concatenate([rng.normal(-5, 0.5, 600), rng.normal(10, 1, 300)])[:, None]


def test_modes_are_found_where_the_numbers_are(two_humps, rng):
    scale = ModeScale.of(two_humps, rng)

    column = scale.columns[0]
    center = scale.scale.restore(column.means[:, None])[:, 0]
    nearest = np.abs(center[:, None] - [-5, 10]).min(axis=1)
    assert len(center) >= 2
    assert (nearest < 2.5).all()


def test_numbers_of_different_humps_have_different_modes(two_humps, rng):
    scale = ModeScale.of(two_humps, rng)

    _, modes = scale.encode(two_humps, rng)

    assert set(modes[:600, 0]).isdisjoint(modes[600:, 0])


def test_numbers_come_back_from_their_place_in_a_mode(two_humps, rng):
    scale = ModeScale.of(two_humps, rng)

    places, modes = scale.encode(two_humps, rng)

    assert np.abs(places).max() <= 0.99
    back = scale.decode(places, modes)
    inside = np.abs(places) < 0.99
    assert np.allclose(back[inside], two_humps[inside])


@pytest.mark.parametrize("factor", [1e-9, 1e12])
def test_the_unit_of_a_column_does_not_matter(two_humps, factor):
    scale, other = (
        ModeScale.of(numbers, np.random.default_rng(0))
        for numbers in (two_humps, two_humps * factor)
    )

    assert scale.sizes == other.sizes
    assert np.allclose(scale.columns[0].means, other.columns[0].means)


def test_a_mode_is_as_likely_as_its_density_at_the_number():
    column = ColumnModes(
        np.array([0.0, 2.0]), np.array([1.0, 0.5]), np.log([0.25, 0.75])
    )

    found = column.responsibilities(np.array([1.2]))

    density = np.array([0.25 * norm.pdf(1.2, 0, 1), 0.75 * norm.pdf(1.2, 2, 0.5)])
    assert np.allclose(found[0], density / density.sum(), atol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_a_constant_comes_back_exactly(rng, n_rows):
    numbers = np.full((n_rows, 1), 7.25)
    scale = ModeScale.of(numbers, rng)

    back = scale.decode(
        np.linspace(-1, 1, n_rows)[:, None], scale.encode(numbers, rng)[1]
    )

    assert back.tolist() == numbers.tolist()


def test_a_column_of_few_values_gets_them_back(rng):
    numbers = np.repeat([[1.0], [2.0], [9.0]], 20, axis=0)
    scale = ModeScale.of(numbers, rng)

    back = scale.decode(*scale.encode(numbers, rng))

    assert np.allclose(back, numbers, atol=0.01)


def test_there_are_no_more_modes_than_rows(rng):
    assert ModeScale.of(np.array([[1.0], [2.0]]), rng).sizes[0] <= 2


# ---- Tables encoded by modes.


def test_rows_come_back_from_their_matrix(build_table, rng):
    numbers = rng.normal(size=80)
    table = build_table(np.arange(80) % 2, numbers, np.arange(80) % 3)
    encoding = ModeEncoding.of(table, rng)

    rows = encoding.rows(table, rng)
    back = encoding.table(rows)

    within = np.abs(rows.places.numpy()[:, 0]) < 0.98
    assert within.mean() > 0.9
    assert np.allclose(back.numeric[within], table.numeric[within], atol=1e-5)
    assert np.array_equal(back.categorical, table.categorical)
    assert np.array_equal(back.target, table.target)


def test_the_matrix_has_places_then_a_one_in_every_block(build_table, rng):
    table = build_table([0, 1, 0, 1], np.array([1.0, 2.0, 3.0, 4.0]), [0, 1, 2, 0])
    encoding = ModeEncoding.of(table, rng)
    rows = encoding.rows(table, rng)

    matrix = encoding.matrix(rows)

    assert matrix.shape == (4, encoding.width)
    assert torch.equal(matrix[:, :1], rows.places)
    assert matrix[:, 1:].sum(dim=1).tolist() == [3.0] * 4  # mode, category, label


# ---- Layers of networks.


def test_first_weights_depend_on_the_generator_alone():
    process = torch.get_rng_state()

    first, again, other = (
        linear(9, 4, torch.Generator().manual_seed(seed)).weight for seed in (1, 1, 2)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), process)


def test_first_weights_are_as_large_as_those_of_torch():
    layer = linear(9, 2000, torch.Generator().manual_seed(0))

    reach = torch.nn.Linear(9, 2000).weight.abs().max()
    assert torch.isclose(layer.weight.abs().max(), reach, atol=0.01)
    assert layer.bias.abs().max() <= 1 / 3


def test_a_perceptron_has_a_layer_for_each_width():
    network = perceptron((5, 7, 3), 2, torch.Generator().manual_seed(0))

    shapes = [tuple(w.shape) for w in network.parameters() if w.ndim == 2]
    assert shapes == [(7, 5), (3, 7), (2, 3)]


def test_dropout_keeps_the_mean():
    dropout = SeededDropout(0.5, torch.Generator().manual_seed(0))

    values = dropout(torch.ones(10_000))

    assert set(values.tolist()) == {0.0, 2.0}
    assert abs(float(values.mean()) - 1.0) < 0.05


def test_generators_follow_the_one_they_are_seeded_from():
    first, again = (generator_from(np.random.default_rng(3)) for _ in range(2))

    assert first.initial_seed() == again.initial_seed()
