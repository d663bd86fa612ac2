"""How like the real rows synthetic rows are, and how near: figures, no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from tabtap.table.distance import (
    CHUNK_BYTES,
    DistanceScale,
    nearest,
    two_nearest,
    typical_gap,
)
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NumberScale, Table, concat

__all__ = [
    "Closeness",
    "CopyShare",
    "associations",
    "copy_share",
    "distance_ratio",
    "drawn_again",
    "measure_closeness",
    "shape_error",
    "shape_errors",
    "shared_cells",
    "telling_apart",
    "trend_error",
]


# ---- How near synthetic rows come to real ones, beside how near real rows are to
# others.
#
# Distances are those of ``table.distance``, in standard deviations of the real columns;
# targets take no part.  A figure of nearness is not a proof of privacy.


LOW_SHARE = 0.05
"""Share of the real rows that are nearer to another than ``Closeness.threshold``."""

MAX_BASELINE_ROWS = 3000
"""Real rows whose nearest neighbours suffice to know what is usual."""


@dataclass(frozen=True, slots=True, eq=False)
class Closeness:
    """Distances to the closest real row."""

    distance: FloatArray
    """Shape (n_synthetic,): from each synthetic row to the closest real one."""

    row: IntArray
    """Shape (n_synthetic,): place of that row among the real ones."""

    baseline: FloatArray
    """From each real row to the closest other one; of a long table, some rows."""

    exact: BoolArray
    """Shape (n_synthetic,): every feature equals that of one real row."""

    @property
    def threshold(self) -> float:
        """Distance that 5 % of the real rows stay below; NaN for a single row."""
        if not np.isfinite(self.baseline).any():
            return float("nan")
        return float(np.quantile(self.baseline, LOW_SHARE))

    @property
    def nearer(self) -> BoolArray:
        """Whether each synthetic row is nearer to a real one than that."""
        return np.asarray(self.distance < self.threshold)

    @property
    def near(self) -> BoolArray:
        """Exact copies, and rows nearer than a tenth of the usual gap."""
        gap = np.median(self.baseline) if len(self.baseline) else np.inf
        if not np.isfinite(gap):
            return self.exact
        return np.asarray(self.exact | (self.distance < NEAR_SHARE * gap))

    @property
    def reach(self) -> float:
        """Distance of the loneliest real row from the closest other; NaN for one."""
        if not np.isfinite(self.baseline).any():
            return float("nan")
        return float(self.baseline.max())


def measure_closeness(real: Table, synthetic: Table) -> Closeness:
    """Measure how near synthetic rows come to real ones.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema; ``real`` has rows.

    Returns
    -------
    Closeness
        In a table of more than ``MAX_BASELINE_ROWS`` rows the baseline is taken over
        that many evenly spaced ones, each against all that are not among them.
    """
    scale = DistanceScale.of(real)
    distance, row = nearest(synthetic, real, scale)
    return Closeness(distance, row, _baseline(real, scale), is_copy(real, synthetic))


def _baseline(real: Table, scale: DistanceScale) -> FloatArray:
    if len(real) <= MAX_BASELINE_ROWS:
        return nearest(real, real, scale, exclude_self=True)[0]
    chosen = np.zeros(len(real), dtype=np.bool_)
    chosen[np.linspace(0, len(real) - 1, MAX_BASELINE_ROWS).astype(np.int64)] = True
    return nearest(real.take(chosen), real.take(~chosen), scale)[0]


# ---- How like the real rows synthetic rows are, and how many are mere copies.
#
# All errors lie in [0, 1], smaller is closer, and the target is one more column. Two
# samples of one distribution do not score 0: read an error beside that of a bootstrap
# of the real rows and of independently drawn columns (``compare.controls``).


N_BINS = 10
"""Quantile bins that stand for a number when it is paired with a category."""

NEAR_SHARE = 0.1
"""Below this share of the usual gap between real rows, a row is nearly a copy."""


@dataclass(frozen=True, slots=True)
class CopyShare:
    """Shares of synthetic rows, in [0, 1]."""

    exact: float
    """Every feature equals that of one training row, holes included."""

    near: float
    """Exact copies, and rows nearer than a tenth of the usual gap between rows."""


def shape_error(real: Table, synthetic: Table) -> float:
    """Average over columns how far two distributions of one column are apart.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema, each with rows.

    Returns
    -------
    float
        Mean of Kolmogorov-Smirnov distances (numbers) and total variations
        (categories).  A missing category is a level; a missing number counts as
        smaller than any number, so a wrong share of holes shows too.
    """
    numbers = [_kolmogorov(*pair) for pair in _columns(real, synthetic, numeric=True)]
    levels = [_variation(*pair) for pair in _columns(real, synthetic, numeric=False)]
    return float(np.mean([*numbers, *levels])) if numbers or levels else 0.0


def shape_errors(real: Table, synthetic: Table) -> FloatArray:
    """Return for each column how far its two distributions are apart.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema, each with rows.

    Returns
    -------
    array of shape (n_features + 1,)
        What ``shape_error`` averages: one per feature, the target last.  NaN for
        columns that are not generated, and for a target that is not there.
    """
    errors = np.full(len(real.schema.features) + 1, np.nan)
    for numeric, measure in ((True, _kolmogorov), (False, _variation)):
        schema = real.schema
        columns = [*(schema.numeric if numeric else schema.categorical), -1]
        # Without a target of this sort the last place is left over.
        for index, pair in zip(
            columns, _columns(real, synthetic, numeric=numeric), strict=False
        ):
            errors[index] = measure(*pair)
    return errors


def trend_error(real: Table, synthetic: Table) -> float:
    """Average over pairs of columns how far their relations are apart.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema, each with rows.

    Returns
    -------
    float
        Mean of half the difference of correlations (two numbers; over rows that have
        both, 0 where undefined) and of the total variation of the contingency table
        (other pairs; numbers in ten quantile bins of the real rows).  0 if there are
        fewer than two columns.
    """
    numbers = _columns(real, synthetic, numeric=True)
    levels = _columns(real, synthetic, numeric=False)
    errors = [_correlation_errors(numbers)] if len(numbers) > 1 else []
    binned = [_bin(*pair) for pair in numbers]
    for index, first in enumerate(levels):
        others = [*levels[index + 1 :], *binned]
        errors.append(np.array([_joint_variation(first, other) for other in others]))
    joined = np.concatenate([*errors, np.zeros(0)])
    return float(joined.mean()) if len(joined) else 0.0


def copy_share(train: Table, synthetic: Table, scale: DistanceScale) -> CopyShare:
    """Measure how many synthetic rows are copies of training rows.

    Parameters
    ----------
    train, synthetic : Table
        Tables of one schema.
    scale : DistanceScale
        Units of the numbers, fitted on the real rows.

    Returns
    -------
    CopyShare
        Targets are not compared: a copied row with another label is a copy.
    """
    if len(synthetic) == 0:
        return CopyShare(exact=0.0, near=0.0)
    exact = is_copy(train, synthetic)
    distance, _ = nearest(synthetic, train, scale)
    gap = typical_gap(train, scale)
    near = distance < NEAR_SHARE * gap if np.isfinite(gap) else exact
    return CopyShare(exact=float(exact.mean()), near=float((exact | near).mean()))


def _columns(
    real: Table, synthetic: Table, *, numeric: bool
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return real and synthetic values of each column, the target last."""
    views = [
        table.numeric if numeric else table.categorical for table in (real, synthetic)
    ]
    columns = list(zip(views[0].T, views[1].T, strict=True))
    target = real.schema.target
    if target is not None and (target.task == "regression") == numeric:
        kind = np.float64 if numeric else np.int64
        columns.append((real.target.astype(kind), synthetic.target.astype(kind)))
    return columns


