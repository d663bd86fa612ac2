import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from tabtap.errors import BadTableError, UserInputError
from tabtap.table import Kind, read_frame, write_frame, write_target

# ---- Read then write is the identity: each dtype by hand, then any that is drawn.


bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck)
)
TEXTS = ["", " ", "é", "日本", "a\x00b", "\U0001f427", "NaN", "None", "x" * 300]
FLOATS = [0.0, -0.0, 1e-308, 5e-324, 1.7e308, -1.5, 0.1, 1 / 3, 2.0**60]
INTEGERS = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 12]


def objects(values):
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return pd.Series(cells, dtype=object)


def same_bits(left, right):
    for name in left.columns:
        ours, theirs = left[name], right[name]
        if ours.dtype.kind == "f" and isinstance(ours.dtype, np.dtype):
            kept = ~np.isnan(ours.to_numpy())
            bits = f"u{ours.dtype.itemsize}"
            assert (
                ours.to_numpy()[kept].view(bits) == theirs.to_numpy()[kept].view(bits)
            ).all()
        if ours.dtype == object:
            assert list(map(type, ours)) == list(map(type, theirs))
            holes = ours.isna()
            forms = zip(ours[holes], theirs[holes], strict=True)
            assert all(a is b or (a != a and b != b) for a, b in forms)


def check_identity(frame, **settings):
    written = write_frame(read_frame(frame, floor=1, **settings), index=frame.index)

    pd.testing.assert_frame_equal(
        frame, written, check_exact=True, check_column_type="exact", check_freq=False
    )
    same_bits(frame, written)


