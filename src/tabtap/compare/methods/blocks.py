"""Codes as one-hot blocks of one matrix, handled a width at a time.

Blocks of one width lie next to each other, so that a softmax over a hundred columns is
a handful of operations on views, without padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tabtap.table.schema import IntArray


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring blocks of one width."""

    start: int
    width: int
    columns: tuple[int, ...]
    """Code columns that the blocks stand for."""

    def view(self, values: Tensor) -> Tensor:
        """Return the group's part of a matrix, shape (n_rows, n_blocks, width)."""
        shape = (len(values), len(self.columns), self.width)
        stop = self.start + self.width * len(self.columns)
        return values[:, self.start : stop].view(shape)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the block of each code column lies in a matrix of ``width`` columns."""

    groups: tuple[_Group, ...]

    starts: tuple[int, ...]
    """First matrix column of each code column."""

    sizes: tuple[int, ...]
    """Levels of each code column."""

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> Blocks:
        """Lay out one block for each size."""
        groups, starts, start = [], [0] * len(sizes), 0
        for width in sorted(set(sizes)):
            columns = tuple(i for i, size in enumerate(sizes) if size == width)
            groups.append(_Group(start, width, columns))
            for column in columns:
                starts[column] = start
                start += width
        return cls(tuple(groups), tuple(starts), sizes)

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return sum(self.sizes)

    def expanded(self, per_block: Tensor) -> Tensor:
        """Return one value for each block, shape (n_blocks,), at all its columns."""
        order = [column for group in self.groups for column in group.columns]
        sizes = torch.tensor([self.sizes[column] for column in order], dtype=torch.long)
        return per_block[torch.tensor(order, dtype=torch.long)].repeat_interleave(sizes)

    def places(self, codes: Tensor) -> Tensor:
        """Return the matrix column of each code, shape (n_rows, n_blocks)."""
        return codes + torch.tensor(self.starts, dtype=torch.long)

    def one_hot(self, codes: Tensor) -> Tensor:
        """Return codes as a matrix of zeros and ones."""
        matrix = torch.zeros(len(codes), self.width)
        return matrix.scatter_(1, self.places(codes), 1.0)

    def log_softmax(self, logits: Tensor) -> Tensor:
        """Return log probabilities that add up to 1 within each block."""
        parts = [group.view(logits).log_softmax(-1).flatten(1) for group in self.groups]
        return torch.cat(parts, dim=1) if parts else logits

    def cross_entropy(self, logits: Tensor, codes: Tensor) -> Tensor:
        """Return minus the log probability of each code, shape (n_rows, n_blocks)."""
        return -self.log_softmax(logits).gather(1, self.places(codes))

    def largest(self, values: Tensor) -> Tensor:
        """Return the code with the largest value in each block."""
        codes = torch.zeros(len(values), len(self.sizes), dtype=torch.long)
        for group in self.groups:
            codes[:, list(group.columns)] = group.view(values).argmax(-1)
        return codes

    def draw(self, log_probabilities: Tensor, generator: torch.Generator) -> Tensor:
        """Draw a code in each block."""
        return self.largest(log_probabilities + gumbel(log_probabilities, generator))


def gumbel(like: Tensor, generator: torch.Generator) -> Tensor:
    """Return noise whose largest sum with log probabilities is a draw from them."""
    waits = torch.empty_like(like).exponential_(generator=generator)
    # A wait of exactly zero would win against everything, with an infinite value.
    return -waits.clamp(min=torch.finfo(like.dtype).tiny).log()


def to_codes(codes: Tensor) -> IntArray:
    """Return codes as numpy has them."""
    return np.asarray(codes.numpy(), dtype=np.int64)
