import sys

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.matrices import join_target
from tabtap.rivals.spada import (
    SPADA,
    Kernel,
    find_parents,
    generation_order,
    given_parents,
)
from tabtap.rivals.spada_flow import FlowSettings
from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame

# ---- SPADA.


GRAPH = {"b": ["a"], "size": ["b"], "c": ["b"]}
QUICK = FlowSettings(n_steps=400)
BRIEF = FlowSettings(n_steps=60)


def draw_chain(n_rows, seed):
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
    return read_frame(pd.DataFrame(draw_chain(500, 0)), "c")


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

    truth = draw_chain(4000, 1)
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


# ---- Its graph of parents.


@pytest.fixture
def chain(read_columns):
    """Give a -> b -> c and a column of noise; the target is c."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b = a + 0.5 * rng.normal(size=300)
    c = b + 0.5 * rng.normal(size=300)
    return join_target(read_columns(a=a, noise=rng.normal(size=300), b=b, c=c))


def test_a_chain_is_found_from_its_end(chain):
    a, noise, b, c = range(4)

    parents = find_parents(chain, first=c, most=3)

    assert parents[c] == ()
    assert parents[b] == (c,)
    assert parents[a] == (b,)  # c says nothing more once b is known
    assert parents[noise] == ()


def test_a_category_is_a_parent_and_a_child(read_columns):
    rng = np.random.default_rng(0)
    colour = np.resize(["red", "green", "blue"], 240)
    x = rng.normal(size=240) + 3.0 * (colour == "red") - 3.0 * (colour == "blue")
    size = np.where(x + 0.3 * rng.normal(size=240) > 0, "large", "small")
    joint = join_target(read_columns(x=x, size=size, colour=colour))

    parents = find_parents(joint, first=2, most=3)

    assert 2 in parents[0]
    assert 0 in parents[1] or 1 in parents[0]


def test_no_column_has_more_parents_than_allowed(read_columns):
    rng = np.random.default_rng(0)
    several = rng.normal(size=(400, 4))
    total = several.sum(axis=1) + 0.1 * rng.normal(size=400)
    joint = join_target(
        read_columns(**dict(zip("abcd", several.T, strict=True)), sum=total)
    )

    parents = {most: find_parents(joint, first=4, most=most) for most in (0, 2)}

    assert {len(some) for some in parents[0]} == {0}
    assert max(len(some) for some in parents[2]) == 2


def test_the_graph_of_the_user_is_taken_by_name():
    found = given_parents(["a", "b", "c"], {"c": ["a", "b", "a"], "b": ["a"]})

    assert found == ((), (0,), (0, 1))


def test_columns_come_after_their_parents():
    order = generation_order(((1, 2), (2,), ()), ["a", "b", "c"])

    assert order == [2, 1, 0]


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(UserInputError, match=r"'d' that the table does not.*'a', 'b'"):
        given_parents(["a", "b"], {"a": ["d"]})


def test_a_cycle_is_refused():
    with pytest.raises(UserInputError, match=r"cycle among or above 'a', 'b'"):
        generation_order(((1,), (0,), ()), ["a", "b", "c"])


# ---- Its kernel densities.


ALL = np.ones(4, dtype=bool)


@pytest.fixture
def kernel():
    """Give four rows: a number far apart in pairs, and a code."""
    parents = np.array([[-9.0, 0], [-9.0, 1], [9.0, 0], [np.nan, 1]])
    return Kernel(parents, np.array([True, False]))


def test_a_row_counts_by_nearness_and_by_its_category(kernel):
    weights = kernel.weights(np.array([[-9.0, 0.0]]), ALL)[0]

    # The second differs in its category alone, which counts a fiftieth.
    assert weights[1] / weights[0] == pytest.approx(0.02)
    assert weights[2] < 1e-12
    assert weights.sum() == pytest.approx(1.0)


def test_a_hole_is_like_a_hole(kernel):
    weights = kernel.weights(np.array([[np.nan, 1.0]]), ALL)[0]

    assert weights.argmax() == 3


def test_without_parents_every_row_counts_the_same():
    kernel = Kernel(np.zeros((4, 0)), np.zeros(0, dtype=bool))

    drawn = kernel.draw(np.zeros((8000, 0)), ALL, np.random.default_rng(0))

    assert np.bincount(drawn) / 8000 == pytest.approx(0.25, abs=0.02)


def test_only_usable_rows_are_drawn(kernel):
    usable = np.array([False, True, False, True])

    drawn = kernel.draw(np.full((600, 2), 9.0), usable, np.random.default_rng(0))

    assert set(drawn.tolist()) <= {1, 3}


def test_numbers_are_drawn_around_those_of_like_rows():
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 200)
    values = np.where(group == 0, -5.0, 5.0) + rng.normal(size=400)
    kernel = Kernel(group[:, None], np.array([False]))

    drawn = kernel.around(values, np.ones((3000, 1)), np.ones(400, dtype=bool), rng)

    upper = drawn[drawn > 0]
    assert len(upper) / 3000 == pytest.approx(1 / 1.02, abs=0.01)
    assert upper.mean() == pytest.approx(5.0, abs=0.2)
