import sys
from pathlib import Path

import numpy as np
import pytest

from tabtap.datasets import load_penguins
from tabtap.table import read_frame

# Benchmarks are scripts: they find each other beside themselves.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(scope="session")
def birds():
    return read_frame(load_penguins(), target="species")


@pytest.fixture(scope="session")
def sums():
    """Three numbers and, as regression target, their sum."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, 3))
    return read_frame(numbers, y=numbers.sum(axis=1), task="regression")


@pytest.fixture
def make_record():
    """Build a usefulness record; only what a test is about need be given."""

    def make(method, mean, **other):
        record = {
            "table": "credit-g",
            "n_real": 20,
            "split": 0,
            "seed": 0,
            "config": {},
            "metric": "accuracy",
            "commit": "abc",
            "date": "2026-01-02",
            "machine": "a processor",
        }
        return {**record, "method": method, "mean": mean, **other}

    return make
