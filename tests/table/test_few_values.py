"""Numbers with few values, such as doses, get no others in new rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtap.table import read_frame, write_frame
from tabtap.table.saved_schema import schema_from_json, schema_to_json


def column_of(values, **kinds):
    frame = pd.DataFrame({"x": values, "z": np.arange(len(values)) % 7})
    return read_frame(frame, kinds=kinds or None).schema.features[0]


def test_doses_stay_doses():
    column = column_of([0.5, 1.0, 2.5, 5.0] * 10)

    stored = column.store(np.array([0.0, 0.7, 0.8, 1.74, 1.76, 99.0]))

    assert column.support == (0.5, 1.0, 2.5, 5.0)
    assert stored.tolist() == [0.5, 0.5, 1.0, 1.0, 2.5, 5.0]


def test_who_calls_them_continuous_gets_values_in_between():
    assert column_of([0.5, 1.0, 2.5, 5.0] * 10, x="continuous").support == ()


@given(seed=st.integers(0, 10_000), n=st.integers(20, 120), places=st.integers(3, 6))
@settings(max_examples=60, deadline=None)
def test_a_measurement_is_free_however_few_rows_there_are(seed, n, places):
    values = np.random.default_rng(seed).normal(size=n).round(places)

    assert column_of(values).support == ()


@given(
    seed=st.integers(0, 10_000),
    n_values=st.integers(3, 12),
    drawn=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_what_is_drawn_is_one_of_the_values_and_those_stay(seed, n_values, drawn):
    rng = np.random.default_rng(seed)
    values = np.repeat((rng.choice(1000, n_values, replace=False) + 0.5) / 4, 5)
    frame = pd.DataFrame({"x": values, "z": np.arange(len(values)) % 7})
    table = read_frame(frame)
    column = table.schema.features[0]

    stored = column.store(np.array(drawn))

    assert set(stored) <= set(values)
    assert (column.store(values) == values).all()
    assert write_frame(table).equals(frame)


def test_amounts_beside_many_zeros_are_not_few():
    values = np.zeros(100)
    values[[3, 30, 60, 90]] = [12.5, 80.25, 7.1, 33.3]

    assert column_of(values).support == ()


def test_a_saved_schema_knows_the_values_and_older_ones_have_none():
    table = read_frame(pd.DataFrame({"x": [0.5, 1.0, 2.5] * 8, "z": [1, 2] * 12}))
    saved = schema_to_json(table.schema)

    again = schema_from_json(saved)
    del saved["features"][0]["support"]

    assert again == table.schema
    assert schema_from_json(saved).features[0].support == ()
    assert "support" not in saved["features"][1]


@pytest.mark.parametrize("dtype", ["float32", "Float64", "float64"])
def test_every_kind_of_float_has_them(dtype):
    frame = pd.DataFrame({"x": pd.Series([0.1, 0.2, 0.7] * 8, dtype=dtype)})
    table = read_frame(frame.assign(z=range(24)))

    stored = table.schema.features[0].store(np.array([0.11, 0.6]))

    assert stored.tolist() == [float(frame["x"][0]), float(frame["x"][2])]
