"""Tables and stages that go wrong: a useful result, or one clear sentence."""

import numpy as np
import pandas as pd
import pytest
from stand_ins import Told, same_for_all

from tabtap.api import TabularAugmenter
from tabtap.errors import EvaluatorError, RuleBrokenWarning, UserInputError


def run(frame, target, tiny, judge, **settings):
    settings = {"budget": 12, "random_state": 0, "evaluator": "linear", **settings}
    augmenter = TabularAugmenter(preset=tiny, referee=judge, **settings)
    return augmenter.fit_table(frame, target)


def numbers(n_rows, n_columns, rng=0):
    values = np.random.default_rng(rng).normal(size=(n_rows, n_columns))
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(n_columns)])


@pytest.mark.parametrize(
    "classes",
    [
        ["a"] * 19 + ["b"],
        ["a"] * 17 + ["b", "b", "c"],
        ["a", "b"] * 6,
    ],
    ids=["a class of one", "classes of two and one", "twelve rows"],
)
def test_tiny_classes_and_tables_give_a_result(tiny, helpful, classes):
    frame = numbers(len(classes), 3).assign(y=classes)

    result = run(frame, "y", tiny, helpful)

    assert result.verdict == "augment"
    assert set(result.synthetic["y"]) <= set(classes)


@pytest.mark.parametrize("n_columns", [1, 300])
def test_one_feature_and_three_hundred_are_fine(tiny, helpful, n_columns):
    frame = numbers(24, n_columns).assign(y=["a", "b"] * 12)

    result = run(frame, "y", tiny, helpful)

    assert len(result.synthetic) == 12


def test_a_table_of_categories_alone_is_fine(tiny, helpful):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(list("uvwxyz"), (40, 4)), columns=list("abcd"))
    frame["y"] = np.where(frame["a"] < "w", "low", "high")

    result = run(frame, "y", tiny, helpful)

    assert set(result.synthetic["a"]) <= set(frame["a"])


def test_a_regression_target_of_few_values_is_fine(tiny, helpful):
    frame = numbers(30, 3).assign(y=[0.0] * 24 + [1.5, 2.5] * 3)

    result = run(frame, "y", tiny, helpful, task="regression")

    assert result.synthetic["y"].between(0.0, 2.5).all()


def test_a_budget_of_zero_returns_the_table_and_says_so(tiny, helpful, patients):
    X, y, _ = patients

    result = run(X.assign(y=y), "y", tiny, helpful, budget=0)

    assert result.verdict == "no_gain"
    assert "0" in result.why or "zero" in result.why


def test_gates_that_refuse_everything_end_in_no_gain(tiny, helpful, patients):
    X, y, _ = patients

    def nothing_is_good_enough(rows):
        is_real = len(rows) == len(X)
        return np.full(len(rows), is_real)

    result = run(X.assign(y=y), "y", tiny, helpful, rules=[nothing_is_good_enough])

    assert result.verdict == "no_gain"
    assert result.waterfall.refused["rules"] == result.waterfall.proposed


def test_a_rule_that_no_real_row_satisfies_is_refused(tiny, helpful, patients):
    X, y, _ = patients

    with pytest.raises(UserInputError, match="age > 200"):
        run(X.assign(y=y), "y", tiny, helpful, rules=["age > 200"])


def test_rows_keep_the_rules_that_some_real_rows_break(tiny, helpful, patients):
    X, y, _ = patients
    frame = X.assign(y=y)

    with pytest.warns(RuleBrokenWarning, match="age > 25"):
        result = run(frame, "y", tiny, helpful, rules=["age > 25"])

    assert (result.synthetic["age"] > 25).all()


def no_fuel(_contexts, _queries):
    raise RuntimeError("no fuel")


def test_a_referee_that_raises_is_named_with_its_reason(tiny, patients):
    X, y, _ = patients

    with pytest.raises(EvaluatorError, match=r"broken.*no fuel"):
        run(X.assign(y=y), "y", tiny, Told(no_fuel, "broken"))


def test_a_referee_that_answers_nan_is_named(tiny, patients):
    X, y, _ = patients

    with pytest.raises(EvaluatorError, match=r"referee.*broken"):
        run(X.assign(y=y), "y", tiny, same_for_all(np.nan, "broken"))


def test_an_evaluator_that_answers_nan_is_named(tiny, helpful, patients):
    X, y, _ = patients

    with pytest.raises(EvaluatorError, match=r"evaluator.*broken"):
        run(X.assign(y=y), "y", tiny, helpful, evaluator=same_for_all(np.nan, "broken"))


def test_a_scoring_that_no_fold_allows_is_refused_before_learning(
    tiny, helpful, patients
):
    X, y, _ = patients

    with pytest.raises(UserInputError, match="r2"):
        run(X.assign(y=y), "y", tiny, helpful, scoring="r2")
