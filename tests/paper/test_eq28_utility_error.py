"""Equations 27 to 29: a utility errs by at most twice what a loss errs by.

The bound is reached, so it cannot be made smaller.
"""

import numpy as np
import pytest

from tabtap.config import UtilityConfig
from tabtap.domain import ClassPrediction
from tabtap.evaluate.judging import FoldUtility

EPSILON = 0.05


class Slanted:
    """Knows each loss of equation 1 up to an error that a function chooses."""

    name = "slanted"

    def __init__(self, error):
        self.error = error

    def predict(self, contexts, queries):
        return [
            ClassPrediction(self._stated(context, asked))
            for context, asked in zip(contexts, queries, strict=True)
        ]

    def _stated(self, context, asked):
        true_loss = 0.5 + 0.3 * np.cos(len(context) + asked.cells[0])
        likely = np.exp(-(true_loss + self.error(context, asked)))
        stated = np.empty((len(asked), 2))
        rows = np.arange(len(asked))
        stated[rows, asked.target] = likely
        stated[rows, 1 - asked.target] = 1 - likely
        return stated


def gain_of(real, lineages, added, error):
    # The focus is all rows, so that errors cannot move it.
    config = UtilityConfig(focus_fraction=1.0)
    utility = FoldUtility(real, lineages, Slanted(error), config)
    return utility.gains(utility.baseline(real.empty()), [added])[0].gain


@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_a_utility_is_at_most_twice_that_of_a_loss(
    real, lineages, make_rows, seed
):
    rng = np.random.default_rng(seed)
    added = make_rows(seed)

    def wrong(_context, asked):
        return rng.uniform(-EPSILON, EPSILON, len(asked))

    true = gain_of(real, lineages, added, lambda _context, _asked: 0.0)
    found = gain_of(real, lineages, added, wrong)

    assert 0 < abs(found - true) <= 2 * EPSILON


def test_the_bound_is_reached_when_losses_err_in_opposite_directions(
    real, lineages, make_rows
):
    def opposite(context, _asked):
        return EPSILON if len(context) == 24 else -EPSILON  # before, and after

    added = make_rows(0)
    true = gain_of(real, lineages, added, lambda _context, _asked: 0.0)
    found = gain_of(real, lineages, added, opposite)

    assert found - true == pytest.approx(2 * EPSILON)
