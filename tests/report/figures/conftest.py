"""Results by hand, whose rows are known, for the figures and tables about them."""

import numpy as np
import pandas as pd
import pytest

from tabtap.domain import Candidates
from tabtap.loop import Stop
from tabtap.result import AugmentResult, RunAbout
from tabtap.rivals.simple import independent_columns
from tabtap.table import read_frame

HOSTILE = {
    "<script>alert(1)</script>": "number",
    "$a_b$ \\frac^2": "number",
    "x" * 300: "number",
    "שלום": "number",
    "列": "number",
    7: "number",
    "": "number",
    "levels": "level",
}


@pytest.fixture(scope="session")
def result_of():
    """Return a result of two tables of one schema."""

    def make(real, new, **claims):
        about = {"seed": 0, "budget": 9, "settings": {}}
        about |= {name: claims.pop(name) for name in ("groups",) if name in claims}
        return AugmentResult(
            real=real,
            delivered=Candidates(
                new, new.missing < 0, np.zeros(len(new), dtype=np.int64)
            ),
            stop=Stop.BUDGET,
            about=RunAbout(**about),
            **claims,
        )

    return make


@pytest.fixture(scope="session")
def shuffled(result_of):
    """Return a result whose new rows draw every column from its own real values."""

    def make(frame, target, n_rows=40, **claims):
        real = read_frame(frame, target)
        rows = independent_columns(real, n_rows, np.random.default_rng(0))
        return result_of(real, rows, **claims)

    return make


def _levels(rng, n_rows):
    names = ["<b>", "$x$", "\u202eabcאבג", "\x00bell", "😀"]
    return rng.choice(names, n_rows)


def _frames():
    rng = np.random.default_rng(0)
    n = 48
    label = np.resize(["a", "b", "c"], n)
    number = rng.normal(size=n)
    holes = rng.random((3, n)) < 0.3
    start = pd.Timestamp("2020-01-01")
    days = start + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    moments = start + pd.to_timedelta(rng.integers(0, 9999, n), unit="min")
    hostile = {
        name: rng.normal(size=n) if kind == "number" else _levels(rng, n)
        for name, kind in HOSTILE.items()
    }
    codes = {f"c{k}": rng.choice(list("uvwxyz")[: 2 + k], n) for k in range(5)}
    return {
        "categories only": pd.DataFrame(codes).assign(y=label),
        "one number": pd.DataFrame({"x": number, "y": label}),
        "one level": pd.DataFrame({"x": np.resize(["u", "v"], n), "y": label}),
        "holes and a constant": pd.DataFrame(
            {
                "x": np.where(holes[0], np.nan, number),
                "k": pd.Series(rng.integers(0, 90, n)).mask(holes[1]),
                "c": pd.Series(np.resize(["u", "v", "w"], n)).mask(holes[2]),
                "same": 1,
                "y": label,
            }
        ),
        "huge and tiny": pd.DataFrame(
            {
                "x": 1e308 * rng.uniform(-1, 1, n),
                "t": 1e-300 * number,
                "big": 2**62 + rng.integers(0, 99, n),
                "y": 1e200 * rng.normal(size=n),
            }
        ),
        "times": pd.DataFrame(
            {
                "day": days,
                "moment": moments.tz_localize("Europe/Berlin"),
                "long": pd.to_timedelta(rng.integers(60, 9000, n), unit="s"),
                "y": number,
            }
        ),
        "hostile names": pd.DataFrame(hostile).assign(
            **{"y&\"'": np.where(label == "a", "<i>a</i>", label)}
        ),
    }


FRAMES = _frames()


@pytest.fixture(scope="session", params=list(FRAMES))
def any_result(request, shuffled):
    """Return a result of each kind of table that there is."""
    frame = FRAMES[request.param]
    return shuffled(frame, frame.columns[-1])
