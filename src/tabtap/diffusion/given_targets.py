"""Regression targets that are drawn before their row, and given to the network.

A class is given and its row is drawn.  A number is treated alike: first a target, as
smoothed as the training rows are and inside the bin that was asked for, then the row.
"""

from __future__ import annotations

import numpy as np

from tabtap.diffusion.encoding import Encoding, numbers_of
from tabtap.diffusion.scaling import fold_into
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table


def first_targets(encoding: Encoding, bins: IntArray, chance: FloatArray) -> FloatArray:
    """Return the target of a training row for each bin.

    Parameters
    ----------
    encoding : Encoding
        Of a table whose regression target is given.
    bins : array of shape (n_rows,)
        Bins that have training rows.
    chance : array of shape (n_rows,)
        Numbers from 0 to below 1 that decide which of a bin's it is.
    """
    own = np.searchsorted(_edges(encoding)[1:-1], encoding.targets, side="left")
    start = np.searchsorted(own, bins, side="left")
    count = np.searchsorted(own, bins, side="right") - start
    place = start + (chance * count).astype(np.int64)
    # A bin of a very large table may have none of the targets that were kept.
    known = encoding.targets[np.minimum(place, len(encoding.targets) - 1)]
    return np.where(count > 0, known, encoding.target_low[bins])


def move_targets(encoding: Encoding, table: Table, noise: FloatArray) -> Table:
    """Return the table with targets near its own, each inside its bin.

    Parameters
    ----------
    encoding : Encoding
        Of a table whose regression target is given.
    table : Table
        Rows of its schema.
    noise : array of shape (n_rows,)
        Standard normal numbers: targets are smoothed as the training rows are.
    """
    bandwidth, bins = encoding.target_bandwidth[0], table.condition
    numbers = np.nan_to_num(encoding.scaling.encode(numbers_of(table)))
    numbers[:, -1] *= np.sqrt(1 - bandwidth**2)
    numbers[:, -1] += bandwidth * noise
    values = encoding.scaling.decode(numbers)[:, -1]
    edges = _edges(encoding)
    moved = table.with_target(fold_into(values, edges[bins], edges[bins + 1]))
    # Rounded as real ones are, a few have left their bin.
    inside = fold_into(values, encoding.target_low[bins], encoding.target_high[bins])
    strayed = moved.condition != bins
    return table.with_target(np.where(strayed, inside, moved.target_values))


def _edges(encoding: Encoding) -> FloatArray:
    """Return the ends of all bins; the outermost are those of the real targets."""
    target, scaling = encoding.schema.target, encoding.scaling
    inner = () if target is None else target.edges
    return np.clip([-np.inf, *inner, np.inf], scaling.low[-1], scaling.high[-1])
