import tracemalloc

import numpy as np
import pytest

from tabtap.errors import UserInputError
from tabtap.table.distance import (
    DistanceScale,
    nearest,
    two_nearest,
    typical_gap,
)
from tabtap.table.schema import Column, Kind, Schema
from tabtap.table.table import Table


def make_table(numbers, codes=None):
    """Build a table without a target; NaN and -1 are missing."""
    numbers = np.asarray(numbers, dtype=np.float64)
    codes = np.zeros((len(numbers), 0), dtype=int) if codes is None else codes
    codes = np.asarray(codes, dtype=np.int32)
    columns = [
        Column(name=i, kind=Kind.CONTINUOUS, dtype="float64", markers=("nan",))
        for i in range(numbers.shape[1])
    ] + [
        Column(
            name=f"c{i}",
            kind=Kind.CATEGORY,
            dtype="object",
            levels=tuple("abcdefgh"),
            markers=("none",),
        )
        for i in range(codes.shape[1])
    ]
    missing = np.hstack([np.isnan(numbers), codes < 0]).astype(np.int8)
    cells = (*np.nan_to_num(numbers).T, *np.maximum(codes, 0).T)
    n = len(numbers)
    return Table(
        Schema(features=tuple(columns)),
        cells,
        missing,
        np.zeros(n, dtype=np.int32),
        np.arange(n),
        np.full(n, -1),
    )


def random_table(n_rows, n_numbers, n_codes, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, n_numbers)) * 10.0 ** np.arange(n_numbers)
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    return make_table(numbers, rng.integers(-1, 4, size=(n_rows, n_codes)))


def plain_distances(queries, reference, real):
    """Compute what the module's first paragraph says, one pair at a time."""
    spread = np.nanstd(real.numeric, axis=0)
    found = np.empty((len(queries), len(reference)))
    for i in range(len(queries)):
        for j in range(len(reference)):
            terms = []
            for a, b, unit in zip(
                queries.numeric[i], reference.numeric[j], spread, strict=True
            ):
                if np.isnan(a) or np.isnan(b):
                    terms.append(float(np.isnan(a) != np.isnan(b)))
                else:
                    terms.append(((a - b) / unit) ** 2)
            terms += list(queries.categorical[i] != reference.categorical[j])
            found[i, j] = np.sqrt(np.mean(terms))
    return found


@pytest.mark.parametrize(
    ("n_numbers", "n_codes"), [(3, 2), (4, 0), (0, 3)], ids=["mixed", "num", "cat"]
)
def test_the_nearest_row_is_that_of_a_plain_double_loop(n_numbers, n_codes):
    queries = random_table(30, n_numbers, n_codes, seed=0)
    reference = random_table(40, n_numbers, n_codes, seed=1)
    expected = plain_distances(queries, reference, reference)

    distance, row = nearest(queries, reference, DistanceScale.of(reference))

    assert distance == pytest.approx(expected.min(axis=1))
    assert expected[np.arange(30), row] == pytest.approx(distance)


def test_a_row_is_not_its_own_neighbour_when_asked():
    table = random_table(25, 2, 2, seed=0)
    expected = plain_distances(table, table, table)
    np.fill_diagonal(expected, np.inf)

    distance, row = nearest(table, table, DistanceScale.of(table), exclude_self=True)

    assert distance == pytest.approx(expected.min(axis=1))
    assert (row != np.arange(25)).all()


def test_equal_rows_are_at_distance_zero_exactly():
    # Far from the mean, where sums of products would leave rounding behind.
    numbers = np.array([[0.1], [0.3], [12345678.9]])
    table = make_table(numbers)

    distance, row = nearest(table, table, DistanceScale.of(table))

    assert distance.tolist() == [0.0, 0.0, 0.0]
    assert row.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(np.nan, np.nan, 0.0), (np.nan, 1.0, 1.0), (7.0, np.nan, 1.0), (1.0, 3.0, 2.0)],
)
def test_a_missing_number_differs_by_one_from_any_value(left, right, expected):
    scale = DistanceScale.of(make_table([[1.0], [3.0]]))  # deviation 1

    distance, _ = nearest(make_table([[left]]), make_table([[right]]), scale)

    assert distance.tolist() == [expected]


def test_a_column_constant_in_the_real_rows_contributes_nothing():
    scale = DistanceScale.of(make_table([[1.0, 5.0], [3.0, 5.0]]))

    distance, _ = nearest(make_table([[1.0, 5.0]]), make_table([[3.0, 900.0]]), scale)

    assert distance == pytest.approx([np.sqrt(2.0**2 / 2)])


