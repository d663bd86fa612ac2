from dataclasses import replace

import numpy as np
import pytest

from tabtap.table.table import ancestor_rows


@pytest.fixture
def real(build_table):
    table = build_table([0, 1, 0], np.arange(3.0))
    return replace(table, origin=np.array([30, 10, 20]))


def descendants(real, origins):
    rows = real.take(np.zeros(len(origins), dtype=np.int64))
    return replace(rows, origin=np.array(origins, dtype=np.int64))


def test_a_row_descends_from_the_real_row_of_its_origin(real):
    rows = descendants(real, [10, 20, 30, 10])

    assert ancestor_rows(real, rows).tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("origin", [-1, 5, 15, 99])
def test_a_row_of_no_origin_or_another_tables_has_no_ancestor(real, origin):
    assert ancestor_rows(real, descendants(real, [origin])).tolist() == [-1]


def test_rows_without_origin_do_not_descend_from_one_another(real):
    nameless = descendants(real, [-1, -1])

    assert ancestor_rows(nameless, nameless).tolist() == [-1, -1]


def test_without_real_rows_there_are_no_ancestors(real):
    rows = descendants(real, [10, -1])

    assert ancestor_rows(real.empty(), rows).tolist() == [-1, -1]


def test_no_rows_have_no_ancestors(real):
    assert ancestor_rows(real, real.empty()).shape == (0,)
