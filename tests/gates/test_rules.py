import copy
import datetime as dt
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import GateContext
from tabtap.errors import (
    FileFormatError,
    RuleBrokenWarning,
    RuleIdleWarning,
    UserInputError,
)
from tabtap.gates import BrokenRule, Rules
from tabtap.table import read_frame

# ---- Rules.


@pytest.fixture
def ages():
    frame = pd.DataFrame({"age": np.arange(12), "y": ["a", "b"] * 6})
    return read_frame(frame, "y", kinds={"age": "integer"})


def context_of(table):
    return GateContext(table, table.empty())


def test_a_row_must_keep_every_rule(ages):
    rules = Rules.of(["age >= 2", "age < 5", "y == 'a'"])

    verdict = rules.passes(ages, context_of(ages))

    assert np.flatnonzero(verdict).tolist() == [2, 4]


def test_without_rules_every_row_passes(ages):
    assert len(Rules.of(None)) == len(Rules.of([])) == 0
    assert Rules.of(None).passes(ages, context_of(ages)).all()


@pytest.mark.parametrize(
    "forms",
    ["age > 3", {"text": "age > 3"}, ["age > 3"], lambda rows: rows["age"] > 3],
    ids=["text", "dict", "list", "function"],
)
def test_one_rule_may_be_given_by_itself(ages, forms):
    rules = Rules.of(forms)

    assert rules.passes(ages, context_of(ages)).sum() == 8
    assert Rules.of(rules) is rules


@pytest.mark.parametrize("forms", [3, 2.5, object()])
def test_what_is_no_list_of_rules_is_refused(forms):
    with pytest.raises(UserInputError, match="must be a list of rules"):
        Rules.of(forms)


def test_two_rules_of_one_name_are_refused():
    with pytest.raises(UserInputError, match="Two rules are called 'age > 3'"):
        Rules.of(["age > 3", "age > 3"])


def test_violations_name_the_rule_and_the_rows(ages):
    rules = Rules.of(["age < 10", "age >= 0", {"name": "young", "text": "age < 11"}])

    found = rules.violations(ages)

    assert [(name, rows.tolist()) for name, rows in found] == [
        ("age < 10", [10, 11]),
        ("young", [11]),
    ]


def test_real_rows_that_break_a_rule_are_reported_before_anything_runs(ages):
    rules = Rules.of(["age < 5", "age >= 1", "age < 100"])

    with pytest.warns(RuleBrokenWarning) as caught:
        report = rules.check_real(ages)

    assert report.broken == (
        BrokenRule("age < 5", 7, (5, 6, 7, 8, 9)),
        BrokenRule("age >= 1", 1, (0,)),
    )
    told = str(caught[0].message)
    assert "age < 5: 7 rows (5, 6, 7, 8, 9, ...); age >= 1: 1 row (0)" in told
    assert caught[0].filename == __file__


def test_rules_that_all_real_rows_keep_are_reported_as_nothing(ages):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = Rules.of(["age >= 0", "if age > 3 then age > 2"]).check_real(ages)

    assert report.broken == ()
    assert report.idle == ()


def test_a_rule_that_no_real_row_satisfies_is_refused(ages):
    with pytest.raises(
        UserInputError, match="No real row satisfies the rule 'age > 99'"
    ):
        Rules.of(["age >= 0", "age > 99"]).check_real(ages)


def test_a_condition_that_no_real_row_meets_is_told(ages):
    rules = Rules.of(["if y == 'A' then age > 5", "y == 'b' implies age >= 0"])

    with pytest.warns(RuleIdleWarning, match="if y == 'A' then age > 5"):
        report = rules.check_real(ages)

    assert report.idle == ("if y == 'A' then age > 5",)


def test_a_rule_about_an_absent_column_is_refused_when_the_table_is_there(ages):
    rules = Rules.of("agee > 3")

    with pytest.raises(UserInputError, match="Did you mean 'age'"):
        rules.check_real(ages)


