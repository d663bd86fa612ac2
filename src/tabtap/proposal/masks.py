"""Which cells of each candidate are redrawn."""

from __future__ import annotations

import numpy as np

from tabtap.domain import Template
from tabtap.proposal.columns import learned_columns
from tabtap.table.schema import BoolArray, Schema


def free_columns(schema: Schema, template: Template, important: BoolArray) -> BoolArray:
    """Tell which features a template may redraw; constants and identifiers never."""
    able = learned_columns(schema)
    return able if template is Template.EXPLORE else able & ~important


def draw_masks(
    free: BoolArray, exploration: float, n_rows: int, rng: np.random.Generator
) -> BoolArray:
    """Draw the cells that are redrawn, anew for every candidate.

    Parameters
    ----------
    free : bool array of shape (n_features,)
        Columns that may be redrawn.
    exploration : float
        Share of them that is, in [0, 1].
    n_rows : int
        Candidates.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    bool array of shape (n_rows, n_features)
        True where a cell is redrawn.  The number in a row is the share to within one,
        and exactly so on average, but at least 1 if any column is free.

    Notes
    -----
    p_mask in equation 11, as decided in DECISIONS.md, entry 3.

    Examples
    --------
    >>> free = np.array([True, True, False, True, True])
    >>> draw_masks(free, 0.5, 3, np.random.default_rng(0)).sum(axis=1)
    array([2, 2, 2])
    """
    columns = np.flatnonzero(free)
    # Rounded, so that a share of a tenth of ten columns is one, not a bit less.
    wanted = np.round(exploration * len(columns), 9)
    count = np.floor(wanted + rng.random(n_rows)).clip(1, len(columns))
    luck = rng.random((n_rows, len(columns))).argsort(axis=1).argsort(axis=1)
    masks = np.zeros((n_rows, len(free)), dtype=np.bool_)
    masks[:, columns] = luck < count[:, None]
    return masks