def _kolmogorov(real: FloatArray, synthetic: FloatArray) -> float:
    left, right = (
        np.sort(np.where(np.isnan(x), -np.inf, x)) for x in (real, synthetic)
    )
    seen = np.concatenate([left, right])
    below = [np.searchsorted(x, seen, side="right") / len(x) for x in (left, right)]
    return float(np.abs(below[0] - below[1]).max())


def _variation(real: IntArray, synthetic: IntArray) -> float:
    """Total variation of codes from -1 (missing) up."""
    n_levels = int(max(real.max(), synthetic.max())) + 2
    shares = [
        np.bincount(x + 1, minlength=n_levels) / len(x) for x in (real, synthetic)
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _joint_variation(
    first: tuple[IntArray, IntArray], second: tuple[IntArray, IntArray]
) -> float:
    width = int(max(column.max() for column in second)) + 2
    # One code for a pair of codes; the widest product is far below 2**63.
    joint = [
        (a.astype(np.int64) + 1) * width + b for a, b in zip(first, second, strict=True)
    ]
    return _variation(*joint)


def _bin(real: FloatArray, synthetic: FloatArray) -> tuple[IntArray, IntArray]:
    present = real[~np.isnan(real)]
    inner = np.arange(1, N_BINS) / N_BINS
    edges = np.unique(np.quantile(present, inner)) if len(present) else present
    bins = [np.searchsorted(edges, x, side="left") for x in (real, synthetic)]
    return (
        np.where(np.isnan(real), -1, bins[0]),
        np.where(np.isnan(synthetic), -1, bins[1]),
    )


def _correlation_errors(columns: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    real, synthetic = (
        correlations(np.column_stack(x)) for x in zip(*columns, strict=True)
    )
    upper = np.triu_indices(len(columns), k=1)
    return np.asarray(np.abs(real - synthetic)[upper] / 2)


def correlations(numbers: FloatArray) -> FloatArray:
    """Return correlations over the rows that have both numbers; 0 where undefined."""
    present = (~np.isnan(numbers)).astype(np.float64)
    count = np.maximum(present.T @ present, 1.0)
    # Standardised first, so that sums of squares do not cancel.
    x = np.nan_to_num(NumberScale.of(numbers).standardise(numbers), nan=0.0)
    total = x.T @ present  # [i, j]: sum of column i where j is present
    square = (x**2).T @ present
    covariance = (x.T @ x) / count - (total / count) * (total / count).T
    variance = square / count - (total / count) ** 2
    # Columns have unit variance, so anything near rounding is no variance at all.
    usable = (variance > 1e-10) & (variance.T > 1e-10)
    product = np.sqrt(np.where(usable, variance * variance.T, 1.0))
    return np.clip(np.where(usable, covariance / product, 0.0), -1.0, 1.0)


def is_copy(train: Table, synthetic: Table) -> BoolArray:
    """Say of every synthetic row whether a training row has all of its features.

    Exact cells are compared, not floats: two large integers may share a float.
    """
    positions = [*train.schema.numeric, *train.schema.categorical]
    n_train = len(train)
    rows = np.empty((n_train + len(synthetic), len(positions)), dtype=np.int64)
    for index, position in enumerate(positions):
        cells = np.concatenate([train.cells[position], synthetic.cells[position]])
        rows[:, index] = np.unique(cells, return_inverse=True)[1]
        hole = np.concatenate([t.missing[:, position] for t in (train, synthetic)]) > 0
        rows[hole, index] = -1
    known = {row.tobytes() for row in rows[:n_train]}
    return np.array([row.tobytes() in known for row in rows[n_train:]], dtype=np.bool_)


def shared_cells(
    rows: Table, reference: Table, *, exclude_self: bool = False
) -> IntArray:
    """Count for each row the cells that it has in common with one reference row.

    Parameters
    ----------
    rows, reference : Table
        Tables of one schema.
    exclude_self : bool, default=False
        Whether row i of ``rows`` is row i of ``reference``, and not compared with it.

    Returns
    -------
    array of shape (n_rows,)
        With the reference row that it shares most with; 0 without such a row.  Exact
        values of generated columns count; holes, constants and targets do not.
    """
    positions = [*reference.schema.numeric, *reference.schema.categorical]
    most = np.zeros(len(rows), dtype=np.int64)
    if len(reference) <= exclude_self:
        return most
    n_chunk = max(1, CHUNK_BYTES // (len(reference) * 8))
    for start in range(0, len(rows), n_chunk):
        chunk = slice(start, min(start + n_chunk, len(rows)))
        same = np.zeros((chunk.stop - start, len(reference)), dtype=np.int32)
        for position in positions:
            left, right = rows.cells[position][chunk], reference.cells[position]
            present = rows.missing[chunk, position] == 0
            equal = left[:, None] == right[None, :]
            equal &= present[:, None] & (reference.missing[:, position] == 0)
            same += equal
        if exclude_self:
            own = np.arange(start, chunk.stop)
            same[own - start, own] = 0
        most[chunk] = same.max(axis=1)
    return most


def distance_ratio(
    rows: Table, reference: Table, scale: DistanceScale, *, exclude_self: bool = False
) -> FloatArray:
    """Return for each row how much nearer one reference row is than all others.

    Parameters
    ----------
    rows, reference : Table
        Tables of one schema.
    scale : DistanceScale
        Units of the numbers, fitted on the real rows.
    exclude_self : bool, default=False
        Whether row i of ``rows`` is row i of ``reference``, and not compared with it.

    Returns
    -------
    array of shape (n_rows,)
        Distance of the nearest reference row over that of the next one: near 0 if the
        row points at a single one, 1 if it is as near to two.  NaN without two rows.
    """
    near = two_nearest(rows, reference, scale, exclude_self=exclude_self)
    ratio = np.full(len(near), np.nan)
    known = np.isfinite(near[:, 1])
    first, second = near[known].T
    # Two rows at no distance are alike: neither is pointed at.
    ratio[known] = np.where(second > 0, first / np.where(second > 0, second, 1.0), 1.0)
    return ratio


# ---- How strongly each column goes with each other one.
#
# Numbers, and categories of two levels, are correlated; their relation has a sign.  Any
# other category has a strength in [0, 1], corrected for what chance alone would give:
# uncorrected, 50 rows of two unrelated categories look related and 500 do not.


TARGET = -1
"""Place of the target among columns."""


def associations(table: Table, columns: Sequence[int]) -> FloatArray:
    """Return how each of some columns goes with each other one.

    Parameters
    ----------
    table : Table
        Rows; a pair is judged by those that have both values.
    columns : sequence of int
        Places of generated features, or ``TARGET``.

    Returns
    -------
    array of shape (n_columns, n_columns)
        Two numbers: Pearson's correlation.  A number and a category: the root of the
        share of the number's variance between levels (epsilon squared).  Two
        categories: Cramer's V with Bergsma's correction.  0 where undefined, 1 on the
        diagonal.
    """
    values = [_values(table, column) for column in columns]
    plain = [i for i, part in enumerate(values) if part.dtype.kind == "f"]
    strengths = np.eye(len(columns))
    if plain:
        numbers = np.column_stack([values[i].astype(np.float64) for i in plain])
        strengths[np.ix_(plain, plain)] = correlations(numbers)
    for i, first in enumerate(values):
        for j, second in enumerate(values[:i]):
            if first.dtype.kind == "f" and second.dtype.kind == "f":
                continue
            strengths[i, j] = strengths[j, i] = _strength(first, second)
    np.fill_diagonal(strengths, 1.0)
    return strengths


def is_signed(table: Table, column: int) -> bool:
    """Tell whether a column's relations have a sign."""
    return _values(table.empty(), column).dtype.kind == "f"


def _values(table: Table, column: int) -> FloatArray | IntArray:
    """Return floats for what is correlated, else codes with -1 for a hole."""
    target = table.schema.target
    if column == TARGET and target is not None:
        n_levels = len(target.column.levels) if target.task == "classification" else 0
        cells, hole = table.target, np.zeros(len(table), dtype=np.bool_)
    else:
        n_levels = len(table.schema.features[column].levels)
        cells, hole = table.cells[column], table.missing[:, column] > 0
    if n_levels > 2:
        return np.where(hole, -1, cells).astype(np.int64)
    return np.where(hole, np.nan, cells.astype(np.float64))


def _strength(first: FloatArray | IntArray, second: FloatArray | IntArray) -> float:
    if first.dtype.kind == "f":
        first, second = second, first
    if second.dtype.kind == "f":
        return _variance_between(first.astype(np.int64), second.astype(np.float64))
    return _cramer(first.astype(np.int64), second.astype(np.int64))


def _variance_between(level: IntArray, number: FloatArray) -> float:
    both = (level >= 0) & ~np.isnan(number)
    number, level = number[both], np.unique(level[both], return_inverse=True)[1]
    n, n_levels = len(number), int(level.max(initial=-1)) + 1
    if n <= n_levels or n_levels < 2:
        return 0.0
    peak = np.abs(number).max()
    number = number / peak if peak > 0 else number  # so that no square overflows
    total = float(((number - number.mean()) ** 2).sum())
    means = np.bincount(level, number) / np.bincount(level)
    within = float(((number - means[level]) ** 2).sum())
    if total <= 1e-20 * n:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - n_levels))))


