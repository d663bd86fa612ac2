import numpy as np
import pytest

from tabtap.rivals.spada import Kernel

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
