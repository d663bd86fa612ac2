import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.rivals.matrices import join_target
from tabtap.rivals.spada import find_parents, generation_order, given_parents


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
