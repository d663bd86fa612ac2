import datetime as dt
import operator
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.domain import GateContext
from tabtap.gates import Rules
from tabtap.gates.rule_evaluation import (
    Numbers,
    Times,
    Truths,
    Words,
    column_values,
    find_column,
    parse_time,
)
from tabtap.table import read_frame

# ---- What a rule says of rows.


def verdict(rule, table):
    return Rules.of(rule).passes(table, GateContext(table, table.empty()))


# Each rule with the same said in pandas.  A comparison with a hole is False in pandas,
# so those are said such that a hole makes them true.
SAID_TWICE = {
    "18 <= age < 65": lambda f: (f["age"] >= 18) & (f["age"] < 65),
    "age >= 18 and age < 65": lambda f: f["age"].between(18, 64),
    "not age == 20 or smoker": lambda f: (f["age"] != 20) | f["smoker"],
    "smoker": lambda f: f["smoker"],
    "smoker == True": lambda f: f["smoker"],
    "smoker == 0": lambda f: ~f["smoker"],
    "`weight kg` <= 80.5": lambda f: ~(f["weight kg"] > 80.5),
    "`weight kg` > größe - 100": lambda f: ~(f["weight kg"] <= f["größe"] - 100),
    "größe / 2 + -age * 0.5 < 75": lambda f: f["größe"] / 2 - f["age"] / 2 < 75,
    "abs(age - 50) > 10": lambda f: (f["age"] - 50).abs() > 10,
    "min(age, größe, 40) < 30": lambda f: f["age"] < 30,
    "max(age, 100) == 100": lambda f: f["age"] <= 100,
    "round(größe) == 170": lambda f: f["größe"].round() == 170,
    "round(größe, 1) != 170.0": lambda f: f["größe"].round(1) != 170.0,
    "sex == 'female'": lambda f: ~(f["sex"] == "male"),
    "'female' != sex": lambda f: ~(f["sex"] == "female"),
    "city in ['Bonn', 'Wien']": lambda f: f["city"] != "Ulm",
    "city not in ('Bonn', 'Wien')": lambda f: f["city"] == "Ulm",
    "sex in ['male']": lambda f: ~(f["sex"] == "female"),
    "rooms in [1, 3]": lambda f: f["rooms"] != 2,
    "rooms >= 2": lambda f: f["rooms"] >= 2,
    "age in [-1, 20, 21]": lambda f: f["age"].isin([20, 21]),
    "city == country": lambda f: f["city"] == f["country"],
    "city != sex": lambda f: f["city"] != f["country"],
    "stage <= 'II'": lambda f: f["stage"] <= "II",
    "'II' < stage": lambda f: f["stage"] > "II",
    "stage < 'IV'": lambda f: f["stage"] < "IV",
    "class == 'a'": lambda f: f["class"] == "a",
    "label != 'ill'": lambda f: f["label"] != "ill",
    "came >= '2024-06-01'": lambda f: f["came"] >= "2024-06-01",
    "'2024-02-01' <= came < '2024-06-01T12:00'": lambda f: f["came"].between(
        "2024-02-01", "2024-06-01"
    ),
    "came == left": lambda f: ~(f["left"] > f["came"]),
    "came <= left": lambda f: ~(f["left"] < f["came"]),
    "left - came <= 10": lambda f: ~(f["left"] - f["came"] > pd.Timedelta(days=10)),
    "wait < 1.5": lambda f: f["wait"] < pd.Timedelta(hours=36),
    "opened < '2024-03-31 12:00'": lambda f: (
        f["opened"] < pd.Timestamp("2024-03-31 12:00", tz="Europe/Berlin")
    ),
    "opened < '2024-03-31T10:00Z'": lambda f: (
        f["opened"] < pd.Timestamp("2024-03-31 10:00", tz="UTC")
    ),
    "sex is missing": lambda f: f["sex"].isna(),
    "`weight kg` is not missing": lambda f: f["weight kg"].notna(),
    "if pregnant == 'yes' then sex == 'female'": lambda f: (
        ~((f["pregnant"] == "yes") & (f["sex"] == "male"))
    ),
    "if sex == 'female' then age < 0": lambda f: ~(f["sex"] == "female"),
    "pregnant == 'yes' implies age > 15": lambda f: (
        (f["pregnant"] != "yes") | (f["age"] > 15)
    ),
    "if left is missing then smoker": lambda f: f["left"].notna() | f["smoker"],
    "combination(city, country)": lambda f: f["age"] >= 0,
}


