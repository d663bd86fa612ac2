"""A small table, its folds, and rows made from it, for the equations about loss."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabtap.domain import Lineages
from tabtap.evaluate.learners import encode
from tabtap.table.table import concat


@pytest.fixture
def real(build_table):
    """Give 30 rows of two classes that one of two columns tells apart."""
    rng = np.random.default_rng(0)
    label = np.arange(30) % 2
    return build_table(label, label + rng.normal(size=30), rng.normal(size=30))


@pytest.fixture
def lineages():
    """Give the paper's single lineage, and five folds."""
    return Lineages(np.arange(30) % 5, crossfit=False)


@pytest.fixture
def make_rows(real):
    """Make synthetic rows: real ones with noise added, a new set for every seed."""

    def make(seed, n_rows=8):
        rng = np.random.default_rng(seed)
        rows = real.take(rng.integers(len(real), size=n_rows))
        cells = tuple(cell + 0.5 * rng.normal(size=n_rows) for cell in rows.cells)
        return replace(rows, cells=cells)

    return make


@pytest.fixture
def answers_by_hand(real, lineages):
    """Refit a logistic regression on D without each fold; p of every real row."""

    def answer(*beside):
        stated = np.empty((len(real), 2))
        for fold in range(lineages.n_folds):
            asked = lineages.fold == fold
            context = concat([real.take(~asked), *beside])
            seen, (unseen,) = encode(context, [real.take(asked)])
            model = LogisticRegression(random_state=42).fit(seen, context.target)
            stated[asked] = model.predict_proba(unseen)
        return stated

    return answer


@pytest.fixture
def losses_by_hand(real, answers_by_hand):
    def losses(*beside):
        return -np.log(answers_by_hand(*beside)[np.arange(len(real)), real.target])

    return losses
