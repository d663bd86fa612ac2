"""Which real rows a question is about: the hardest of each fold."""

from __future__ import annotations

import math

import numpy as np

from tabtap.errors import UserInputError
from tabtap.table.schema import FloatArray, IntArray


def hardest_rows(hardness: FloatArray, fraction: float) -> IntArray:
    """Pick the hardest share of some query rows.

    Parameters
    ----------
    hardness : array of shape (n_rows,)
        Entropy for classification, absolute residual for regression.
    fraction : float
        Share of the rows to keep, in (0, 1].  At least one row is always kept.

    Returns
    -------
    array of shape (n_kept,)
        Row numbers, hardest first.  Equally hard rows keep their order.

    Raises
    ------
    UserInputError
        If there is no row to pick from or a hardness is NaN.

    Notes
    -----
    The result is Q_hard in equation 13.  It is chosen once per window, from D_t alone,
    and reused for D_t plus candidates: two losses are only comparable on the same rows.

    Examples
    --------
    >>> hardest_rows(np.array([0.1, 0.9, 0.5, 0.9]), fraction=0.5)
    array([1, 3])
    """
    if len(hardness) == 0:
        raise UserInputError("No query rows were given. Use fewer folds or more rows.")
    if np.isnan(hardness).any():
        bad = int(np.isnan(hardness).argmax())
        raise UserInputError(
            f"The evaluator returned NaN for query row {bad}. "
            "Check that every column it sees is finite."
        )
    n_kept = max(1, math.ceil(fraction * len(hardness)))
    return np.argsort(-hardness, kind="stable")[:n_kept]