def test_the_distance_does_not_grow_with_the_number_of_columns():
    for width in (1, 50):
        real = make_table(np.repeat([[1.0], [3.0]], width, axis=1))

        distance, _ = nearest(real, real, DistanceScale.of(real), exclude_self=True)

        assert distance == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("chunk_bytes", [1, 3000, 10**6])
def test_the_result_does_not_depend_on_the_chunks(chunk_bytes):
    queries, reference = random_table(50, 3, 2, 0), random_table(31, 3, 2, 1)
    scale = DistanceScale.of(reference)

    whole = nearest(queries, reference, scale)
    parts = nearest(queries, reference, scale, chunk_bytes=chunk_bytes)

    assert parts[0] == pytest.approx(whole[0])
    assert parts[1].tolist() == whole[1].tolist()


def test_memory_is_bounded_by_the_chunk_and_the_tables():
    queries, reference = random_table(20_000, 4, 4, 0), random_table(1000, 4, 4, 1)
    scale = DistanceScale.of(reference)

    tracemalloc.start()
    nearest(queries, reference, scale, chunk_bytes=2**22)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # All distances at once would take 160 MB.
    assert peak < 2 * 2**22 + 6 * 20_000 * 8 * 8


def test_more_mismatches_than_a_byte_can_count_are_counted():
    # 256 mismatches would pass for none in a byte; one mismatch is nearer.
    query = np.zeros((1, 300), dtype=int)
    reference = np.zeros((2, 300), dtype=int)
    reference[0, :256] = 1
    reference[1, 0] = 1
    tables = [make_table(np.zeros((len(c), 0)), c) for c in (query, reference)]

    distance, row = nearest(*tables, DistanceScale.of(tables[1]))

    assert row.tolist() == [1]
    assert distance == pytest.approx([np.sqrt(1 / 300)])


def test_there_is_no_nearest_row_in_an_empty_table():
    table = random_table(3, 1, 1, 0)

    distance, row = nearest(table, table.empty(), DistanceScale.of(table))

    assert np.isinf(distance).all()
    assert row.tolist() == [-1, -1, -1]


def test_a_single_row_has_no_neighbour_but_itself():
    table = random_table(1, 1, 1, 0)

    distance, row = nearest(table, table, DistanceScale.of(table), exclude_self=True)

    assert (np.isinf(distance).all(), row.tolist()) == (True, [-1])


def test_excluding_rows_of_another_table_is_refused():
    table = random_table(5, 1, 1, 0)
    scale = DistanceScale.of(table)

    with pytest.raises(UserInputError, match="5 query rows and 0 reference rows"):
        nearest(table, table.empty(), scale, exclude_self=True)


def test_the_typical_gap_is_the_median_nearest_distance():
    table = make_table([[0.0], [1.0], [3.0], [7.0]])  # gaps 1, 1, 2, 4
    spread = np.std([0.0, 1.0, 3.0, 7.0])

    gap = typical_gap(table, DistanceScale.of(table))

    assert gap == pytest.approx(1.5 / spread)


def test_the_typical_gap_of_a_long_table_is_taken_over_some_rows():
    table = make_table(np.arange(5000.0)[:, None])

    gap = typical_gap(table, DistanceScale.of(table))

    assert gap == pytest.approx(1.0 / np.arange(5000.0).std())


def test_the_two_nearest_rows_are_those_of_sorted_distances():
    rng = np.random.default_rng(0)
    left, right = (
        make_table(rng.normal(size=(9, 3))),
        make_table(rng.normal(size=(7, 3))),
    )
    scale = DistanceScale.of(right)
    unit = right.numeric.std(axis=0)

    found = two_nearest(left, right, scale)
    among = two_nearest(right, right, scale, exclude_self=True)

    def distances(a, b):
        off = (a.numeric[:, None] - b.numeric[None]) / unit
        return np.sort(np.sqrt((off**2).mean(axis=2)), axis=1)

    assert found == pytest.approx(distances(left, right)[:, :2])
    assert among == pytest.approx(distances(right, right)[:, 1:3])


def test_a_single_row_has_no_second_neighbour():
    one, two = make_table([[0.0]]), make_table([[0.0], [1.0]])

    assert two_nearest(two, one, DistanceScale.of(two))[:, 1].tolist() == [np.inf] * 2
    assert np.isinf(
        two_nearest(one, one, DistanceScale.of(two), exclude_self=True)
    ).all()
