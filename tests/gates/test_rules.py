import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import GateContext
from tabtap.errors import RuleBrokenWarning, RuleIdleWarning, UserInputError
from tabtap.gates import BrokenRule, Rules
from tabtap.table import read_frame


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
