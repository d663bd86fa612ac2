"""A table whose truth is known, for methods that learn."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame


@pytest.fixture(scope="session")
def truth():
    """Give 400 rows: two numbers of correlation 0.8, one around each label's center.

    ``first`` and ``second`` have correlation 0.8, ``apart`` lies around -2 or 2 by the
    label, which is "low" in three rows of ten, and ``sign`` is the sign of ``first``.
    """
    rng = np.random.default_rng(11)
    low = np.arange(400) % 10 < 3
    first, other = rng.normal(size=(2, 400))
    frame = pd.DataFrame(
        {
            "first": first,
            "second": 0.8 * first + 0.6 * other,
            "apart": np.where(low, -2.0, 2.0) + 0.5 * rng.normal(size=400),
            "sign": np.where(first > 0, "plus", "minus"),
            "label": np.where(low, "low", "high"),
        }
    )
    return read_frame(frame, "label")


@pytest.fixture(scope="session")
def findings():
    """Measure in a table what is known of ``truth``."""

    def measure(table):
        low = table.target == table.schema.target.column.levels.index("low")
        plus = table.schema.features[3].levels.index("plus")
        numbers = table.numeric
        return {
            "correlation": np.corrcoef(numbers[:, 0], numbers[:, 1])[0, 1],
            "deviation": numbers[:, 0].std(),
            "low": low.mean(),
            "apart low": numbers[low, 2].mean(),
            "apart high": numbers[~low, 2].mean(),
            "sign kept": (
                (table.categorical[:, 0] == plus) == (numbers[:, 0] > 0)
            ).mean(),
        }

    return measure


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def make_rows():
    """Make rows with a seed, and forget how long it took."""

    def make(method, train, n, seed=0):
        return method.make(train, n, np.random.default_rng(seed), Stopwatch())

    return make


@pytest.fixture
def read_columns():
    """Read a table from columns; the last one is the target."""

    def read(**columns):
        frame = pd.DataFrame(columns)
        return read_frame(frame, frame.columns[-1])

    return read


@pytest.fixture
def energy():
    """Give the energy distance between two clouds of points; 0 if they are alike."""

    def distance(one, other):
        apart = 2 * cdist(one, other).mean()
        return apart - cdist(one, one).mean() - cdist(other, other).mean()

    return distance
