import numpy as np
import pytest
from scipy.stats import norm

from tabtap.rivals.matrices import ColumnModes, ModeScale


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
