"""A fingerprint of rows, the same whatever container they come from."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.table import Table


def table_sha256(table: Table) -> str:
    """Return the SHA-256 of the cells, holes and targets of some rows, in order."""
    digest = hashlib.sha256()
    for cells, hole in zip(table.cells, table.missing.T, strict=True):
        # What lies under a hole is not part of the row.
        shown = np.where(hole > 0, np.zeros(1, cells.dtype), cells)
        digest.update(_little_endian(shown))
    digest.update(_little_endian(table.missing))
    digest.update(_little_endian(table.target))
    return digest.hexdigest()


def _little_endian(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
