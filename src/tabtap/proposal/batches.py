"""Drawing in one batch, or in as few as fit into memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import SmallerBatchWarning
from tabtap.table.schema import BoolArray
from tabtap.table.table import Table, concat

SeedArray = NDArray[np.uint64]

_SIGNS = ("out of memory", "not enough memory", "can't allocate memory")
"""How torch says that an allocation failed, depending on the device and system."""


class InpainterStack(Protocol):
    """Backbones of several lineages, asked together; ``diffusion`` has one."""

    @property
    def unseen_folds(self) -> tuple[int, ...]:
        """The fold that each member has never seen; -1 if it saw all rows."""

    def inpaint_seeded(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells, one table for each member and one seed for each row."""


class Batches:
    """Asks a stack for rows, fewer at a time once they do not fit into memory.

    A row's result depends on its own seed only, so the same rows come out either way.
    """

    def __init__(self, stack: InpainterStack) -> None:
        self._stack = stack
        self._limit: int | None = None

    def draw(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[SeedArray],
        *,
        redraw_target: bool,
    ) -> list[Table]:
        """Redraw chosen cells, one table for each member."""
        longest = max(len(rows) for rows in anchors)
        drawn = [[rows.empty()] for rows in anchors]
        start = 0
        while start < longest:
            size = min(self._limit or longest, longest - start)
            rows = slice(start, start + size)
            try:
                made = self._stack.inpaint_seeded(
                    [part.take(np.arange(len(part))[rows]) for part in anchors],
                    [part[rows] for part in regenerate],
                    [part[rows] for part in seeds],
                    redraw_target=redraw_target,
                )
            except (MemoryError, RuntimeError) as error:
                if size == 1 or not _is_out_of_memory(error):
                    raise
                made = None
            # Tried again out here, where nothing holds on to the failed batch.
            if made is None:
                self._shrink(size)
                continue
            for member, part in enumerate(made):
                drawn[member].append(part)
            start += size
        return [concat(parts) for parts in drawn]

    def _shrink(self, size: int) -> None:
        if self._limit is None:
            warnings.warn(
                f"Drawing {size} rows from each backbone at a time needs more memory "
                "than there is; fewer are drawn at a time, with the same result. For "
                "more speed free some memory, or lower actions_per_batch or "
                "candidates_per_step.",
                SmallerBatchWarning,
                stacklevel=2,
            )
        self._limit = (size + 1) // 2


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError):
        return True
    return any(sign in str(error).lower() for sign in _SIGNS)
