import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from tabtap.fidelity import Closeness, measure_closeness


@pytest.fixture
def clouds(build_table, rng):
    """Two numbers of very different units, real and synthetic."""
    left, right = rng.normal(size=(40, 2)), rng.normal(size=(25, 2))
    unit = np.array([1.0, 1000.0])
    tables = [
        build_table(np.zeros(len(x), int), *(x * unit).T.copy()) for x in (left, right)
    ]
    return tables, [x / left.std(axis=0) for x in (left, right)]


def test_distances_are_those_of_a_neighbour_search_on_standardised_numbers(clouds):
    (real, synthetic), (left, right) = clouds

    found = measure_closeness(real, synthetic)

    search = NearestNeighbors(n_neighbors=2).fit(left)
    distance, row = search.kneighbors(right)
    assert found.distance == pytest.approx(distance[:, 0] / np.sqrt(2))
    assert found.row.tolist() == row[:, 0].tolist()
    # The first neighbour of a real row is itself.
    baseline = search.kneighbors(left)[0][:, 1] / np.sqrt(2)
    assert found.baseline == pytest.approx(baseline)
    assert found.threshold == pytest.approx(np.quantile(baseline, 0.05))
    assert found.reach == pytest.approx(baseline.max())
    expected = distance[:, 0] / np.sqrt(2) < np.quantile(baseline, 0.05)
    assert found.nearer.tolist() == expected.tolist()


def test_copies_are_counted_whatever_their_label(build_table):
    x = np.array([0.0, 1.0, 2.0, 4.0, np.nan])
    real = build_table(np.array([0, 1, 0, 1, 0]), x)
    synthetic = build_table(np.array([1, 1, 0]), np.array([0.0, np.nan, 1.5]))

    found = measure_closeness(real, synthetic)

    assert found.exact.tolist() == [True, True, False]
    assert found.near.tolist() == [True, True, False]


def test_a_row_within_a_tenth_of_the_usual_gap_is_nearly_a_copy(build_table):
    real = build_table(np.zeros(5, int), np.arange(5.0))  # gaps of 1
    synthetic = build_table(np.zeros(2, int), np.array([2.09, 2.11]))

    assert measure_closeness(real, synthetic).near.tolist() == [True, False]


def test_a_long_table_has_the_baseline_of_some_of_its_rows(build_table, monkeypatch):
    monkeypatch.setattr("tabtap.fidelity.MAX_BASELINE_ROWS", 5)
    real = build_table(np.zeros(21, int), np.arange(21.0))

    found = measure_closeness(real, real.empty())

    # Rows 0, 5, 10, 15 and 20 are chosen, and each has a neighbour one step away.
    step = 1 / np.arange(21.0).std()
    assert found.baseline == pytest.approx([step] * 5)


def test_a_single_real_row_has_no_baseline(build_table):
    real = build_table(np.zeros(1, int), np.array([3.0]))
    synthetic = build_table(np.zeros(2, int), np.array([3.0, 4.0]))

    found = measure_closeness(real, synthetic)

    assert np.isnan(found.threshold)
    assert np.isnan(found.reach)
    assert not found.nearer.any()
    assert found.near.tolist() == [True, False]


def test_no_synthetic_rows_leave_the_baseline(build_table, rng):
    real = build_table(np.zeros(9, int), rng.normal(size=9))

    found = measure_closeness(real, real.empty())

    assert isinstance(found, Closeness)
    assert len(found.distance) == len(found.nearer) == len(found.near) == 0
    assert len(found.baseline) == 9
