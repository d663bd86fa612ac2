"""A table as plain matrices, one-hot blocks and modes, as the rivals see it, and back.

What the rivals' papers leave open is decided here, once.  A missing category is a level
of its own.  A number that is sometimes missing stands at its column's mean, and a code
beside it says that it is not there.  Only levels that the training rows have are known.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from torch import Tensor, nn

from tabtap.table.schema import CodeArray, FloatArray, IntArray, Schema
from tabtap.table.table import NumberScale, Table, blank


class FlatRows(NamedTuple):
    """Rows without holes."""

    numbers: FloatArray
    """Numeric columns and, in regression, the target as the last one."""

    codes: IntArray
    """Categorical columns, then one flag for each number with holes, then the label."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatColumns:
    """How the columns of one training table are laid out in the two matrices."""

    schema: Schema
    empty: Table
    filler: FloatArray
    """Mean of each number: what stands where there is none."""

    flagged: IntArray
    """Which numbers have holes."""

    known: tuple[IntArray, ...]
    """Schema's codes of each code column, in the order of ours; -1 is a hole."""

    joint_label: bool
    """Whether the class label is one of the code columns."""

    @classmethod
    def of(cls, train: Table, *, joint_label: bool = True) -> FlatColumns:
        """Lay out the columns of a training table.

        A regression target always is one more number; with ``joint_label`` a class
        label is a code like any other.
        """
        target = train.schema.target
        joint = joint_label and target is not None and target.task == "classification"
        numbers = _numbers(train)
        flagged = np.flatnonzero(np.isnan(numbers).any(axis=0))
        codes = _codes(train, numbers, flagged, label=joint)
        filler = NumberScale.of(numbers).restore(np.zeros(numbers.shape[1]))
        known = tuple(np.unique(column) for column in codes.T)
        return cls(train.schema, train.empty(), filler, flagged, known, joint)

    @property
    def n_numbers(self) -> int:
        """Number of columns of the first matrix."""
        return len(self.filler)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each code column."""
        return tuple(map(len, self.known))

    def rows(self, train: Table) -> FlatRows:
        """Return the training rows as matrices."""
        numbers = _numbers(train)
        codes = _codes(train, numbers, self.flagged, label=self.joint_label)
        ours = np.zeros(codes.shape, dtype=np.int64)
        for column, known in enumerate(self.known):
            ours[:, column] = np.searchsorted(known, codes[:, column])
        return FlatRows(np.where(np.isnan(numbers), self.filler, numbers), ours)

    def table(self, rows: FlatRows, labels: IntArray | None = None) -> Table:
        """Return drawn rows as a table, whose rows descend from no real one.

        Parameters
        ----------
        rows : FlatRows
            Drawn values, laid out as ``rows`` gives them.
        labels : array of shape (n_rows,), optional
            Class codes, where the label is not one of the code columns.
        """
        n_rows = len(rows.numbers)
        codes = np.zeros(rows.codes.shape, dtype=np.int32)
        for index, known in enumerate(self.known):
            codes[:, index] = known[rows.codes[:, index]]
        n_numeric, n_categorical = (
            len(self.schema.numeric),
            len(self.schema.categorical),
        )
        numbers = rows.numbers[:, :n_numeric].copy()
        for index, column in enumerate(self.flagged):
            numbers[codes[:, n_categorical + index] > 0, column] = np.nan
        if self.joint_label:
            labels = codes[:, -1].astype(np.int64)
        target = np.zeros(n_rows) if labels is None else labels
        drawn = blank(self.schema, target.astype(self.empty.target.dtype))
        if self.n_numbers > n_numeric:
            drawn = drawn.with_target(rows.numbers[:, -1])
        everything = np.ones(drawn.missing.shape, dtype=np.bool_)
        return drawn.redrawn(everything, numbers, codes[:, :n_categorical])


def _numbers(table: Table) -> FloatArray:
    target = table.schema.target
    if target is None or target.task == "classification":
        return table.numeric
    return np.column_stack([table.numeric, table.target_values])


def _codes(
    table: Table, numbers: FloatArray, flagged: IntArray, *, label: bool
) -> IntArray:
    parts = [table.categorical, np.isnan(numbers[:, flagged])]
    if label:
        parts.append(table.target[:, None])
    return np.hstack([np.asarray(part, dtype=np.int64) for part in parts])


# ---- Rows with their target as one more column, and back.
#
# Most generators know nothing of labels: to them the target is a column like any other,
# drawn together with the rest of its row.


def join_target(train: Table) -> Table:
    """Return the same rows without a target; it is the last feature instead."""
    target = train.schema.target
    if target is None:
        return train
    features = (*train.schema.features, target.column)
    observed = np.zeros((len(train), 1), dtype=np.int8)
    return Table(
        replace(train.schema, features=features, target=None),
        (*train.cells, train.target.astype(target.column.storage)),
        np.hstack([train.missing, observed]),
        np.zeros(len(train), dtype=np.int64),
        train.origin,
        train.unseen_fold,
    )


def split_target(rows: Table, train: Table) -> Table:
    """Return rows of ``join_target(train)`` as rows of the schema of ``train``."""
    if train.schema.target is None:
        return rows
    return Table(
        train.schema,
        rows.cells[:-1],
        rows.missing[:, :-1],
        rows.cells[-1].astype(train.target.dtype),
        rows.origin,
        rows.unseen_fold,
    )


def whole_rows(schema: Schema, numeric: FloatArray, categorical: CodeArray) -> Table:
    """Return rows of drawn values that descend from no real row.

    The schema has no target, as from ``join_target``; NaN and -1 are holes.  Numbers
    are put on their column's grid, constants are what they always are, identifiers
    empty.
    """
    start = blank(schema, np.zeros(len(numeric), dtype=np.int64))
    everything = np.ones(start.missing.shape, dtype=np.bool_)
    return start.redrawn(everything, numeric, categorical)


# ---- Codes as one-hot blocks of one matrix, handled a width at a time.
#
# Blocks of one width lie next to each other, so that a softmax over a hundred columns
# is a handful of operations on views, without padding.


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


# ---- Mode-specific normalisation: a number as a mode and its place within that mode.
#
# Xu et al., "Modeling tabular data using conditional GAN", 2019, section 4.2. A mixture
# of at most ten Gaussians is fitted to each column. A value becomes one of the modes,
# drawn by how likely each has produced it, and its distance from that mode's mean in
# units of four standard deviations.
#
# Columns are standardised before the mixture is fitted. The mixture's smallest variance
# is absolute, so without that a column in millionths would be one mode.


MAX_MODES = 10
LEAST_WEIGHT = 0.005
"""Share of the rows below which a component is no mode."""

_DEVIATIONS = 4.0
_WEIGHT_PRIOR = 0.001
_REACH = 0.99
"""Largest distance from a mean; the network's tanh never gets to 1."""

