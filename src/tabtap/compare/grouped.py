"""A split of the study that keeps rows that belong together on one side.

Fifteen rows of one mouse are nearly copies: a random split asks predictors about mice
that they have seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import UserInputError
from tabtap.table.schema import IntArray
from tabtap.table.split import MAX_TEST_ROWS, Split, allot


def grouped_split(
    condition: IntArray,
    groups: IntArray,
    n_real: int,
    rng: np.random.Generator,
) -> Split:
    """Deal out test, training and validation rows, whole groups to one side.

    Parameters
    ----------
    condition : array of shape (n_rows,)
        Class code or target bin of every row; shares are kept by it.
    groups : array of shape (n_rows,)
        Whom each row belongs to.
    n_real : int
        Training rows; validation rows, a quarter as many, come on top.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    Split
        Half of the groups are for testing: at most ``min(n_rows // 2, 500)`` of their
        rows.  Training and validation rows come from the others.

    Raises
    ------
    UserInputError
        If the other half of the groups has too few rows.
    """
    for_test = _half_of_groups(condition, groups, rng)
    n_test = min(len(condition) // 2, MAX_TEST_ROWS, int(for_test.sum()))
    test = _drawn(condition, np.flatnonzero(for_test), n_test, rng)
    rest = np.flatnonzero(~for_test)
    if not 2 <= n_real <= len(rest):
        raise UserInputError(
            f"n_real={n_real} is not usable: {len(rest)} rows are left beside the "
            f"groups that test. Use a number from 2 to {len(rest)}."
        )
    train = _drawn(condition, rest, n_real, rng)
    rest = np.setdiff1d(rest, train)
    n_validation = min(-(-n_real // 4), len(rest))
    validation = _drawn(condition, rest, n_validation, rng)
    return Split(train=train, validation=validation, test=test)


def _half_of_groups(
    condition: IntArray, groups: IntArray, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return, for every row, whether its group is for testing; evenly by condition."""
    _, first, code = np.unique(groups, return_index=True, return_inverse=True)
    of_group = condition[first]
    chosen = np.zeros(len(first), dtype=np.bool_)
    for wanted in np.unique(of_group):
        members = rng.permutation(np.flatnonzero(of_group == wanted))
        # The odd one trains: a class that is only tested can never be right.
        chosen[members[: len(members) // 2]] = True
    return chosen[code]


def _drawn(
    condition: IntArray, rows: IntArray, n: int, rng: np.random.Generator
) -> IntArray:
    """Draw some of the rows, in the shares of their conditions."""
    present, code = np.unique(condition[rows], return_inverse=True)
    counts = np.bincount(code, minlength=len(present))
    quota = allot(counts, n, rng.random(len(present)), counts)
    picked = [
        rng.permutation(rows[code == place])[:size] for place, size in enumerate(quota)
    ]
    return rng.permutation(np.concatenate(picked))
