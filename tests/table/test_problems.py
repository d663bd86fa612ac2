"""Every bad table gets one error that lists all of its problems, each with the fix."""

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import BadTableError, UserInputError
from tabtap.table import MIN_ROWS, read_frame


def frame_with(**columns):
    columns = {"fine": np.linspace(0, 1, 12), "y": ["u", "v"] * 6} | columns
    return pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})


def problems_of(frame, target=None, **settings):
    with pytest.raises(BadTableError) as raised:
        read_frame(frame, target, **settings)
    return raised.value.problems


def objects(*cells):
    return pd.Series(list(cells) * (12 // len(cells)), dtype=object)


BAD_COLUMNS = {
    "infinity": ([0.5] * 5 + [np.inf] + [1.5] * 6, "holds inf (row 5)", "np.nan"),
    "mixed types": (objects(1, "a"), "int 1 (row 0) and str 'a' (row 1)", "one type"),
    "mixed numbers": (objects(1, 2.5), "int 1 (row 0) and float 2.5", "pd.to_numeric"),
    "lists": (objects([1], None), "[1] (row 0), a list inside a cell", "own column"),
    "dicts": (objects({"k": 1}), "a dict inside a cell", "own column"),
    "arrays": (objects(np.arange(2)), "a ndarray inside a cell", "own column"),
    "tuples": (objects((1, 2)), "a tuple inside a cell", "own column"),
    "bytes": (objects(b"a", b"b"), "b'a' (row 0), which is bytes", "decode"),
    "complex numbers": ([1j] * 12, "the complex number 1j (row 0)", "imaginary"),
    "complex objects": (objects(1j), "the complex number 1j (row 0)", "imaginary"),
    "no value": ([np.nan] * 12, "has no value at all", "frame.drop"),
    "no value, as None": (objects(None), "has no value at all", "frame.drop"),
    "periods": (pd.period_range("2020", periods=12, freq="D"), "period[D]", "to_time"),
    "intervals": (pd.interval_range(0, 12), "interval[int64", "astype('category')"),
    "sparse": (pd.arrays.SparseArray([0.0, 1.5] * 6), "Sparse[", "to_dense"),
    "long doubles": (np.zeros(12, np.longdouble), "which is not supported", "astype"),
    "huge integers": (objects(2**70, 1), "beyond 64-bit integers", "astype(float)"),
    "free text": (
        [f"the patient said that it hurts, visit {i}" for i in range(12)],
        "looks like free text, such as 'the patient",
        "Drop it, or keep it for real rows only: kinds={'bad': 'identifier'}",
    ),
    "numbers as text": (
        [f"{i}.5" for i in range(12)],
        "numbers written as text, such as '0.5' (row 0)",
        "pd.to_numeric(frame['bad'])",
    ),
    "dates as text": (
        [f"2020-01-{day:02}" for day in range(1, 13)],
        "dates written as text, such as '2020-01-01' (row 0)",
        "pd.to_datetime(frame['bad'])",
    ),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_a_bad_column_is_named_with_what_was_found_and_the_fix(name):
    cells, found, fix = BAD_COLUMNS[name]

    problems = problems_of(frame_with(bad=cells), "y")

    assert [problem.column for problem in problems] == ["bad"]
    assert found in problems[0].found
    assert fix in problems[0].fix


BAD_TARGETS = {
    "missing labels": (["u", None, "v"] * 4, "auto", "4 missing labels", "row 1"),
    "one class": (["u"] * 12, "auto", "one class only, 'u'", "one class"),
    "all distinct": (list("abcdefghijkl"), "auto", "12 labels occurs once", "'a'"),
    "distinct numbers": (np.linspace(0, 1, 12), "classification", "occurs once", "0.0"),
    "constant number": ([1.5] * 12, "regression", "always 1.5", "regression"),
    "number wanted": (["u", "v"] * 6, "regression", "regression target but", "dtype"),
    "time wanted": (pd.date_range("2020", periods=12), "regression", "but", "datetime"),
    "infinity": ([np.inf] + [1.5, 2.5, 3.5] * 3 + [0.5] * 2, "auto", "inf", "row 0"),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_a_bad_target_is_named_with_what_was_found(name):
    cells, task, found, also = BAD_TARGETS[name]

    problems = problems_of(frame_with(y=cells), "y", task=task)

    assert [problem.column for problem in problems] == ["y"]
    assert found in problems[0].found
    assert also in problems[0].found
    assert problems[0].fix


def test_all_problems_are_reported_together():
    frame = frame_with(a=[np.inf] * 12, b=objects(1, "a"), c=[np.nan] * 12).head(6)

    problems = problems_of(frame, "absent")

    assert [problem.column for problem in problems] == [None, None, "a", "b", "c"]
    with pytest.raises(BadTableError, match="5 problems found"):
        read_frame(frame, "absent")


def test_the_floor_is_stated():
    (problem,) = problems_of(frame_with().head(MIN_ROWS - 1), "y")

    assert problem.found == "has 11 rows, fewer than the floor of 12"
    assert problem.fix == "Collect at least 1 more"


def test_a_table_at_the_floor_is_accepted():
    assert len(read_frame(frame_with().head(MIN_ROWS), "y")) == MIN_ROWS


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (pd.DataFrame(), "has 0 rows"),
        (pd.DataFrame(index=range(12)), "has no feature column"),
        (pd.DataFrame({"a": []}), "has 0 rows"),
        (np.empty((0, 3)), "has 0 rows"),
        (np.empty((12, 0)), "has no feature column"),
        (np.zeros(12), "has 1 dimensions"),
        (np.zeros((2, 2, 2)), "has 3 dimensions"),
        (np.zeros(12, dtype=[("a", int)]), "is an array with named fields"),
        (np.ma.zeros((12, 2)), "is a masked array"),
        ([[1, 2]], "got list"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_table_is_refused(frame, found):
    assert found in [problem.found for problem in problems_of(frame)]


def test_the_target_alone_is_not_a_table():
    (problem,) = problems_of(frame_with()[["y"]], "y")

    assert problem.found == "has no feature column"


def test_columns_of_one_name_are_refused():
    frame = pd.concat([frame_with(), frame_with()[["fine"]]], axis=1)

    (problem,) = problems_of(frame, "y")

    assert (problem.column, problem.found) == ("fine", "occurs more than once")


def test_columns_in_several_levels_are_refused():
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])

    (problem,) = problems_of(frame_with().set_axis(names, axis=1))

    assert problem.found == "has columns in several levels"


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([0, 1], "has 12 rows, but y has 2 labels"),
        (np.zeros((12, 1)), "y has 2 dimensions"),
        (pd.DataFrame({"y": [0, 1] * 6}), "got a DataFrame as y"),
        ("outcome", "got y='outcome'"),
        (5, "got a int as y"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, found):
    (problem,) = problems_of(frame_with()[["fine"]], y=labels)

    assert problem.found == found


@pytest.mark.parametrize(
    ("kinds", "column", "found"),
    [
        ({"other": "category"}, "other", "is named in kinds= but not in the table"),
        ({"fine": "number"}, "fine", "kind 'number' is unknown"),
        ({"fine": "integer"}, "fine", "cannot be integer: not every value is a whole"),
        ({"fine": "datetime"}, "fine", "cannot be datetime: its values are not times"),
        ({"fine": "boolean"}, "fine", "cannot be boolean: it has more than two values"),
        ({"fine": "constant"}, "fine", "cannot be constant: it has more than one"),
        ({"y": "category"}, "y", "is the target, named in kinds="),
    ],
)
def test_an_impossible_override_is_a_problem(kinds, column, found):
    (problem,) = problems_of(frame_with(), "y", kinds=kinds)

    assert problem.column == column
    assert found in problem.found


def test_integers_cannot_be_made_continuous_without_a_float_dtype():
    (problem,) = problems_of(frame_with(n=range(5, 17)), kinds={"n": "continuous"})

    assert problem.found == "cannot be continuous: its values are not floats"


@pytest.mark.parametrize(
    ("setting", "value"), [("task", "cluster"), ("n_bins", 0), ("kinds", ["fine"])]
)
def test_a_bad_setting_is_named(setting, value):
    with pytest.raises(UserInputError, match=rf"{setting}=.* is not usable"):
        read_frame(frame_with(), "y", **{setting: value})
