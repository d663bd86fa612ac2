"""polars frames, numpy arrays and targets given apart go out as they came in."""

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from tabtap.errors import BadTableError, UserInputError
from tabtap.table import read_frame, write_frame, write_target

bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck)
)
DAYS = [dt.date(2020, 2, 29), None, dt.date(1900, 1, 1), dt.date(2020, 2, 29)]
MOMENTS = [dt.datetime(2020, 3, 29, 0, 30), None, dt.datetime(1969, 7, 20), None]
POLARS = {
    **{name: [1, None, 3, 100] for name in ("Int8", "Int16", "Int32", "Int64")},
    "UInt8": [1, None, 3, 255],
    "UInt64": [2**64 - 1, None, 3, 2**63],
    "Float32": [0.1, None, float("nan"), -0.0],
    "Float64": [0.1, None, float("nan"), 5e-324],
    "Boolean": [True, None, False, True],
    "String": ["a", None, "日本", ""],
    "Categorical": ["b", None, "a", "b"],
    "Date": DAYS,
}


def check_polars(frame):
    polars = pytest.importorskip("polars")
    testing = pytest.importorskip("polars.testing")

    written = write_frame(read_frame(frame, floor=1))

    testing.assert_frame_equal(frame, written, check_exact=True)
    for name in frame.columns:
        if frame[name].dtype == polars.Float64:
            # A NaN is a NaN: its sign and payload mean nothing and are not kept.
            both = [held[name].fill_null(0).fill_nan(0) for held in (frame, written)]
            assert both[0].to_numpy().tobytes() == both[1].to_numpy().tobytes()


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_come_back(name):
    polars = pytest.importorskip("polars")

    check_polars(polars.DataFrame({"x": POLARS[name]}, {"x": getattr(polars, name)}))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_polars_times_come_back(unit, zone):
    polars = pytest.importorskip("polars")
    times = polars.Series("x", MOMENTS).cast(polars.Datetime(unit))
    if zone is not None:
        times = times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)

    check_polars(times.to_frame())


def test_polars_durations_and_enums_come_back():
    polars = pytest.importorskip("polars")
    spans = polars.Series("span", [1, None, 3, 10**12]).cast(polars.Duration("us"))
    sizes = polars.Series("size", ["S", "L", None, "S"], polars.Enum(["S", "M", "L"]))

    check_polars(polars.DataFrame([spans, sizes]))


@given(
    floats=st.lists(
        st.none() | st.floats(allow_infinity=False), min_size=1, max_size=20
    ),
    seed=st.integers(0, 99),
)
@bounded
def test_any_polars_floats_and_strings_come_back(floats, seed):
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(seed)
    names = rng.choice(["é", "", "b c"], len(floats)).tolist()
    frame = polars.DataFrame(
        {"numbers": polars.Series([*floats, 0.5]), "names": [*names, "é"]}
    )

    check_polars(frame)


def test_reading_pandas_does_not_import_polars():
    program = (
        "import sys, pandas as pd; from tabtap.table import read_frame, write_frame; "
        "write_frame(read_frame(pd.DataFrame({'a': [0.5, 1.5, 2.5] * 4}))); "
        "sys.exit('polars' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@given(
    array=numpy_strategies.arrays(
        dtype=st.sampled_from(
            [np.float64, np.float32, np.int64, np.uint8, np.uint64, np.bool_, "<U4"]
        ),
        shape=numpy_strategies.array_shapes(min_dims=2, max_dims=2, max_side=15),
    )
)
@bounded
def test_any_array_comes_back_bit_for_bit(array):
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array), array, 0).astype(array.dtype)
    kinds = {}
    if array.dtype.kind == "U":
        kinds = dict.fromkeys(range(array.shape[1]), "category")

    written = write_frame(read_frame(array, kinds=kinds, floor=1))

    assert written.dtype == array.dtype
    assert written.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["M8[D]", "M8[ns]", "M8[M]", "m8[h]", ">f8", "f2"])