@pytest.mark.parametrize("rule", SAID_TWICE)
def test_a_rule_says_what_it_says_in_pandas(visits, visits_frame, rule):
    expected = SAID_TWICE[rule](visits_frame).to_numpy(dtype=bool)

    assert verdict(rule, visits).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("a < 5", True),
        ("not a < 5", True),
        ("a < 5 or b > 3", True),
        ("a < 5 and b > 3", False),
        ("a < 5 and b < 3", True),
        ("if a < 5 then b > 3", True),
        ("if b < 3 then a < 5", True),
        ("a + b < 5", True),
        ("a in [1, 2]", True),
        ("a not in [1, 2]", True),
        ("a is missing", True),
        ("a is not missing", False),
        ("b / (b - 1) > 5", True),
        ("b / (b - 1) < 5", True),
        ("max(a, b) > 5", True),
    ],
)
def test_a_row_breaks_a_rule_only_if_it_does_so_whatever_stands_in_its_holes(
    rule, holds
):
    frame = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0)})
    frame.loc[1, "a"] = np.nan  # and b is 1 there

    found = verdict(rule, read_frame(frame))

    assert found[1] == holds


def test_a_condition_that_is_not_known_demands_nothing():
    flag = pd.array([True, False, None] * 4, dtype="boolean")
    table = read_frame(pd.DataFrame({"flag": flag, "b": np.arange(12.0)}))

    assert verdict("if flag then b < 0", table).tolist() == [False, True, True] * 4
    assert verdict("if not flag then b < 0", table).tolist() == [True, False, True] * 4


def test_a_combination_is_one_that_real_rows_have(visits):
    moved = visits.take(np.arange(len(visits)))
    names = [column.name for column in visits.schema.features]
    other = np.roll(visits.cells[names.index("city")], 1)
    cells = tuple(
        other if name == "city" else cell
        for name, cell in zip(names, moved.cells, strict=True)
    )
    moved = type(moved)(
        moved.schema,
        cells,
        moved.missing,
        moved.target,
        moved.origin,
        moved.unseen_fold,
    )
    place = {
        n: moved.schema.features[names.index(n)].levels for n in ("city", "country")
    }
    city = np.array(place["city"])[other]
    country = np.array(place["country"])[cells[names.index("country")]]

    found = Rules.of("combination(city, country)").passes(
        moved, GateContext(visits, visits.empty())
    )

    assert np.array_equal(found, (city == "Wien") == (country == "AT"))
    assert 0 < found.sum() < len(found)


def test_large_integers_are_compared_exactly():
    big = 2**53
    frame = pd.DataFrame({"serial": [big + k for k in range(12)], "y": ["a", "b"] * 6})
    table = read_frame(frame, "y", kinds={"serial": "integer"})

    assert verdict(f"serial > {big}", table).tolist() == [False] + [True] * 11


def test_a_regression_target_and_columns_without_names_can_be_used():
    numbers = np.arange(24.0).reshape(12, 2)
    table = read_frame(numbers, y=np.arange(12.0) / 4, task="regression")

    assert verdict("`0` + y > 10", table).tolist() == [False] * 5 + [True] * 7


def test_a_hole_makes_no_combination_and_breaks_none():
    frame = pd.DataFrame(
        {"town": ["Bonn", "Ulm", None] * 4, "land": ["DE", "AT", "CH"] * 4}
    )
    real = read_frame(frame, kinds={"town": "category", "land": "category"})
    # Bonn, Ulm and a hole, each beside CH, which is beside the hole in all real rows.
    ch = real.schema.features[1].levels.index("CH")
    cells = (real.cells[0][:3], np.full(3, ch, dtype=np.int32))
    rows = replace(real.take(np.arange(3)), cells=cells)

    found = Rules.of("combination(town, land)").passes(
        rows, GateContext(real, real.empty())
    )

    assert found.tolist() == [False, False, True]


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_times_beyond_the_reach_of_nanoseconds_are_compared(unit):
    days = pd.Series(pd.date_range("2024-01-01", periods=12)).dt.as_unit(unit)
    table = read_frame(pd.DataFrame({"came": days}), kinds={"came": "datetime"})

    assert verdict("came < '9999-12-31'", table).all()
    assert verdict("came > '0001-01-01'", table).all()
    assert not verdict("came < '0001-01-01'", table).any()


NUMBERS = ("a", "b", "c")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
FRAME = pd.DataFrame(
    np.random.default_rng(3).integers(-4, 5, size=(30, 3)).astype(float),
    columns=NUMBERS,
)
FRAME.iloc[::4, 2] = np.nan
TABLE = read_frame(FRAME)

terms = st.recursive(
    st.sampled_from([*NUMBERS, "1", "2.5", "3"]),
    lambda inner: st.tuples(inner, st.sampled_from([*OPERATORS]), inner),
    max_leaves=4,
)
comparisons = st.tuples(terms, st.sampled_from([*SIGNS]), terms)
claims = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner),
    ),
    max_leaves=5,
)


def written(tree):
    if isinstance(tree, str):
        return tree
    return "(" + " ".join(written(part) for part in tree) + ")"


