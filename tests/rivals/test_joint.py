import numpy as np
import pytest

from tabtap.rivals.matrices import join_target, split_target, whole_rows
from tabtap.table import read_frame


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
    steps = [0.25, 0.5, np.nan, 1.0] * 3
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