_UNLIKELY = 1e-6
"""Added to the probability of each mode, so that a value far from all has one."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnModes:
    """The modes of one standardised column."""

    means: FloatArray
    deviations: FloatArray

    log_weights: FloatArray
    """Up to a constant."""

    @classmethod
    def of(cls, scores: FloatArray, seed: int) -> ColumnModes:
        """Fit the modes of a column."""
        if (scores == scores[0]).all():
            return cls(scores[:1].copy(), np.array([1e-3]), np.zeros(1))
        mixture = BayesianGaussianMixture(
            n_components=min(MAX_MODES, len(scores)),
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=_WEIGHT_PRIOR,
            n_init=1,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # A hundred rounds are what the method's authors stop at, too, and a column
            # of few values may have more modes than values.
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(scores[:, None])
        modes = mixture.weights_ > LEAST_WEIGHT
        deviations = np.sqrt(mixture.covariances_[:, 0, 0])
        return cls(
            mixture.means_[modes, 0],
            deviations[modes],
            np.log(mixture.weights_[modes]),
        )

    def responsibilities(self, scores: FloatArray) -> FloatArray:
        """Return how likely each mode is for each score, shape (n_rows, n_modes)."""
        away = (scores[:, None] - self.means) / self.deviations
        logs = self.log_weights - np.log(self.deviations) - away**2 / 2
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        likely = likely / likely.sum(axis=1, keepdims=True) + _UNLIKELY
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class ModeScale:
    """The modes of every number of a training table."""

    scale: NumberScale
    columns: tuple[ColumnModes, ...]

    @classmethod
    def of(cls, numbers: FloatArray, rng: np.random.Generator) -> ModeScale:
        """Fit the modes of every column of a matrix without holes."""
        scale = NumberScale.of(numbers)
        scores = scale.standardise(numbers)
        fitted = [
            ColumnModes.of(column, int(rng.integers(2**31))) for column in scores.T
        ]
        return cls(scale, tuple(fitted))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of modes of each column."""
        return tuple(len(column.means) for column in self.columns)

    def encode(
        self, numbers: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, IntArray]:
        """Return the place within its mode, and the mode, of each number."""
        scores = self.scale.standardise(numbers)
        modes = np.zeros(numbers.shape, dtype=np.int64)
        places = np.zeros(numbers.shape)
        for j, column in enumerate(self.columns):
            upto = column.responsibilities(scores[:, j]).cumsum(axis=1)
            luck = rng.random((len(numbers), 1))
            # The last sum may fall short of 1 by a rounding error.
            chosen = np.minimum((upto < luck).sum(axis=1), len(column.means) - 1)
            away = scores[:, j] - column.means[chosen]
            modes[:, j] = chosen
            places[:, j] = away / (_DEVIATIONS * column.deviations[chosen])
        return np.clip(places, -_REACH, _REACH), modes

    def decode(self, places: FloatArray, modes: IntArray) -> FloatArray:
        """Return numbers in the columns' own units, from places between -1 and 1."""
        scores = np.zeros(places.shape)
        within = np.clip(places, -1.0, 1.0) * _DEVIATIONS
        for j, column in enumerate(self.columns):
            chosen = modes[:, j]
            scores[:, j] = (
                column.means[chosen] + within[:, j] * column.deviations[chosen]
            )
        return self.scale.restore(scores)