def test_rules_judge_what_the_user_will_see():
    frame = pd.DataFrame({"a": np.arange(12) / 10, "b": np.arange(12) / 10 + 0.1})
    real = read_frame(frame)
    numeric = np.array([[0.34, 0.32]])  # rounded to one decimal they are equal
    row = real.take(np.array([0]))
    drawn = row.redrawn(np.ones((1, 2), dtype=bool), numeric, row.categorical)

    verdict = Rules.of("a <= b").passes(drawn, context_of(real))

    assert verdict.tolist() == [True]


def test_a_code_without_a_level_is_not_known_and_raises_nothing(visits):
    names = [column.name for column in visits.schema.features]
    codes = np.full(len(visits), 99, dtype=np.int32)
    cells = [
        codes if name == "city" else cell
        for name, cell in zip(names, visits.cells, strict=True)
    ]
    odd = replace(visits, cells=tuple(cells))
    rules = Rules.of(["city == 'Ulm'", "city in ['Bonn']"])

    assert rules.passes(odd, context_of(visits)).all()


def test_rules_survive_a_copy_and_another_process(ages):
    rules = Rules.of(["if y == 'a' then age > 3", {"column": "age", "max": 9}])

    for other in (copy.deepcopy(rules), pickle.loads(pickle.dumps(rules))):
        assert other == rules
        assert np.array_equal(
            other.passes(ages, context_of(ages)), rules.passes(ages, context_of(ages))
        )


def test_rules_work_on_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "day": list(pd.date_range("2024-01-01", periods=12).date),
            "town": ["Bonn", "Ulm", None] * 4,
            "n": range(12),
        }
    )
    table = read_frame(frame, kinds={"town": "category", "day": "datetime"})
    rules = Rules.of(["day >= '2024-01-03'", "town != 'Ulm'", "n < 9"])

    verdict = rules.passes(table, context_of(table))

    assert np.flatnonzero(verdict).tolist() == [2, 3, 5, 6, 8]


# ---- Forms in which a rule may be given.


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


# ---- Rules of a file.


GOOD = """
[[rule]]
name = "grown up"
text = "if smoker then age >= 16"

[[rule]]
column = "größe"
min = 50
max = 250.5

[[rule]]
column = "came"
min = 2024-01-01
max = 2024-12-31T12:00:00

[[rule]]
text = '''
age >= 0
  and city != "Rom"
'''

[[rule]]
combination = ["city", "country"]
"""


def test_rules_of_a_file_are_those_it_spells(tmp_path, visits):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8")

    rules = Rules.read(path)

    assert [rule.name for rule in rules.rules][:2] == [
        "grown up",
        "`größe` >= 50 and `größe` <= 250.5",
    ]
    assert len(rules) == 5
    assert [name for name, _ in rules.violations(visits)] == ["grown up"]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8-sig")

    assert len(Rules.read(str(path))) == 5


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "has no [[rule]] section"),
        ("rule = []", "has no [[rule]] section"),
        ("rule = 3", "has no [[rule]] section"),
        ("[rule]\ntext = 'a < b'", "has no [[rule]] section"),
        ("[[rules]]\ntext = 'a < b'", "has the key 'rules'"),
        ("[[rule]\ntext = 'a < b'", "is not TOML"),
        ("[[rule]]\ntext = a < b", "is not TOML"),
    ],
)
def test_a_file_that_is_no_rule_file_is_told_with_its_shape(tmp_path, content, told):
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(FileFormatError, match=r"mine\.toml") as caught:
        Rules.read(path)

    assert told in str(caught.value)
    assert "[[rule]]" in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xff\xfe\x00\x81")

    with pytest.raises(FileFormatError, match="UTF-8"):
        Rules.read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"absent\.toml' cannot be read"):
        Rules.read(tmp_path / "absent.toml")


def test_a_bad_rule_of_a_file_is_named(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nname = 'odd'\ntext = 'a <'", encoding="utf-8")

    with pytest.raises(UserInputError, match="Rule 'odd' is not usable"):
        Rules.read(path)