def _cramer(first: IntArray, second: IntArray) -> float:
    both = (first >= 0) & (second >= 0)
    n = int(both.sum())
    if n < 2:
        return 0.0
    rows, columns = (
        np.unique(part[both], return_inverse=True)[1] for part in (first, second)
    )
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows, columns), 1.0)
    usual = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    square = float(((counts - usual) ** 2 / usual).sum()) / n
    r, k = counts.shape
    square = max(0.0, square - (k - 1) * (r - 1) / (n - 1))
    smaller = min(k - (k - 1) ** 2 / (n - 1), r - (r - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(square / smaller))) if smaller > 0 else 0.0


# ---- How well a learner tells synthetic rows from real ones.
#
# A real row and the synthetic rows closest to it are held out together. Otherwise the
# learner, knowing a real row by what was made of it, would take it for synthetic when
# it is held out: a mere bootstrap would score 0.15, far below chance.


N_FOLDS = 4
N_TREES = 40
MIN_ROWS = 2 * N_FOLDS
"""Fewer rows of either sort say nothing."""

CROWD = 3
"""Times the usual number of synthetic rows beside a real one that is too many."""

_FAR = 1e6
"""Standard deviations beyond which all numbers are alike; a hole is at minus twice."""


def telling_apart(real: Table, synthetic: Table, *, seed: int) -> float:
    """Return the area under the curve of a forest that tells the two apart.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema.
    seed : int
        Of the forest and of the folds.

    Returns
    -------
    float
        Out of fold, the target being one more column: 0.5 if the forest does not know
        better than chance, 1 if it is always right.  NaN where rows are too few.
    """
    if min(len(real), len(synthetic)) < MIN_ROWS:
        return float("nan")
    both = concat([real, synthetic])
    features = _encode(both, NumberScale.of(_numbers(real)))
    is_synthetic = np.arange(len(both)) >= len(real)
    family = np.concatenate([np.arange(len(real)), _families(real, synthetic)])
    folds = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=seed)
    chance = np.zeros(len(both))
    for train, test in folds.split(features, is_synthetic, family):
        forest = RandomForestClassifier(
            N_TREES, min_samples_leaf=2, class_weight="balanced", random_state=seed
        ).fit(features[train], is_synthetic[train])
        if len(forest.classes_) == 2:  # else nothing could be learned
            chance[test] = forest.predict_proba(features[test])[:, 1]
    return float(roc_auc_score(is_synthetic, chance))


