import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tabtap.errors import FileFormatError, UserInputError
from tabtap.table import read_frame, schema_from_json, schema_to_json, write_frame
from tabtap.table.saved_schema import level_from_json, level_to_json


def through_json(saved):
    return json.loads(json.dumps(saved, allow_nan=False))


@pytest.fixture
def frame():
    labels = pd.Categorical(["u", "v"] * 6, categories=["w", "v", "u"], ordered=True)
    return pd.DataFrame(
        {
            "size": np.linspace(0, 1, 12).round(3),
            "count": np.arange(12) * 3 + 2**60,
            "when": pd.date_range("2020", periods=12, tz="Europe/Berlin"),
            "wave": [pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2021", tz="UTC")]
            * 6,
            "name": ["a", None, "日本"] * 4,
            "flag": pd.array([True, None, False] * 4, dtype="boolean"),
            "band": pd.cut(np.arange(12), 3),
            5: "constant",
            "label": labels,
        }
    )


@pytest.mark.parametrize(
    "value",
    [
        "text",
        "",
        1,
        2**70,
        True,
        1.0,
        -0.0,
        0.1,
        float("inf"),
        None,
        np.int8(1),
        np.float32(0.1),
        np.True_,
        np.str_("é"),
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
        pd.Timestamp("2020-03-29 01:30", tz="Europe/Berlin").as_unit("s"),
        pd.Timedelta("1ns"),
        dt.date(2020, 2, 29),
        dt.datetime(2020, 2, 29, 1, 2, 3, 4),
        dt.time(1, 2),
        Decimal("1.10"),
        pd.Interval(0.1, 0.5, closed="left"),
        ("a", 1),
    ],
    ids=repr,
)
def test_a_level_keeps_its_exact_value_and_type(value):
    loaded = level_from_json(through_json(level_to_json(value)))

    assert type(loaded) is type(value)
    assert repr(loaded) == repr(value)
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        assert loaded.unit == value.unit


@pytest.mark.parametrize("hole", [pd.NA, pd.NaT], ids=["NA", "NaT"])
def test_a_hole_among_names_is_kept(hole):
    assert level_from_json(through_json(level_to_json(hole))) is hole


def test_a_schema_comes_back_equal(frame):
    for target in ("label", "size", None):
        schema = read_frame(frame, target).schema

        assert schema_from_json(through_json(schema_to_json(schema))) == schema


def test_a_table_is_written_the_same_under_a_loaded_schema(frame):
    table = read_frame(frame, "label")
    schema = schema_from_json(through_json(schema_to_json(table.schema)))

    written = write_frame(
        type(table)(
            schema,
            table.cells,
            table.missing,
            table.target,
            table.origin,
            table.unseen_fold,
        )
    )

    pd.testing.assert_frame_equal(written, frame, check_exact=True)


def test_values_of_identifiers_are_never_written():
    names = [f"patient-{i}" for i in range(12)]
    frame = pd.DataFrame(
        {"who": names, "cat": pd.Categorical(names), "x": np.linspace(0, 1, 12)}
    )
    table = read_frame(frame, kinds={"cat": "identifier"})

    saved = through_json(schema_to_json(table.schema))

    assert "patient-" not in json.dumps(saved)
    loaded = type(table)(
        schema_from_json(saved),
        table.cells,
        table.missing,
        table.target,
        table.origin,
        table.unseen_fold,
    )
    assert write_frame(loaded)[["who", "cat"]].isna().all(axis=None)


def test_a_level_that_cannot_be_saved_is_named():
    with pytest.raises(UserInputError, match="type complex cannot be saved"):
        level_to_json(1j)


def damage(path, value):
    def apply(saved):
        *way, last = path
        place = saved
        for step in way:
            place = place[step]
        place[last] = value
        return saved

    return apply


def lose(*path):
    def apply(saved):
        *way, last = path
        place = saved
        for step in way:
            place = place[step]
        del place[last]
        return saved

    return apply


@pytest.mark.parametrize(
    "harm",
    [
        lambda _: {},
        lambda _: [1, 2],
        lambda _: None,
        damage(["format"], 99),
        lose("features"),
        lose("target", "task"),
        lose("form", "container"),
        damage(["features"], 5),
        damage(["features", 0], None),
        damage(["features", 0, "kind"], "number"),
        damage(["features", 0, "dtype"], 3),
        damage(["features", 0, "markers"], ["gone"]),
        damage(["features", 0, "decimals"], "two"),
        damage(["features", 1, "base"], "x"),
        damage(["features", 1, "step"], "0"),
        damage(["features", 4, "levels"], []),
        damage(["features", 4, "levels"], [{"thing": 1}]),
        damage(["features", 4, "levels"], [{"int": "one"}]),
        damage(["features", 4, "levels"], [{"int": "1", "float": "1"}]),
        damage(["features", 4, "levels"], [["a"]]),
        damage(["features", 3, "levels"], [{"timestamp": ["1", "s", "No/Zone"]}]),
        damage(["features", 6, "categories"], []),
        damage(["target", "position"], "last"),
        damage(["target", "edges"], ["low"]),
        damage(["form", "container"], "excel"),
    ],
)
def test_damage_is_a_clear_error(frame, harm):
    saved = through_json(schema_to_json(read_frame(frame, "label").schema))

    with pytest.raises(FileFormatError):
        schema_from_json(harm(saved))
