"""One small table of each sort a generator may meet, by name."""

import numpy as np
import pandas as pd
import pytest

from tabtap.table import read_frame


def _labels(n_rows, rng):
    """Return labels of which each class has at least two rows."""
    return np.resize(["ill", "well", "well"], n_rows)[rng.permutation(n_rows)]


def _only_numbers(rng, n_rows=60):
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n_rows).round(2),
            "steps": 500 + 10 * rng.integers(0, 400, n_rows),
            "raw": rng.lognormal(size=n_rows),
            "label": _labels(n_rows, rng),
        }
    )
    return read_frame(frame, "label")


def _only_categories(rng, n_rows=60):
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "size": pd.Categorical(
                rng.choice(["s", "m"], n_rows), ["s", "m", "xl"], ordered=True
            ),
            "label": _labels(n_rows, rng),
        }
    )
    return read_frame(frame, "label")


def _holes(rng, n_rows=60):
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n_rows).round(1),
            "pulse": pd.array(rng.integers(50, 90, n_rows), dtype="Int64"),
            "systolic": rng.normal(120, 9, n_rows),
            "diastolic": rng.normal(80, 9, n_rows),
            "colour": rng.choice(["red", "green", "blue"], n_rows).astype(object),
            "label": _labels(n_rows, rng),
        }
    )
    # The two pressures are measured together or not at all.
    frame.loc[rng.random(n_rows) < 0.3, ["systolic", "diastolic"]] = np.nan
    frame.loc[rng.random(n_rows) < 0.2, "pulse"] = pd.NA
    frame.loc[rng.random(n_rows) < 0.2, "colour"] = None
    return read_frame(frame, "label")


def _flags(rng, n_rows=60):
    fault = rng.integers(0, 4, n_rows)
    frame = pd.DataFrame({f"fault {k}": (fault == k).astype(int) for k in range(3)})
    frame["smoker"] = rng.random(n_rows) < 0.4
    frame["insured"] = pd.array(rng.random(n_rows) < 0.5, dtype="boolean")
    frame.loc[rng.random(n_rows) < 0.2, "insured"] = pd.NA
    frame["label"] = _labels(n_rows, rng)
    return read_frame(frame, "label")


def _times(rng, n_rows=60):
    days = pd.to_timedelta(rng.integers(0, 400, n_rows), unit="D")
    seen = (pd.Timestamp("2024-01-01") + days).tz_localize("Europe/Berlin")
    frame = pd.DataFrame(
        {"seen": seen, "dose": rng.normal(size=n_rows), "label": _labels(n_rows, rng)}
    )
    frame.loc[3, "seen"] = pd.NaT
    return read_frame(frame, "label")


def _identifiers(rng, n_rows=60):
    frame = pd.DataFrame(
        {
            "patient_id": [f"p{k:04d}" for k in rng.permutation(n_rows)],
            "site": "Ulm",
            "dose": rng.normal(size=n_rows),
            "label": _labels(n_rows, rng),
        }
    )
    return read_frame(frame, "label")


def _twelve_rows(rng):
    return _holes(rng, n_rows=12)


def _one_feature(rng):
    frame = pd.DataFrame({"dose": rng.normal(size=40), "label": _labels(40, rng)})
    return read_frame(frame, "label")


def _regression(rng, n_rows=70):
    dose = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "dose": dose,
            "colour": rng.choice(["red", "green"], n_rows),
            "price": (100 + 20 * dose + rng.normal(size=n_rows)).round(2),
        }
    )
    return read_frame(frame, "price")


def _many_levels(rng):
    # 5,000 levels, some of them twice: far more than have a token of their own.
    towns = np.concatenate([np.arange(5000), rng.integers(0, 20, 1000)])
    frame = pd.DataFrame(
        {
            "town": pd.Categorical([f"town {k}" for k in towns]),
            "dose": rng.normal(size=6000),
            "label": _labels(6000, rng),
        }
    )
    return read_frame(frame, "label", kinds={"town": "category"})


def _no_target(rng):
    frame = pd.DataFrame(
        {"dose": rng.normal(size=50), "colour": rng.choice(["red", "green"], 50)}
    )
    return read_frame(frame)


SORTS = {
    "only numbers": _only_numbers,
    "only categories": _only_categories,
    "holes": _holes,
    "flags": _flags,
    "times": _times,
    "identifiers": _identifiers,
    "twelve rows": _twelve_rows,
    "one feature": _one_feature,
    "regression": _regression,
    "many levels": _many_levels,
    "no target": _no_target,
}


@pytest.fixture(scope="session", params=SORTS)
def table(request):
    """Give every sort of table in turn."""
    return SORTS[request.param](np.random.default_rng(7))


@pytest.fixture(scope="session")
def sorts():
    """Give the makers of all sorts of tables by name, for those who want only some."""
    return SORTS
