import numpy as np
import pytest

from tabtap.table import Column, Kind, Schema


def column(kind, dtype, **settings):
    return Column(name="x", kind=kind, dtype=dtype, **settings)


@pytest.mark.parametrize(
    ("kind", "dtype", "storage"),
    [
        (Kind.CONTINUOUS, "float32", "float64"),
        (Kind.INTEGER, "int8", "int64"),
        (Kind.INTEGER, "UInt64", "uint64"),
        (Kind.INTEGER, "uint64[arrow]", "uint64"),
        (Kind.INTEGER, "float64", "int64"),
        (Kind.DATETIME, "datetime64[ns, UTC]", "int64"),
        (Kind.CATEGORY, "str[python]", "int32"),
        (Kind.IDENTIFIER, "int64", "int32"),
    ],
)
def test_cells_are_stored_without_loss(kind, dtype, storage):
    assert column(kind, dtype).storage == np.dtype(storage)


def test_drawn_integers_land_on_the_grid():
    grid = column(Kind.INTEGER, "int64", base=3, step=5)

    assert grid.store(np.array([2.9, 5.4, 5.6, -8.0])).tolist() == [3, 3, 8, -7]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int8", -128, 127),
        ("UInt8", 0, 255),
        ("int64", -(2**63), 2**63 - 1),
        ("uint64", 0, 2**64 - 1),
        ("object[int]", -(2**63), 2**63 - 1),
        ("int16[arrow]", -(2**15), 2**15 - 1),
        ("float32", -(2**24), 2**24),
        ("float64", -(2**53), 2**53),
        ("timedelta64[ns]", -(2**63 - 1), 2**63 - 1),
        ("date", -719_162, 2_932_896),
    ],
)
def test_a_drawn_number_out_of_range_is_moved_to_the_nearest_one(dtype, low, high):
    kind = Kind.DATETIME if dtype[:4] in ("date", "time") else Kind.INTEGER
    drawn = np.array([-np.inf, -1e30, 1e30, np.inf])

    stored = column(kind, dtype).store(drawn)

    assert [int(number) for number in stored] == [low, low, high, high]


def test_a_number_moved_into_range_stays_on_the_grid():
    grid = column(Kind.INTEGER, "int8", base=0, step=50)

    assert grid.store(np.array([-900.0, 900.0])).tolist() == [-100, 100]


@pytest.mark.parametrize(("base", "dtype"), [(2**60, "int64"), (2**63, "uint64")])
def test_steps_from_a_huge_base_are_exact(base, dtype):
    grid = column(Kind.INTEGER, dtype, base=base, step=1)

    stored = grid.store(np.array([float(base), float(base + 4096)]))

    assert [int(number) for number in stored] == [base, base + 4096]


def test_quick_and_careful_arithmetic_agree():
    drawn = np.random.default_rng(0).normal(scale=1e6, size=200)
    quick = column(Kind.INTEGER, "int64", base=7, step=3)
    # An unsigned column always takes the careful path; its cut-off is 0.
    careful = column(Kind.INTEGER, "uint64", base=7, step=3)

    positive = np.abs(drawn)

    assert quick.store(positive).tolist() == careful.store(positive).tolist()


def test_drawn_floats_are_rounded_to_the_decimals():
    drawn = np.array([1.2345, -0.005001, 1e308])

    stored = column(Kind.CONTINUOUS, "float64", decimals=2).store(drawn)

    assert stored.tolist() == [1.23, -0.01, 1e308]


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float32[arrow]", "float16"])
def test_drawn_floats_fit_their_dtype(dtype):
    narrow = dtype.partition("[")[0].lower()

    stored = column(Kind.CONTINUOUS, dtype).store(np.array([0.1, 1e300]))

    assert (stored == stored.astype(narrow)).all()
    assert stored[1] == np.finfo(narrow).max


def test_positions_count_features_of_each_side():
    kinds = [Kind.CATEGORY, Kind.CONTINUOUS, Kind.IDENTIFIER, Kind.DATETIME]
    kinds += [Kind.BOOLEAN, Kind.CONSTANT, Kind.INTEGER]
    schema = Schema(features=tuple(column(kind, "int64") for kind in kinds))

    assert schema.numeric.tolist() == [1, 3, 6]
    assert schema.categorical.tolist() == [0, 4]
    assert schema.n_conditions == 1
