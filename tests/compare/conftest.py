"""Rows of known labels, and records of learners whose answers are known."""

import numpy as np
import pytest

from tabtap.compare.standings import AskedRows


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def coins(build_table):
    """Give a hundred rows of two classes by turns, in five folds; nobody's to train."""
    label = np.arange(100) % 2
    return AskedRows(build_table(label, label * 1.0), np.arange(100) // 20)


@pytest.fixture
def record():
    """Make the record of a cell from what learners say of rows of two classes.

    A learner's figures are the probabilities that it gives the true labels.
    """

    def make(method, *, split=0, seconds=1.0, n_rows=10, reason=None, **stated):
        asked = np.arange(len(next(iter(stated.values()))))
        return {
            "cell": {"method": method, "split": split},
            "asked": asked.tolist(),
            "answers": {name: _stated(asked, p) for name, p in stated.items()},
            "n_rows": n_rows,
            "failure": None if reason is None else {"reason": reason},
            "costs": {"cpu_seconds": {"method": seconds}},
        }

    return make


def _stated(asked, of_truth):
    p = np.asarray(of_truth, dtype=float)
    stated = np.empty((len(p), 2))
    stated[np.arange(len(p)), asked % 2] = p
    stated[np.arange(len(p)), 1 - asked % 2] = 1 - p
    return stated


@pytest.fixture
def sure():
    """Give the right label of so many of a hundred rows a probability of 0.8."""

    def make(n_right):
        # Wrong ones are spread over the folds.
        is_right = (np.arange(100) * 37) % 100 < n_right
        return np.where(is_right, 0.8, 0.2)

    return make
