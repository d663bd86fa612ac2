from dataclasses import replace

import numpy as np
import pytest

from tabtap.domain.judgement import table_sha256


@pytest.fixture
def table(build_table):
    return build_table([0, 1, 0], np.array([1.0, np.nan, 3.0]), np.array([0, 1, -1]))


def test_equal_rows_have_equal_fingerprints(table):
    assert table_sha256(table) == table_sha256(table.take(np.arange(3)))
    assert len(table_sha256(table.empty())) == 64


def test_what_lies_under_a_hole_does_not_count(table):
    cells = (np.array([1.0, 99.0, 3.0]), table.cells[1])

    assert table_sha256(replace(table, cells=cells)) == table_sha256(table)


def test_where_rows_come_from_does_not_count(table):
    assert table_sha256(table.with_origin(unseen_fold=4)) == table_sha256(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.take(np.array([0, 2, 1])),
        lambda t: t.take(np.arange(2)),
        lambda t: replace(t, target=t.target[::-1] + 1),
        lambda t: replace(t, missing=np.zeros_like(t.missing)),
        lambda t: replace(t, cells=(t.cells[0] + 1e-15, t.cells[1])),
    ],
    ids=["order", "fewer rows", "target", "holes", "last bit of a cell"],
)
def test_any_change_of_the_rows_shows(table, change):
    assert table_sha256(change(table)) != table_sha256(table)


def test_the_byte_order_of_the_machine_does_not_matter(table):
    swapped = tuple(cell.astype(cell.dtype.newbyteorder(">")) for cell in table.cells)

    assert table_sha256(replace(table, cells=swapped)) == table_sha256(table)