def _families(real: Table, synthetic: Table) -> IntArray:
    """Return the real row that each synthetic row is held out with; else a number.

    Not its ancestor: a generator may come near to any row that it has seen.  A row
    that is far from all, or crowds around a real row with many, goes by itself.  Held
    out together, rows of a place of their own could not be learned at all.
    """
    scale = DistanceScale.of(real)
    distance, closest = nearest(synthetic, real, scale)
    reach = nearest(real, real, scale, exclude_self=True)[0].max()
    most = max(CROWD, CROWD * len(synthetic) / len(real))
    order = np.lexsort((distance, closest))
    first = np.searchsorted(closest[order], closest[order])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - first
    alone = (distance > reach) | (rank >= most)
    return np.where(alone, len(real) + np.arange(len(synthetic)), closest)


def _numbers(rows: Table) -> FloatArray:
    target = rows.schema.target
    if target is None or target.task == "classification":
        return rows.numeric
    return np.column_stack([rows.numeric, rows.target_values])


def _encode(rows: Table, scale: NumberScale) -> FloatArray:
    """Return numbers in deviations of the real rows, and codes as they are."""
    numbers = np.clip(scale.standardise(_numbers(rows)), -_FAR, _FAR)
    codes = rows.categorical.astype(np.float64)
    parts = [np.nan_to_num(numbers, nan=-2 * _FAR), codes]
    target = rows.schema.target
    if target is not None and target.task == "classification":
        parts.append(rows.target_values[:, None])
    return np.hstack(parts)


# ---- Real rows drawn once more: what no generator can be expected to beat by much.


def drawn_again(real: Table, condition: IntArray, rng: np.random.Generator) -> Table:
    """Draw real rows with replacement, with a given mix of targets.

    Parameters
    ----------
    real : Table
        Rows to draw from.
    condition : array of shape (n_rows,)
        Class or target bin wanted of each row.  Synthetic rows have a mix of their own
        by intent, which must not be held against them.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    Table
        One row per entry of ``condition``, of that class or bin; any row where there
        is none of it.
    """
    everyone = np.arange(len(real))
    chosen = np.empty(len(condition), dtype=np.int64)
    for wanted in np.unique(condition):
        rows = np.flatnonzero(real.condition == wanted)
        index = np.flatnonzero(condition == wanted)
        chosen[index] = rng.choice(rows if len(rows) else everyone, len(index))
    return real.take(chosen)
