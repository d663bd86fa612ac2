"""Random numbers for sampling: every row has a stream of its own.

So a row's result depends on its own seed, never on the batch it happens to be in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SeedArray = NDArray[np.uint64]


class RowNoise(NamedTuple):
    """What the reverse process needs of chance, for some rows."""

    fresh: NDArray[np.float32]
    """Shape (n_rows, n_steps + 1, n_numbers): the start, then one for each step."""

    overwriting: NDArray[np.float32]
    """The same shape, for kept numbers; no rows unless they are overwritten."""

    order: NDArray[np.float32]
    """Shape (n_rows, n_groups): when tokens are uncovered."""

    pick: NDArray[np.float32]
    """Which token is drawn."""

    rare: NDArray[np.float64]
    """Which rare level a rare token becomes."""


def draw_row_noise(
    seeds: SeedArray, n_steps: int, n_numbers: int, n_groups: int, *, overwrite: bool
) -> RowNoise:
    """Draw every row's noise from the row's own seed."""
    shape = (len(seeds), n_steps + 1, n_numbers)
    fresh = np.empty(shape, dtype=np.float32)
    overwriting = np.empty(shape if overwrite else (0, 0, 0), dtype=np.float32)
    uniform = np.empty((3, len(seeds), n_groups))
    for row, seed in enumerate(seeds):
        rng = np.random.Generator(np.random.Philox(key=int(seed)))
        uniform[:, row] = rng.random((3, n_groups))
        rng.standard_normal(out=fresh[row], dtype=np.float32)
        if overwrite:
            rng.standard_normal(out=overwriting[row], dtype=np.float32)
    order, pick = uniform[:2].astype(np.float32)
    return RowNoise(fresh, overwriting, order, pick, uniform[2])
