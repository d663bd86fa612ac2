"""Equations 23 to 26: committed pools change the table, and their gains add up."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.evaluate.learners import encode
from tabtap.study.theory import committed_pools, telescope, training_sets
from tabtap.table.table import concat


@pytest.fixture
def pools(make_rows):
    return [make_rows(seed, 10) for seed in range(4)]


ACCEPTED = [True, False, True, False]


def test_equation_23_a_refused_pool_is_empty(pools):
    committed = committed_pools(pools, ACCEPTED)

    assert [len(pool) for pool in committed] == [10, 0, 10, 0]


def test_equation_24_the_table_grows_by_what_was_committed(real, pools):
    sets = training_sets(real, committed_pools(pools, ACCEPTED))

    assert [len(table) for table in sets] == [30, 40, 40, 50, 50]
    by_hand = concat([real, pools[0], pools[2]])
    assert np.array_equal(sets[-1].cells[0], by_hand.cells[0])


def test_equations_25_and_26_gains_of_pools_add_up_to_that_of_the_run(
    real, pools, make_rows
):
    queries = make_rows(99, 50)

    def loss(table):
        seen, (asked,) = encode(table, [queries])
        stated = LogisticRegression().fit(seen, table.target).predict_proba(asked)
        return -np.log(stated[np.arange(50), queries.target]).mean()

    found = telescope(training_sets(real, committed_pools(pools, ACCEPTED)), loss)

    assert found.gains[[1, 3]].tolist() == [0.0, 0.0]
    assert np.abs(found.gains[[0, 2]]).min() > 0
    assert found.whole == loss(real) - loss(concat([real, pools[0], pools[2]]))
    assert found.gap < 1e-12