MOMENTS = pd.to_datetime(
    ["2020-03-29 00:30", None, "2020-10-25 00:30", "1969-07-20 20:17"]
)
MOMENTS_US = MOMENTS.as_unit("us")
BY_HAND = {
    **{f"int{b}": pd.Series([1, -2, 3, 7], dtype=f"int{b}") for b in (8, 16, 32, 64)},
    **{f"uint{b}": pd.Series([1, 2, 3, 7], dtype=f"uint{b}") for b in (8, 16, 32, 64)},
    "int beyond a float": pd.Series([2**63 - 1, -(2**63), 2**53 + 1, 0]),
    "uint beyond an int": pd.Series([2**64 - 1, 1, 2, 2**63], dtype="uint64"),
    **{
        f"float{b}": pd.Series([0.1, np.nan, -0.0, 1e-7], dtype=f"float{b}")
        for b in (16, 32, 64)
    },
    "extreme floats": pd.Series([5e-324, 1.7976931348623157e308, -0.0, 0.0]),
    "whole floats": pd.Series([1.0, np.nan, 3.0, 1e6]),
    "bool": pd.Series([True, False, True, True]),
    **{f"Int{b}": pd.Series([1, None, 3, 9], dtype=f"Int{b}") for b in (8, 16, 32, 64)},
    "UInt64": pd.Series([2**64 - 1, None, 3, 9], dtype="UInt64"),
    "Float32": pd.Series([0.1, None, 3, 9], dtype="Float32"),
    "Float64": pd.Series([0.1, None, 3, 9], dtype="Float64"),
    "Float64 with NaN and NA": pd.Series(
        pd.arrays.FloatingArray(
            np.array([1.5, np.nan, 2.5, 0.0]), np.array([False, False, False, True])
        )
    ),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "string": pd.Series(["a", None, "b", "日本"], dtype="string"),
    "string in python": pd.Series(["a", None, "b", "é"], dtype="string[python]"),
    "inferred strings": pd.Series(["a", None, "b", "é"]),
    "object strings": objects(["a", None, float("nan"), pd.NA]),
    "object holes": objects([1, pd.NaT, None, 5]),
    "object bools": objects([True, None, False, True]),
    "object ints": objects([2**62 + 1, 2, 3, 9]),
    "object floats": objects([0.5, None, -0.0, 9.25]),
    "numpy ints in objects": objects([np.int16(3), np.int16(4), np.int16(9), None]),
    "numpy bools in objects": objects([np.True_, np.False_, np.True_, None]),
    "object dates": objects([dt.date(2020, 2, 29), None, dt.date(1, 1, 1), None]),
    "decimals": objects([Decimal("1.10"), Decimal("2"), None, Decimal("1.10")]),
    "timestamps in objects": objects([pd.Timestamp("2020"), None, None, None]),
    "category with unused levels": pd.Series(
        pd.Categorical(["b", None, "a", "b"], categories=["z", "b", "a"], ordered=True)
    ),
    "category of ints": pd.Series([3, 1, 3, 2], dtype="category"),
    "category of times": pd.Series(MOMENTS, dtype="category"),
    "category of intervals": pd.cut(pd.Series([1.0, 5.0, 9.0, np.nan]), 3),
    **{unit: pd.Series(MOMENTS.as_unit(unit)) for unit in ("s", "ms", "us", "ns")},
    "time zone": pd.Series(MOMENTS.tz_localize("UTC").tz_convert("Europe/Berlin")),
    "time zone in us": pd.Series(MOMENTS_US.tz_localize("Asia/Kathmandu")),
    "fixed offset": pd.Series(
        MOMENTS.tz_localize("UTC").tz_convert(dt.timezone(dt.timedelta(hours=2)))
    ),
    "durations": pd.Series(pd.to_timedelta([1, None, 3, 10**15], unit="ns")),
    "durations in seconds": pd.Series(pd.to_timedelta([1, 2, 3, 9], unit="s")).astype(
        "timedelta64[s]"
    ),
    "constant": pd.Series(["only"] * 4),
    "constant time": pd.Series([pd.Timestamp("2020", tz="UTC")] * 4),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_every_dtype_comes_back_bit_for_bit(name):
    frame = pd.DataFrame({"column": BY_HAND[name]})

    check_identity(frame)


@pytest.mark.parametrize("kind", ["category", "identifier", "ordered category"])
@pytest.mark.parametrize("name", BY_HAND)
def test_every_dtype_comes_back_when_its_kind_is_overridden(name, kind):
    frame = pd.DataFrame({"column": BY_HAND[name]})

    check_identity(frame, kinds={"column": kind})


@pytest.mark.parametrize(
    ("arrow_type", "values"),
    [
        ("int8", [1, None, 3]),
        ("uint64", [2**64 - 1, None, 3]),
        ("float32", [0.1, None, 2.5]),
        ("float64", [0.1, None, -0.0]),
        ("bool_", [True, None, False]),
        ("string", ["a", None, "é"]),
        ("date32", [dt.date(2020, 1, 1), None, dt.date(1900, 1, 1)]),
    ],
)
def test_arrow_columns_come_back(arrow_type, values):
    pyarrow = pytest.importorskip("pyarrow")
    dtype = pd.ArrowDtype(getattr(pyarrow, arrow_type)())

    check_identity(pd.DataFrame({"column": pd.Series(values, dtype=dtype)}))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_arrow_times_come_back(unit, zone):
    pyarrow = pytest.importorskip("pyarrow")
    moments = MOMENTS if zone is None else MOMENTS.tz_localize("UTC")
    dtype = pd.ArrowDtype(pyarrow.timestamp(unit, zone))

    check_identity(pd.DataFrame({"column": pd.Series(moments).astype(dtype)}))


def columns(n_rows):
    """Return a strategy for a pandas column of any dtype, holes included."""

    def series(values, dtype, hole=None):
        cell = st.sampled_from(values)
        cell = cell if hole is None else cell | st.just(hole)
        cells = st.lists(cell, min_size=n_rows, max_size=n_rows)
        cells = cells.filter(lambda row: any(c is not hole for c in row))
        return cells.map(lambda row: pd.Series(objects(row), dtype=dtype))

    holes = st.sampled_from([None, float("nan"), pd.NA])
    return st.one_of(
        st.lists(
            st.floats(allow_infinity=False, allow_nan=False),
            min_size=n_rows,
            max_size=n_rows,
        ).map(pd.Series),
        series(FLOATS, "float64", float("nan")),
        series([0.0, -0.0, 0.1, 3.25], "float32", float("nan")),
        series(FLOATS, "Float64", pd.NA),
        series(INTEGERS, "int64"),
        series(INTEGERS, "Int64", pd.NA),
        series([1, 2**64 - 1, 2**63], "uint64"),
        series([0, 1, 255], "UInt8", pd.NA),
        series([True, False], "bool"),
        series([True, False], "boolean", pd.NA),
        series(TEXTS, "string", pd.NA),
        holes.flatmap(lambda hole: series(TEXTS, object, hole)),
        holes.flatmap(lambda hole: series(INTEGERS, object, hole)),
        holes.flatmap(lambda hole: series([True, False], object, hole)),
        series(TEXTS, pd.CategoricalDtype([*TEXTS, "unused"]), None),
        series(list(MOMENTS.dropna()), "datetime64[ns]", pd.NaT),
        series(list(MOMENTS.dropna()), "datetime64[ns, UTC]", pd.NaT),
        series([pd.Timedelta(1), pd.Timedelta("9D")], "timedelta64[ns]", pd.NaT),
    )


@st.composite
def frames(draw, max_columns=6):
    n_rows = draw(st.integers(1, 20))
    n_columns = draw(st.integers(1, max_columns))
    drawn = [draw(columns(n_rows)) for _ in range(n_columns)]
    names = draw(
        st.lists(
            st.text(max_size=5) | st.integers(),
            min_size=n_columns,
            max_size=n_columns,
            unique=True,
        )
    )
    frame = pd.DataFrame(dict(enumerate(drawn)))
    frame.columns = pd.Index(names, dtype=object, name=draw(st.none() | st.text()))
    return frame


@given(frame=frames())
@bounded
def test_any_frame_comes_back_bit_for_bit(frame):
    # Free text and numbers written as text would be refused, rightly.
    texts = {
        name: "category"
        for name in frame.columns
        if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
    }

    check_identity(frame, kinds=texts)


def test_three_hundred_columns_come_back():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 300)))

    check_identity(frame)


