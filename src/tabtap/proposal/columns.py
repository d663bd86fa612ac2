"""Which columns matter most for the target: the conservative template keeps them.

Everything is counted on tables of levels against targets, numbers being cut at their
quantiles: scikit-learn's neighbour-based estimates take 2 to 3 seconds for 300 columns
and are mostly noise on the few rows that this is for.  A column is looked at by itself
and ties are broken by name, so the order of the columns means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tabtap.config import ProposalConfig
from tabtap.domain import Lineages
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Schema
from tabtap.table.table import Table
from tabtap.table.targets import bin_edges

_MOST_BINS = 8
"""A number is cut into about the cube root of the rows, at most this many bins."""


class _Levels(NamedTuple):
    """The rows as levels, numbered through all columns."""

    codes: IntArray
    """Shape (n_rows, n_columns)."""

    starts: IntArray
    """Shape (n_columns,): the first level of each column."""

    n_levels: int

    def against(self, target: IntArray, n_targets: int) -> FloatArray:
        """Count the rows of each level and target, shape (n_levels, n_targets)."""
        cell = self.codes * n_targets + target[:, None]
        counts = np.bincount(cell.ravel(), minlength=self.n_levels * n_targets)
        return counts.reshape(self.n_levels, n_targets).astype(np.float64)

    def summed(self, values: FloatArray) -> FloatArray:
        """Add up one value per level and target within each column."""
        return np.add.reduceat(values.sum(axis=1), self.starts)


def learned_columns(schema: Schema) -> BoolArray:
    """Tell which features a backbone can redraw: not constants, not identifiers."""
    kinds = [column.kind for column in schema.features]
    return np.array([k.is_numeric or k.is_categorical for k in kinds], dtype=np.bool_)


def important_by_lineage(
    real: Table, lineages: Lineages, config: ProposalConfig, rng: np.random.Generator
) -> Mapping[int, BoolArray]:
    """Return each lineage's important columns, from the real rows it has seen."""
    members = lineages.members
    seeds = rng.integers(2**63, size=len(members))
    return {
        member: important_columns(
            real.take(lineages.seen(member)), config, np.random.default_rng(seed)
        )
        for member, seed in zip(members, seeds, strict=True)
    }


def important_columns(
    seen: Table, config: ProposalConfig, rng: np.random.Generator
) -> BoolArray:
    """Tell which features the conservative template keeps.

    Parameters
    ----------
    seen : Table
        The real rows to judge by.
    config : ProposalConfig
        ``important_share`` of the columns that can be redrawn are important, but never
        all of them; ``n_bootstraps`` is the number of resamples and of shuffles.
    rng : numpy.random.Generator
        Source of resamples and shuffles.

    Returns
    -------
    bool array of shape (n_features,)
        True for important columns, in the order of ``seen.schema.features``.

    Notes
    -----
    Appendix C.2.3: mutual information with the target and bootstrap stability of
    feature statistics.  The paper does not say how they are combined; here it is the
    mean of the information, relative to the best column's, and the stability.
    """
    able = np.flatnonzero(learned_columns(seen.schema))
    wanted = int(np.floor(config.important_share * len(able) + 0.5))
    wanted = min(wanted, len(able) - 1)
    important = np.zeros(len(seen.schema.features), dtype=np.bool_)
    if wanted < 1:
        return important
    worth = _worth(seen, able, config.n_bootstraps, rng)
    names = np.array([repr(seen.schema.features[position].name) for position in able])
    # Rounded, so that equal columns tie for their names and not for the last bit.
    best_first = np.lexsort((names, -np.round(worth, 9)))
    important[able[best_first[:wanted]]] = True
    return important


def _worth(
    seen: Table, able: IntArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    levels = _levels(seen, able)
    target = np.unique(seen.condition, return_inverse=True)[1].astype(np.int64)
    known = information(levels, target)
    # Many levels seem to know much of any target: what they know of a shuffled one.
    chance = [information(levels, rng.permutation(target)) for _ in range(n_draws)]
    known = np.maximum(known - np.mean(chance, axis=0), 0.0)
    if known.max() > 0:
        known = known / known.max()
    return np.asarray(known + stability(levels, target, n_draws, rng)) / 2


def information(levels: _Levels, target: IntArray) -> FloatArray:
    """Return the mutual information of each column and the target, in nats."""
    n_rows, sizes = len(target), np.bincount(target)
    joint = levels.against(target, len(sizes)) / n_rows
    apart = joint.sum(axis=1, keepdims=True) * (sizes / n_rows)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    # Logarithms of sums of rounded shares can be a hair below the true 0.
    return np.maximum(levels.summed(joint * np.log(ratio)), 0.0)


def stability(
    levels: _Levels, target: IntArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Return how well each column's differences between targets survive resampling.

    The statistic is the frequency of every level under every target; its deviation
    from the mean over targets is correlated with that of resamples within targets.  0
    is no better than chance, 1 is always the same.  A target with one row cannot be
    resampled and is left out.
    """
    sizes = np.bincount(target)
    several = np.flatnonzero(sizes > 1)
    if len(several) < 2:
        return np.zeros(len(levels.starts))
    by_target = np.argsort(target, kind="stable")
    first, size = (np.cumsum(sizes) - sizes)[target], sizes[target]

    def differences(codes: IntArray) -> FloatArray:
        counts = levels._replace(codes=codes).against(target, len(sizes))
        shares = counts[:, several] / sizes[several]
        return np.asarray(shares - shares.mean(axis=1, keepdims=True))

    seen = differences(levels.codes)
    agreement = np.zeros(len(levels.starts))
    for _ in range(n_draws):
        rows = by_target[first + (rng.random(len(target)) * size).astype(np.int64)]
        again = differences(levels.codes[rows])
        length = np.sqrt(levels.summed(seen**2) * levels.summed(again**2))
        shared = levels.summed(seen * again)
        agreement += np.divide(shared, length, out=0 * length, where=length > 1e-12)
    return np.maximum(agreement / n_draws, 0.0)


def _levels(table: Table, able: IntArray) -> _Levels:
    n_bins = int(np.clip(np.cbrt(len(table)) + 1e-9, 2, _MOST_BINS))
    numeric = {int(p): i for i, p in enumerate(table.schema.numeric)}
    numbers = table.numeric
    columns, starts, n_levels = [], [], 0
    for position in able:
        hole = table.missing[:, position] > 0
        if int(position) in numeric:
            code = _binned(numbers[:, numeric[int(position)]], hole, n_bins)
        else:
            code = table.cells[position].astype(np.int64)
        # A hole is a level like any other: that nobody measured may say much.
        distinct, code = np.unique(np.where(hole, -1, code), return_inverse=True)
        columns.append(code + n_levels)
        starts.append(n_levels)
        n_levels += len(distinct)
    return _Levels(np.column_stack(columns), np.array(starts), n_levels)


def _binned(values: FloatArray, hole: BoolArray, n_bins: int) -> IntArray:
    edges = bin_edges(values[~hole], n_bins)
    return np.searchsorted(np.array(edges), np.where(hole, 0.0, values), side="left")