def test_arrays_of_odd_dtypes_come_back(dtype):
    array = np.arange(24).reshape(12, 2).astype(dtype)

    written = write_frame(read_frame(array))

    assert written.dtype == array.dtype
    assert (written == array).all()


def test_holes_in_an_array_come_back():
    array = np.array([[1.5, np.nan], [np.nan, 2.5], [0.25, 3.5]] * 4)

    written = write_frame(read_frame(array))

    np.testing.assert_array_equal(written, array)


@pytest.mark.parametrize(
    ("array", "widened"),
    [
        (np.arange(24).reshape(12, 2), np.float64),
        (np.arange(24).reshape(12, 2) + 2**60, object),
        (np.array([["a", "b"], ["c", "d"]] * 6), object),
    ],
    ids=["integers", "integers beyond a float", "strings"],
)
def test_an_array_is_widened_only_when_a_hole_has_no_room(array, widened):
    table = read_frame(array, kinds={0: "identifier", 1: "category"})
    redraw = np.zeros((12, 2), dtype=bool)
    redraw[3, 0] = True

    written = write_frame(table.redrawn(redraw, table.numeric, table.categorical))

    assert written.dtype == widened
    assert pd.isna(written).tolist() == redraw.tolist()
    assert (written[~redraw] == array[~redraw]).all()


def test_the_target_given_apart_comes_back_apart():
    features = pd.DataFrame({"a": np.linspace(0, 1, 12)})
    labels = pd.Series([5, -1, 5] * 4, name="label", dtype="int8")
    table = read_frame(features, y=labels)

    pd.testing.assert_frame_equal(write_frame(table), features)
    pd.testing.assert_series_equal(write_target(table), labels)


def test_a_target_is_named_in_one_way_only():
    frame = pd.DataFrame({"a": np.linspace(0, 1, 12)})

    with pytest.raises(UserInputError, match="target='a' and y were both given"):
        read_frame(frame, "a", y=[0, 1] * 6)


def test_a_table_without_a_target_has_none_to_write():
    table = read_frame(pd.DataFrame({"a": np.linspace(0, 1, 12)}))

    assert table.schema.target is None
    with pytest.raises(UserInputError, match="has no target"):
        write_target(table)


@pytest.mark.parametrize(
    "labels",
    [np.array(["u", "v"] * 6), np.array([2.0, 7.0] * 6), np.array([True, False] * 6)],
    ids=["strings", "floats", "bools"],
)
def test_labels_in_an_array_come_back_as_an_array(labels):
    features = np.linspace(0, 1, 24).reshape(12, 2)
    table = read_frame(features, y=labels)

    assert table.schema.target.task == "classification"
    assert write_target(table).dtype == labels.dtype
    assert (write_target(table) == labels).all()
    assert (write_frame(table) == features).all()


def test_a_target_inside_the_frame_can_also_be_written_alone():
    frame = pd.DataFrame({"y": [3, 4] * 6, "a": np.linspace(0, 1, 12)})

    target = write_target(read_frame(frame, "y"))

    pd.testing.assert_series_equal(target, frame["y"])


def test_a_target_with_the_frame_s_row_labels_in_another_order_is_refused():
    frame = pd.DataFrame({"a": np.arange(12.0)}, index=list("abcdefghijkl"))
    y = pd.Series([0, 1] * 6, index=frame.index)

    with pytest.raises(BadTableError, match=r"y\.loc\[frame\.index\]"):
        read_frame(frame, y=y[::-1])


@pytest.mark.parametrize("labels", [range(12), range(100, 112), [0] * 12])
def test_a_target_with_other_row_labels_is_paired_by_position(labels):
    frame = pd.DataFrame({"a": np.arange(12.0)}, index=list("abcdefghijkl"))
    y = pd.Series([0] * 6 + [1] * 6, index=labels)

    assert read_frame(frame, y=y).target.tolist() == [0] * 6 + [1] * 6
