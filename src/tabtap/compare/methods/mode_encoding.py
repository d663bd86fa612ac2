"""A table as CTGAN and TVAE see it: places within modes, then one-hot blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tabtap.compare.methods.blocks import Blocks, to_codes
from tabtap.compare.methods.flat import FlatColumns, FlatRows
from tabtap.compare.methods.modes import ModeScale
from tabtap.table.table import Table


class ModeRows(NamedTuple):
    """Encoded rows."""

    places: Tensor
    """Place of each number within its mode, in [-1, 1]."""

    codes: Tensor
    """Mode of each number, then the code columns of ``FlatColumns``."""


@dataclass(frozen=True, slots=True, eq=False)
class ModeEncoding:
    """Everything fitted on the training rows before a network sees them."""

    columns: FlatColumns
    modes: ModeScale
    blocks: Blocks

    @classmethod
    def of(cls, train: Table, rng: np.random.Generator) -> ModeEncoding:
        """Fit modes and levels; the label is one more column."""
        columns = FlatColumns.of(train)
        modes = ModeScale.of(columns.rows(train).numbers, rng)
        return cls(columns, modes, Blocks.of(modes.sizes + columns.sizes))

    @property
    def n_numbers(self) -> int:
        """Number of places."""
        return self.columns.n_numbers

    @property
    def width(self) -> int:
        """Columns of the matrix that a network sees."""
        return self.n_numbers + self.blocks.width

    def rows(self, train: Table, rng: np.random.Generator) -> ModeRows:
        """Return the training rows, with modes drawn for their numbers."""
        flat = self.columns.rows(train)
        places, modes = self.modes.encode(flat.numbers, rng)
        codes = np.hstack([modes, flat.codes])
        return ModeRows(
            torch.from_numpy(places.astype(np.float32)), torch.from_numpy(codes)
        )

    def matrix(self, rows: ModeRows) -> Tensor:
        """Return rows as one matrix, places before blocks."""
        return torch.cat([rows.places, self.blocks.one_hot(rows.codes)], dim=1)

    def table(self, rows: ModeRows) -> Table:
        """Return drawn rows as a table."""
        codes = to_codes(rows.codes)
        places = np.asarray(rows.places.numpy(), dtype=np.float64)
        numbers = self.modes.decode(places, codes[:, : self.n_numbers])
        return self.columns.table(FlatRows(numbers, codes[:, self.n_numbers :]))
