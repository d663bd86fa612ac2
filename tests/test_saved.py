import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from tabtap.saved import arrays_of, from_json, to_json


class Colour(str, Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    gain: float
    name: Hashable = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    text: str
    count: int
    flag: bool
    colour: Colour
    task: Literal["a", "b"]
    inner: Inner
    other: Inner | None
    budget: int | Literal["auto"]
    pair: tuple[float, float]
    many: tuple[Inner, ...]
    scores: Mapping[str, float]
    numbers: NDArray[np.float64]
    anything: tuple[Any, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)


def outer(**changes):
    given = {
        "text": "é",
        "count": 3,
        "flag": True,
        "colour": Colour.RED,
        "task": "b",
        "inner": Inner(float("inf")),
        "other": None,
        "budget": "auto",
        "pair": (0.1, 1),
        "many": (Inner(1 / 3, "x"), Inner(-0.0)),
        "scores": {"z": 0.5, "a": 1.0},
        "numbers": np.array([1.0, np.nan]),
    }
    return Outer(**{**given, **changes})


def through_json(value):
    plain = json.loads(json.dumps(to_json(value), sort_keys=True))
    return from_json(type(value), {**plain, **arrays_of(value)})


@pytest.mark.parametrize(
    "changes", [{}, {"other": Inner(2.0)}, {"budget": 5}, {"anything": ("p", None, 1)}]
)
def test_a_dataclass_comes_back_with_every_field(changes):
    before = outer(**changes)

    after = through_json(before)

    assert repr(after) == repr(before)  # which tells 1 from 1.0 and True
    assert list(after.scores) == ["z", "a"]  # though JSON was sorted


def test_fields_are_written_in_their_order_and_arrays_apart():
    assert to_json(Inner(0.5, "x")) == {"gain": 0.5, "name": "x"}
    assert list(to_json(outer()))[:3] == ["text", "count", "flag"]
    assert "numbers" not in to_json(outer())
    assert list(arrays_of(outer())) == ["numbers"]


def test_parts_that_are_objects_already_are_taken_as_they_are():
    inner, scores = Inner(0.5), {"a": 0.25}
    saved = to_json(outer()) | arrays_of(outer())

    found = from_json(Outer, {**saved, "inner": inner, "scores": scores})

    assert found.inner is inner
    assert found.scores == scores


def test_a_field_with_a_default_may_be_missing():
    assert from_json(Inner, {"gain": 0.5}) == Inner(0.5)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("text", 3, "3 is not a str"),
        ("count", 3.0, "3.0 is not a int"),
        ("count", True, "True is not a int"),
        ("flag", 1, "1 is not a bool"),
        ("colour", "blue", "'blue' is not a valid"),
        ("task", "c", r"'c' is not one of \('a', 'b'\)"),
        ("inner", None, "NoneType"),
        ("inner", {"gain": "much"}, "'much' is not a float"),
        ("inner", {"gain": True}, "True is not a float"),
        ("inner", {}, "gain"),
        ("inner", {"gain": 0.5, "colour": 1}, "colour"),
        ("other", {"gain": None}, "None is not a float"),
        ("budget", "much", "'much' is not one of"),
        ("pair", [0.1], "shorter|longer"),
        ("many", "ab", "'ab' is not a list"),
        ("scores", [["a", "b"]], "'b' is not a float"),
        ("scores", {"a": ["b"]}, r"\['b'\] is not a float"),
        ("scores", {1: 0.5}, "1 is not a str"),
        ("numbers", [1.0], "is not a ndarray"),
        ("numbers", np.ones(2, np.int64), "array of int64 instead of float64"),
    ],
)
def test_what_the_hints_do_not_say_is_refused(name, value, said):
    saved = to_json(outer()) | arrays_of(outer())

    with pytest.raises((AttributeError, KeyError, TypeError, ValueError), match=said):
        from_json(Outer, {**saved, name: value})