def worked_out(tree, row):
    """Evaluate by hand for one row; None is what cannot be known."""
    if isinstance(tree, str):
        value = row[tree] if tree in NUMBERS else float(tree)
        return None if np.isnan(value) else value
    if tree[0] == "not":
        inner = worked_out(tree[1], row)
        return None if inner is None else not inner
    left, right = worked_out(tree[0], row), worked_out(tree[2], row)
    if tree[1] in ("and", "or"):
        decisive = tree[1] == "or"
        if left is decisive or right is decisive:
            return decisive
        return None if left is None or right is None else not decisive
    if left is None or right is None:
        return None
    if tree[1] in SIGNS:
        return bool(SIGNS[tree[1]](left, right))
    return OPERATORS[tree[1]](left, right)


@settings(max_examples=150, deadline=None)
@given(claims)
def test_the_evaluator_agrees_with_working_it_out_row_by_row(tree):
    text = written(tree)
    if not any(name in text.replace("and", "") for name in NUMBERS):
        text += " or a < -100"
    expected = [worked_out(tree, row) is not False for _, row in FRAME.iterrows()]

    assert verdict(text, TABLE).tolist() == expected


def test_ten_rules_over_ten_thousand_rows_take_milliseconds(visits):
    many = visits.take(np.resize(np.arange(len(visits)), 10_000))
    rules = Rules.of([*list(SAID_TWICE)[:9], "combination(city, country)"])
    context = GateContext(visits, visits.empty())

    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        rules.passes(many, context)
        seconds.append(time.perf_counter() - start)

    assert min(seconds) < 0.05


# ---- Values that a rule compares.


def read_column(values, kind=None):
    kinds = None if kind is None else {"x": kind}
    frame = pd.DataFrame({"x": values, "other": np.arange(len(values))})
    return column_values(*find_column(read_frame(frame, kinds=kinds), "x"))


DAYS = list(pd.date_range("2024-01-01", periods=3)) * 4


@pytest.mark.parametrize(
    ("values", "kind", "sort"),
    [
        (np.arange(12) / 4, None, Numbers),
        (np.arange(12) * 100, "integer", Numbers),
        ([1, 2, 3] * 4, "category", Numbers),
        ([0.5, 1.5] * 6, "category", Numbers),
        (pd.Categorical([1, 2] * 6), None, Numbers),
        (np.arange(12).astype("m8[h]").astype("m8[s]"), "datetime", Numbers),
        ([True, False] * 6, None, Truths),
        (pd.array([True, False, None] * 4, dtype="boolean"), None, Truths),
        (["a", "b"] * 6, "category", Words),
        ([5] * 12, None, Numbers),
        (["a"] * 12, None, Words),
        (DAYS, "datetime", Times),
        (DAYS, "category", Times),
        (pd.Categorical(DAYS), None, Times),
        (pd.Series(DAYS).dt.tz_localize("Asia/Tokyo"), "category", Times),
        ([dt.date(2024, 1, d) for d in (1, 2, 3)] * 4, "category", Times),
    ],
)
def test_every_kind_of_column_becomes_what_its_values_are(values, kind, sort):
    assert isinstance(read_column(values, kind), sort)


def test_the_values_are_those_the_user_gave():
    numbers = read_column([1, 2, None] * 4, "category")
    durations = read_column(pd.to_timedelta(np.arange(12) * 36, "h"), "datetime")
    days = read_column(pd.Categorical(DAYS))

    assert numbers.known.tolist() == [True, True, False] * 4
    assert numbers.cells[:2].tolist() == [1, 2]
    assert durations.cells[:3].tolist() == [0.0, 1.5, 3.0]
    assert days.cells[1] == np.datetime64("2024-01-02")


def test_the_largest_integers_stay_exact():
    top = 2**64 - 1
    values = np.array([top - 3 * k for k in range(12)], dtype=np.uint64)

    assert int(read_column(values, "integer").cells[0]) == top


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2024-07-01", None, "2024-07-01T00:00"),
        ("2024-07-01 18:30", None, "2024-07-01T18:30"),
        ("2024-07-01", "Europe/Berlin", "2024-06-30T22:00"),
        ("2024-07-01T00:00+05:00", "Europe/Berlin", "2024-06-30T19:00"),
        ("2024-07-01T00:00Z", "Europe/Berlin", "2024-07-01T00:00"),
        # Clocks were set forward from 2 to 3: half past two became three.
        ("2024-03-31 02:30", "Europe/Berlin", "2024-03-31T01:00"),
        # And back from 3 to 2: the first half past two is meant.
        ("2024-10-27 02:30", "Europe/Berlin", "2024-10-27T00:30"),
    ],
)
def test_a_time_without_an_offset_is_meant_where_the_column_is(text, zone, moment):
    assert parse_time(text, zone) == np.datetime64(moment)


@pytest.mark.parametrize("text", ["tomorrow", "01.02.2024", "5", "", "2024-13-01"])
def test_a_time_in_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_time(text, None)


def test_a_column_that_is_not_there_is_a_key_error():
    table = read_frame(pd.DataFrame({"x": np.arange(12.0)}))

    with pytest.raises(KeyError):
        find_column(table, "y")