def test_a_target_in_the_middle_keeps_its_place():
    frame = pd.DataFrame({"a": [0.5, 1.5] * 6, "y": ["u", "v"] * 6, "b": range(12)})

    written = write_frame(read_frame(frame, "y"))

    pd.testing.assert_frame_equal(frame, written)


def test_rows_are_labelled_only_when_labels_are_passed():
    frame = pd.DataFrame({"a": np.linspace(0, 1, 12)}, index=list("abcdefghijkl"))
    table = read_frame(frame)

    assert write_frame(table).index.equals(pd.RangeIndex(12))
    pd.testing.assert_frame_equal(write_frame(table, index=frame.index), frame)
    with pytest.raises(UserInputError, match="index has 3 labels but there are 12"):
        write_frame(table, index=[1, 2, 3])


@pytest.mark.parametrize(
    ("column", "widened"),
    [
        (pd.Series(range(100, 112), dtype="int16"), "Int16"),
        (pd.Series([True, False] * 6), "boolean"),
        (pd.Series(range(100, 112), dtype="Int64"), "Int64"),
    ],
    ids=["int16", "bool", "already nullable"],
)
def test_a_dtype_is_widened_only_when_a_hole_has_no_room(column, widened):
    frame = pd.DataFrame({"key": column, "x": np.linspace(0, 1, 12)})
    table = read_frame(frame, kinds={"key": "identifier"})
    redraw = np.zeros((12, 2), dtype=bool)
    redraw[3, 0] = True

    written = write_frame(table.redrawn(redraw, table.numeric, table.categorical))

    assert str(written["key"].dtype) == widened
    assert written["key"].isna().tolist() == redraw[:, 0].tolist()
    assert (written["key"].drop(3) == frame["key"].drop(3)).all()
    pd.testing.assert_series_equal(written["x"], frame["x"])


def test_rows_start_as_their_own_origin():
    table = read_frame(pd.DataFrame({"a": np.linspace(0, 1, 12)}))

    assert table.origin.tolist() == list(range(12))
    assert set(table.unseen_fold.tolist()) == {-1}
    assert table.schema.features[0].kind is Kind.CONTINUOUS


# ---- polars frames, numpy arrays and targets given apart go out as they came in.


DAYS = [dt.date(2020, 2, 29), None, dt.date(1900, 1, 1), dt.date(2020, 2, 29)]
DATETIMES = [dt.datetime(2020, 3, 29, 0, 30), None, dt.datetime(1969, 7, 20), None]
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
    times = polars.Series("x", DATETIMES).cast(polars.Datetime(unit))
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
