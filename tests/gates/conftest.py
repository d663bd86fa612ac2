import numpy as np
import pandas as pd
import pytest

from tabtap.table import read_frame


@pytest.fixture(scope="session")
def visits_frame():
    """Have one column of every sort that a rule can speak of, with holes in some."""
    rng = np.random.default_rng(5)
    n = 60
    came = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 95, n),
            "weight kg": rng.normal(70, 12, n).round(1),
            "größe": rng.normal(170, 9, n),
            "sex": rng.choice(["female", "male"], n),
            "pregnant": rng.choice(["no", "yes"], n),
            "stage": pd.Categorical(
                rng.choice(["I", "II", "III"], n),
                ["I", "II", "III", "IV"],
                ordered=True,
            ),
            "rooms": rng.choice([1, 2, 3], n),
            "smoker": rng.random(n) < 0.4,
            "city": rng.choice(["Bonn", "Ulm", "Wien"], n),
            "came": came,
            "left": came + pd.to_timedelta(rng.integers(0, 20, n), "D"),
            "opened": pd.date_range("2024-03-30 22:00", periods=n, freq="h", tz="UTC")
            .tz_convert("Europe/Berlin")
            .as_unit("us"),
            "wait": pd.to_timedelta(rng.integers(0, 72, n), "h"),
            "class": rng.choice(["a", "b"], n),
            "label": rng.choice(["ill", "well"], n),
        }
    )
    frame["country"] = np.where(frame["city"] == "Wien", "AT", "DE")
    frame.loc[::7, "weight kg"] = np.nan
    frame.loc[::9, "sex"] = None
    frame.loc[::8, "left"] = pd.NaT
    return frame


@pytest.fixture(scope="session")
def visits(visits_frame):
    kinds = {"rooms": "category", "city": "category", "opened": "datetime"}
    return read_frame(visits_frame, "label", kinds=kinds)
