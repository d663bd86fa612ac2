import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tabtap.result.files import parquet_bytes


def read(frame):
    return pd.read_parquet(io.BytesIO(parquet_bytes(frame)))


def test_what_parquet_can_say_comes_back_in_its_types():
    frame = pd.DataFrame(
        {
            "big": [2**53 + 1, -1],
            "time": pd.to_datetime(["2024", None]).tz_localize("Europe/Berlin"),
            "place": pd.Categorical(["a", None]),
            "day": [dt.date(2020, 2, 29), None],
            "price": [Decimal("1.10"), None],
            "wait": pd.to_timedelta([1, 2], unit="s"),
            "half": np.array([0.5, np.nan], dtype=np.float16),
        }
    )

    back = read(frame)

    assert back["big"].tolist() == frame["big"].tolist()
    assert str(back["time"].dtype).endswith("Europe/Berlin]")
    assert back["place"].tolist()[0] == "a"
    assert back["place"].isna().tolist() == [False, True]
    assert back["day"].tolist() == frame["day"].tolist()
    assert back["price"].tolist() == frame["price"].tolist()
    assert back["wait"].tolist() == frame["wait"].tolist()


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        ([1, "a", None], ["1", "a", None]),
        (["\ud800", "b", float("nan")], ["?", "b", None]),
        ([pd.NaT, pd.NA, 2j], [None, None, "2j"]),
    ],
    ids=["mixed", "half a character", "complex"],
)
def test_what_parquet_cannot_say_is_text(cells, texts):
    series = pd.Series(cells, dtype=object)

    back = read(pd.DataFrame({"odd": series}))["odd"]

    assert [None if pd.isna(value) else value for value in back] == texts


def test_names_become_texts_of_which_no_two_are_the_same():
    frame = pd.DataFrame([[1, 2, 3]])
    frame.columns = pd.Index([1, "1", ("a", "b")], dtype=object, tupleize_cols=False)

    assert list(read(frame).columns) == ["1", "1.1", "('a', 'b')"]


def test_polars_arrays_and_empty_frames_are_written():
    polars = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})

    assert read(polars)["b"].tolist() == ["x", "y"]
    assert read(np.array([["a", "b"]])).shape == (1, 2)
    assert list(read(pd.DataFrame({"a": pd.Series([], dtype="int64")}))) == ["a"]
