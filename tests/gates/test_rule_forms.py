import datetime as dt
import re

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import GateContext
from tabtap.errors import UserInputError
from tabtap.gates import Rules
from tabtap.table import read_frame


def verdict(form, table):
    return Rules.of([form]).passes(table, GateContext(table, table.empty()))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"column": "age", "min": 18}, "age >= 18"),
        ({"column": "age", "max": 60.5}, "age <= 60.5"),
        ({"column": "age", "min": 18, "max": 60}, "18 <= age <= 60"),
        ({"column": "weight kg", "min": -1, "max": 70}, "`weight kg` <= 70"),
        ({"column": "city", "one_of": ["Bonn", "Ulm"]}, "city != 'Wien'"),
        ({"column": "rooms", "one_of": [1, 3]}, "rooms != 2"),
        ({"column": "smoker", "one_of": [True]}, "smoker"),
        ({"column": "class", "one_of": ("a",)}, "class == 'a'"),
        ({"column": "came", "min": dt.date(2024, 6, 1)}, "came >= '2024-06-01'"),
        (
            {"column": "came", "max": dt.datetime(2024, 6, 1, 12)},
            "came <= '2024-06-01 12:00'",
        ),
        ({"combination": ["city", "country"]}, "combination(city, country)"),
    ],
)
def test_a_dict_says_the_same_as_the_text(visits, form, text):
    assert verdict(form, visits).tolist() == verdict(text, visits).tolist()


def test_a_rule_is_called_by_its_name_or_else_as_it_reads():
    rules = Rules.of(
        [
            "a < b",
            {"name": "order", "text": "b < c"},
            {"column": "a", "min": 0},
            lambda rows: rows["a"] > 0,
            np.isfinite,
        ]
    )

    names = [rule.name for rule in rules.rules]
    assert names == ["a < b", "order", "`a` >= 0", "function 4", "isfinite"]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": "x", "test": "a < b"}, "Rule 'x' has the unknown key 'test'"),
        ({"name": "x"}, "Rule 'x' has the keys name, which do not make a rule"),
        ({"column": "a"}, "Rule 'number 1' has the keys column"),
        ({"column": "a", "min": 1, "text": "a < b"}, "do not make a rule"),
        ({"text": "a < b", "max": 1}, "do not make a rule"),
        ({"text": 3}, "has a int as text"),
        ({"name": 3, "text": "a < b"}, "Use text"),
        ({"column": "a", "one_of": "yes"}, "It must be a list"),
        ({"column": "a", "one_of": []}, "It must be a list"),
        ({"combination": "city"}, "It must be a list"),
        ({"column": "a", "min": [1]}, "Use numbers, text, true, false or dates"),
        ({"column": "a`b", "min": 1}, "Rename the column"),
        (3, "Rule number 1 is a int"),
        (None, "Rule number 1 is a NoneType"),
    ],
)
def test_a_form_that_makes_no_rule_is_told_with_the_way_out(form, told):
    with pytest.raises(UserInputError, match=re.escape(told)):
        Rules.of([form])


def test_a_function_sees_the_rows_as_the_user_gave_them(visits, visits_frame):
    seen = []

    def adults(rows):
        seen.append(rows)
        return rows["age"] >= 18

    found = verdict(adults, visits)

    pd.testing.assert_frame_equal(seen[0], visits_frame)
    assert found.tolist() == (visits_frame["age"] >= 18).tolist()


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: (rows["age"] > 30).to_numpy(),
        lambda rows: (rows["age"] > 30).tolist(),
        lambda rows: (rows["age"] > 30).astype("boolean"),
        lambda rows: (rows["age"] > 30).astype(object),
    ],
    ids=["array", "list", "nullable", "objects"],
)
def test_a_function_may_answer_in_any_container(visits, visits_frame, answer):
    assert verdict(answer, visits).tolist() == (visits_frame["age"] > 30).tolist()


def test_an_answer_that_is_missing_does_not_break_the_rule(visits, visits_frame):
    def lean(rows):
        return rows["weight kg"].convert_dtypes() < 70

    expected = ~(visits_frame["weight kg"] >= 70)
    assert verdict(lean, visits).tolist() == expected.tolist()


def test_a_function_may_answer_in_polars():
    polars = pytest.importorskip("polars")
    table = read_frame(polars.DataFrame({"n": range(12), "m": range(12)}))

    found = verdict(lambda rows: rows["n"] > 5, table)

    assert found.tolist() == [False] * 6 + [True] * 6


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda rows: rows["age"], "dtype int64"),
        (lambda _: True, "shape ()"),
        (lambda rows: rows["age"][:3] > 1, "shape (3,)"),
        (lambda _: None, "a NoneType"),
        (lambda rows: ["yes"] * len(rows), "a list of shape (60,)"),
        (lambda rows: rows[["smoker"]], "shape (60, 1)"),
    ],
    ids=["numbers", "one bool", "too few", "nothing", "words", "a frame"],
)
def test_a_function_that_does_not_give_one_bool_per_row_is_named(visits, answer, told):
    with pytest.raises(UserInputError, match="Rule 'function 1' returned") as caught:
        verdict(answer, visits)

    assert told in str(caught.value)
    assert "one bool per row, here 60 of them" in str(caught.value)


def test_a_function_that_raises_is_named_with_its_error(visits):
    def careless(rows):
        return rows["agee"] > 3

    with pytest.raises(
        UserInputError, match="Rule 'careless' raised KeyError"
    ) as caught:
        verdict(careless, visits)

    assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_is_not_asked_about_no_rows(visits):
    def fussy(rows):
        raise AssertionError(rows)

    assert verdict(fussy, visits.empty()).tolist() == []
