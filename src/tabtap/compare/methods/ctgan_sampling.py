"""Training by sampling: which level CTGAN is asked for, and real rows that have it.

Xu et al. 2019, section 4.3.  A code column is chosen, each equally likely, then one of
its levels by the logarithm of how often it is met, so that rare levels are trained on.
Drawn rows are asked for levels as often as they are met.  (The authors' package keeps
to the logarithm there too, which makes rare levels commoner than they are.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tabtap.compare.methods.blocks import Blocks


class Wish(NamedTuple):
    """Which level of which code column is asked for, one for each row."""

    columns: Tensor
    levels: Tensor

    def take(self, rows: Tensor) -> Wish:
        """Return the wishes of some rows."""
        return Wish(self.columns[rows], self.levels[rows])


@dataclass(frozen=True, slots=True, eq=False)
class LevelSampler:
    """Levels of the code columns, how often each is met, and in which rows."""

    blocks: Blocks

    codes: Tensor
    """Code columns of the training rows; modes of numbers are not among them."""

    counts: Tensor
    """Rows of each level, shape (n_columns, most levels); 0 where there is none."""

    by_level: Tensor
    """Row numbers, sorted by their level in each column, shape (n_columns, n_rows)."""

    @classmethod
    def of(cls, codes: Tensor, sizes: tuple[int, ...]) -> LevelSampler:
        """Count the levels of some code columns."""
        counts = torch.zeros(len(sizes), max(sizes, default=1), dtype=torch.long)
        counts.scatter_add_(1, codes.T, torch.ones_like(codes.T))
        by_level = codes.T.argsort(dim=1, stable=True)
        return cls(Blocks.of(sizes), codes, counts, by_level)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.codes)

    def rare(self, n: int, generator: torch.Generator) -> Wish | None:
        """Draw levels to train on; None if there is no code column."""
        return self._draw((self.counts + 1).log(), n, generator)

    def common(self, n: int, generator: torch.Generator) -> Wish | None:
        """Draw levels as often as they are met; None if there is no code column."""
        return self._draw(self.counts.float(), n, generator)

    def real_rows(
        self, wish: Wish | None, n: int, generator: torch.Generator
    ) -> Tensor:
        """Draw the numbers of training rows that have the levels asked for."""
        if wish is None:
            return torch.randint(self.n_rows, (n,), generator=generator)
        size = self.counts[wish.columns, wish.levels]
        before = self.counts.cumsum(1)[wish.columns, wish.levels] - size
        luck = torch.rand(n, generator=generator, dtype=torch.float64)
        return self.by_level[wish.columns, before + (luck * size).long()]

    def vector(self, wish: Wish | None, n: int) -> Tensor:
        """Return wishes as the networks see them: zeros, and a one at the level."""
        vector = torch.zeros(n, self.blocks.width)
        if wish is None:
            return vector
        starts = torch.tensor(self.blocks.starts, dtype=torch.long)
        places = starts[wish.columns] + wish.levels
        return vector.scatter_(1, places[:, None], 1.0)

    def _draw(self, weights: Tensor, n: int, generator: torch.Generator) -> Wish | None:
        n_columns = len(self.counts)
        if n_columns == 0:
            return None
        columns = torch.randint(n_columns, (n,), generator=generator)
        levels = torch.multinomial(weights, n, replacement=True, generator=generator)
        return Wish(columns, levels[columns, torch.arange(n)])