# ---- A table as CTGAN and TVAE see it: places within modes, then one-hot blocks.


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


# ---- Layers whose randomness comes from a generator that is given.
#
# torch's own layers take their first weights and their dropout from the one generator
# of the process, which nobody here may touch.


def generator_from(rng: np.random.Generator) -> torch.Generator:
    """Return a generator of torch, seeded by the next draw of numpy's."""
    return torch.Generator().manual_seed(int(rng.integers(2**63)))


def linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with torch's usual distribution of first weights."""
    layer = nn.Linear(n_in, n_out, device="meta").to_empty(device="cpu")
    reach = 1.0 / math.sqrt(max(n_in, 1))
    for weights in (layer.weight, layer.bias):
        nn.init.uniform_(weights, -reach, reach, generator=generator)
    return layer


def perceptron(
    widths: tuple[int, ...], n_out: int, generator: torch.Generator
) -> nn.Sequential:
    """Return linear layers with ReLU between them; ``widths`` begins with the input."""
    layers: list[nn.Module] = []
    for n_in, n_hidden in pairwise(widths):
        layers += [linear(n_in, n_hidden, generator), nn.ReLU()]
    return nn.Sequential(*layers, linear(widths[-1], n_out, generator))


class SeededDropout(nn.Module):
    """Sets values to zero at random, while training and afterwards alike."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        super().__init__()
        self.kept, self.generator = 1.0 - share, generator

    def forward(self, values: Tensor) -> Tensor:
        """Return the values that stay, enlarged to keep their mean."""
        stays = torch.empty_like(values).bernoulli_(self.kept, generator=self.generator)
        return values * stays / self.kept
