import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.errors import BadTableError
from tabtap.table import read_frame, write_frame
from tabtap.table.targets import bin_edges


def table_of(target, **settings):
    frame = pd.DataFrame({"x": np.linspace(0, 1, len(target)), "y": target})
    return read_frame(frame, "y", **settings)


@pytest.mark.parametrize(
    ("target", "task"),
    [
        (["u", "v"] * 6, "classification"),
        ([True, False] * 6, "classification"),
        (pd.Categorical(["u", "v"] * 6), "classification"),
        ([3, 7, 9] * 6, "classification"),
        ([0.0, 1.0] * 6, "classification"),
        (list(range(10)) * 3, "classification"),
        (list(range(11)) * 3, "regression"),
        (np.linspace(0, 1, 20), "regression"),
        ([0.5, 1.5] * 6, "regression"),
        ([1.0, 2.0, 3.0] * 6, "classification"),
        (np.arange(10.0).tolist() * 3, "classification"),
        (np.arange(11.0).tolist() * 3, "regression"),
        ([1.0, 2.0, 3.5] * 6, "regression"),
        (np.arange(6.0).tolist() * 2, "regression"),
        (list(range(6)) * 2, "regression"),
    ],
    ids=[
        "strings",
        "bools",
        "categories",
        "few integers",
        "two whole floats",
        "ten integers",
        "many integers",
        "floats",
        "two fractions",
        "few whole floats",
        "ten whole floats",
        "many whole floats",
        "a fraction among few floats",
        "whole floats, two rows each",
        "integers, two rows each",
    ],
)
def test_the_task_follows_from_the_labels(target, task):
    assert table_of(target).schema.target.task == task


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [-1, 1],
        [1, 2],
        [2**60 + 1, 2**60],
        [True, False],
        [0.5, 1.5],
        [pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2021", tz="UTC")],
    ],
    ids=["strings", "-1 and 1", "from 1", "huge", "bools", "floats", "times"],
)
def test_labels_of_any_type_become_codes_and_come_back(labels):
    table = table_of(labels * 6, task="classification")

    assert sorted(set(table.target.tolist())) == [0, 1]
    assert table.schema.target.column.levels == tuple(sorted(labels))
    assert write_frame(table)["y"].tolist() == labels * 6


def test_declared_classes_without_rows_are_not_asked_for():
    labels = pd.Categorical(["v", "u"] * 6, categories=["w", "v", "u"])

    table = table_of(labels)

    assert table.schema.n_conditions == 2
    pd.testing.assert_series_equal(write_frame(table)["y"], pd.Series(labels, name="y"))


@pytest.mark.parametrize(
    ("values", "n_bins"),
    [
        (np.linspace(-1, 1, 70), 7),
        ([1.5, 2.5, 3.5] * 20, 3),
        ([0.0] * 95 + [0.5, 1.5, 2.5, 3.5, 4.5], 6),
        (np.round(np.linspace(-0.0036, 0.0, 300), 4), 7),
        ([2**60 + 1, 2**61, 2**62] * 20 + list(range(50)), 7),
        ([1e300, -1e300, 5e-324] * 20, 3),
    ],
    ids=["even", "three values", "heavy ties", "tiny", "beyond a float", "extreme"],
)
def test_no_bin_is_empty_and_ties_stay_together(values, n_bins):
    table = table_of(values, task="regression")

    rows_per_bin = np.bincount(table.condition, minlength=table.schema.n_conditions)

    assert table.schema.n_conditions == n_bins
    assert rows_per_bin.min() > 0


def test_bins_of_distinct_values_are_even():
    counts = np.bincount(table_of(np.linspace(0, 1, 75)).condition)

    assert counts.max() - counts.min() <= 1


def test_a_cut_beside_many_ties_goes_where_the_halves_are_more_even():
    # Cutting after the tie would leave 14 rows and 2, before it 4 and 12.
    values = np.repeat([1.0, 2.0, 3.0], [4, 10, 2])

    assert bin_edges(values, 2) == (1.0,)


@given(
    values=st.lists(
        st.integers(-3, 3).map(float) | st.floats(-1e9, 1e9), min_size=2, max_size=60
    ),
    n_bins=st.integers(1, 9),
)
@settings(max_examples=100, deadline=None)
def test_any_target_falls_into_bins_that_are_never_empty(values, n_bins):
    numbers = np.array(values)
    n_distinct = len(np.unique(numbers))

    edges = bin_edges(numbers, n_bins)

    bins = np.searchsorted(edges, numbers, side="left")
    assert len(edges) + 1 == min(n_bins, n_distinct)
    assert sorted(set(bins.tolist())) == list(range(len(edges) + 1))
    assert list(edges) == sorted(set(edges))


def test_the_number_of_bins_can_be_chosen():
    assert table_of(np.linspace(0, 1, 60), n_bins=4).schema.n_conditions == 4


@pytest.mark.parametrize(
    "values",
    [np.arange(5, 25) + 2**53, np.linspace(0, 1, 20).astype("float32")],
    ids=["integers beyond a float", "float32"],
)
def test_a_regression_target_comes_back_exactly(values):
    table = table_of(values)

    assert table.schema.target.task == "regression"
    assert write_frame(table)["y"].dtype == values.dtype
    assert (write_frame(table)["y"].to_numpy() == values).all()


RATES = [f"{i}.5%" for i in range(38)] + ["0.5%", "1.5%"]
STREETS = [f"street {i}" for i in range(38)] + ["street 0", "street 1"]


@pytest.mark.parametrize(
    ("labels", "found", "fix"),
    [
        (
            RATES,
            "is the target and holds 38 different texts in 40 rows, percentages such "
            "as '0.5%': neither classes nor numbers",
            "Convert it: pd.to_numeric(frame['y'].str.replace(",
        ),
        (RATES[:20] * 2, "20 different texts in 40 rows, percentages", "pd.to_numeric"),
        (
            [f"{i}.5" for i in range(40)],
            "40 different texts in 40 rows, numbers such as '0.5'",
            "pd.to_numeric(frame['y'])",
        ),
        (
            STREETS,
            "38 different texts in 40 rows, such as 'street 0' (row 0): neither",
            "Pass another column as target",
        ),
    ],
    ids=["percentages", "percentages twice", "numbers", "nearly unique words"],
)
def test_texts_that_are_neither_classes_nor_numbers_are_refused(labels, found, fix):
    with pytest.raises(BadTableError) as raised:
        table_of(labels)

    (problem,) = raised.value.problems
    assert problem.column == "y"
    assert found in problem.found
    assert problem.fix.startswith(fix) or fix in problem.fix
    assert problem.fix.endswith("task='classification' if each of them is a class")


@pytest.mark.parametrize(
    ("labels", "n_classes"),
    [
        (list("abcdef") * 2, 6),
        (list("123456") * 2, 6),
        (list("abcdefghi") + list("abc"), 9),
        ([f"{i}%" for i in range(0, 100, 5)] * 3, 20),
        ([f"letter {i}" for i in range(26)] + ["letter 0"] * 14, 26),
    ],
    ids=["two rows each", "digits", "nine of twelve", "percent steps", "letters"],
)
def test_texts_that_come_back_stay_classes(labels, n_classes):
    assert table_of(labels).schema.n_conditions == n_classes


def test_who_says_classification_means_it():
    table = table_of(RATES, task="classification")

    assert table.schema.n_conditions == 38
