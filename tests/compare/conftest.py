import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from tabtap.stopwatch import Stopwatch
from tabtap.table import read_frame


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
