import numpy as np
import pandas as pd
import pytest

from tabtap.domain import Action, Lineages, Template
from tabtap.table import read_frame


class NoiseStack:
    """Redraws numbers as noise of the row's own seed; levels as a level by chance."""

    def __init__(self, unseen_folds, most_rows=None, error=None):
        self.unseen_folds = tuple(unseen_folds)
        self.most_rows = most_rows
        self.error = error
        self.calls = []

    def inpaint_seeded(self, anchors, regenerate, seeds, *, redraw_target=False):
        self.calls.append([len(rows) for rows in anchors])
        if self.most_rows is not None and max(self.calls[-1]) > self.most_rows:
            raise self.error
        triples = zip(anchors, regenerate, seeds, strict=True)
        return [_redrawn(*triple, redraw_target) for triple in triples]


def _redrawn(rows, mask, seeds, redraw_target):
    numbers, codes, target = rows.numeric, rows.categorical, rows.target_values
    for row, seed in enumerate(seeds):
        rng = np.random.default_rng(int(seed))
        numbers[row] = rng.normal(size=numbers.shape[1])
        codes[row] = rng.integers(0, 2, codes.shape[1])
        target[row] += 1e-9 * rng.random()
    made = rows.redrawn(mask, numbers, codes)
    return made.with_target(target) if redraw_target else made


@pytest.fixture(scope="session")
def noise_stack():
    return NoiseStack


@pytest.fixture(scope="session")
def crossfit():
    """Give lineages of three folds, dealt out in turn."""

    def make(n_rows, n_folds=3):
        return Lineages(np.arange(n_rows) % n_folds, crossfit=True)

    return make


@pytest.fixture(scope="session")
def act():
    def make(target=0, template=Template.EXPLORE, exploration=0.5):
        return Action(target, template, exploration, exploration)

    return make


@pytest.fixture(scope="session")
def people():
    """Give 30 rows of two classes: numbers, a level, a constant and an identifier."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "patient_id": [f"p{k:03d}" for k in rng.permutation(30)],
            **{f"number {k}": rng.normal(size=30) for k in range(6)},
            "colour": rng.choice(["red", "green"], 30),
            "site": "Ulm",
            "label": np.repeat(["ill", "well"], [12, 18]),
        }
    )
    return read_frame(frame, "label")


@pytest.fixture(scope="session")
def content():
    """Return everything of a table but its schema, as bytes."""

    def read(table):
        rest = table.missing, table.target, table.origin, table.unseen_fold
        return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]

    return read
