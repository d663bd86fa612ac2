"""Real rows drawn once more: what no generator can be expected to beat by much."""

from __future__ import annotations

import numpy as np

from tabtap.table.schema import IntArray
from tabtap.table.table import Table


def drawn_again(real: Table, condition: IntArray, rng: np.random.Generator) -> Table:
    """Draw real rows with replacement, with a given mix of targets.

    Parameters
    ----------
    real : Table
        Rows to draw from.
    condition : array of shape (n_rows,)
        Class or target bin wanted of each row.  Synthetic rows have a mix of their own
        by intent, which must not be held against them.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    Table
        One row per entry of ``condition``, of that class or bin; any row where there
        is none of it.
    """
    everyone = np.arange(len(real))
    chosen = np.empty(len(condition), dtype=np.int64)
    for wanted in np.unique(condition):
        rows = np.flatnonzero(real.condition == wanted)
        places = np.flatnonzero(condition == wanted)
        chosen[places] = rng.choice(rows if len(rows) else everyone, len(places))
    return real.take(chosen)
