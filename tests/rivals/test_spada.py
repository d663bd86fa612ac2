import sys

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.spada import SPADA
from tabtap.rivals.spada_flow import FlowSettings
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame

GRAPH = {"b": ["a"], "size": ["b"], "c": ["b"]}
QUICK = FlowSettings(n_steps=400)
BRIEF = FlowSettings(n_steps=60)


def chain(n_rows, seed):
    """Give a -> b -> c and b -> size, all conditionals known."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    b = np.sin(1.5 * a) + 0.2 * rng.normal(size=n_rows)
    c = 2.0 * b + 0.3 * rng.normal(size=n_rows)
    size = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-4 * b)), "large", "small")
    return {"a": a, "b": b, "size": size, "c": c}


def partial_correlation(x, y, given):
    bent = np.column_stack([given**power for power in range(6)])
    left = [v - bent @ np.linalg.lstsq(bent, v, rcond=None)[0] for v in (x, y)]
    return float(np.corrcoef(*left)[0, 1])


@pytest.fixture(scope="module")
def table():
    return read_frame(pd.DataFrame(chain(500, 0)), "c")


@pytest.fixture(scope="module", params=["flow", "kde"])
def rows(request, table):
    method = SPADA(graph=GRAPH, numbers=request.param, flow=QUICK)
    rng = np.random.default_rng(0)
    return request.param, method.make(table, 4000, rng, Stopwatch())


def test_conditionals_of_a_chain_come_back(table, rows):
    how, made = rows
    (a, b), c = made.numeric.T, made.target_values
    large = table.schema.features[2].levels.index("large")

    # A kernel smooths what it sees; a flow need not.
    rough = {"flow": 1.5, "kde": 2.8}[how]
    for low in (-1.5, -0.5, 0.5):
        inside = (a > low) & (a < low + 0.5)
        assert b[inside].mean() == pytest.approx(
            np.sin(1.5 * a[inside]).mean(), abs=0.2
        )
    assert (b - np.sin(1.5 * a)).std() < rough * 0.2
    assert (c - 2 * b).std() < rough * 0.3
    share = (made.categorical[:, 0] == large)[b > 0.5].mean()
    assert share == pytest.approx(0.96, abs=0.06)


def test_the_ends_of_a_chain_are_independent_given_its_middle(rows):
    _, made = rows
    (a, b), c = made.numeric.T, made.target_values

    assert np.corrcoef(a, c)[0, 1] > 0.5
    assert abs(partial_correlation(a, c, b)) < 0.06


def test_a_graph_found_in_the_rows_keeps_the_correlations(table, make_rows):
    made = make_rows(SPADA(flow=QUICK), table, 4000)

    truth = chain(4000, 1)
    real = np.corrcoef([truth["a"], truth["b"], truth["c"]])
    mine = np.corrcoef([*made.numeric.T, made.target_values])
    assert np.abs(mine - real).max() < 0.1


def test_without_an_edge_there_is_no_relation(table, make_rows):
    made = make_rows(SPADA(graph={}, flow=BRIEF), table, 3000)

    columns = [*made.numeric.T, made.target_values]
    off_diagonal = np.corrcoef(columns)[np.triu_indices(3, 1)]
    assert np.abs(off_diagonal).max() < 0.08


def test_numbers_stay_within_the_real_range(table, rows):
    _, made = rows

    assert (made.numeric >= table.numeric.min(axis=0)).all()
    assert (made.numeric <= table.numeric.max(axis=0)).all()
    assert made.target_values.max() <= table.target_values.max()


def test_holes_follow_their_parents(read_columns, make_rows):
    rng = np.random.default_rng(0)
    ill = np.resize([True, False], 300)
    dose = np.where(ill & (rng.random(300) < 0.6), np.nan, rng.normal(size=300))
    train = read_columns(dose=dose, ill=ill)

    made = make_rows(SPADA(graph={"dose": ["ill"]}, flow=QUICK), train, 2000)

    hole, is_ill = made.missing[:, 0] > 0, made.target == 1
    assert hole[is_ill].mean() == pytest.approx(0.6, abs=0.1)
    assert hole[~is_ill].mean() < 0.05


def test_a_graph_that_names_a_stranger_is_refused(table, make_rows):
    with pytest.raises(UserInputError, match="'age' that the table does not have"):
        make_rows(SPADA(graph={"age": ["a"]}), table, 5)


def test_a_missing_package_names_the_extra_that_installs_it(
    table, make_rows, monkeypatch
):
    monkeypatch.setitem(sys.modules, "zuko.transforms", None)

    with pytest.raises(UserInputError, match=r'zuko.*"tabtap\[bench\]"'):
        make_rows(SPADA(), table, 5)


@pytest.mark.parametrize("wrong", [{"numbers": "guess"}, {"max_parents": -1}])
def test_a_setting_that_means_nothing_is_refused(wrong):
    with pytest.raises(UserInputError, match=next(iter(wrong))):
        SPADA(**wrong)
