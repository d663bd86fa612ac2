"""How like the real rows synthetic rows are, and how many are mere copies.

All errors lie in [0, 1], smaller is closer, and the target is one more column.  Two
samples of one distribution do not score 0: read an error beside that of a bootstrap of
the real rows and of independently drawn columns (``compare.controls``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.distance import DistanceScale, nearest, typical_gap
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NumberScale, Table

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
        places = [*(schema.numeric if numeric else schema.categorical), -1]
        # Without a target of this sort the last place is left over.
        for place, pair in zip(
            places, _columns(real, synthetic, numeric=numeric), strict=False
        ):
            errors[place] = measure(*pair)
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
    binned = [_binned(*pair) for pair in numbers]
    for place, first in enumerate(levels):
        others = [*levels[place + 1 :], *binned]
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


def _binned(real: FloatArray, synthetic: FloatArray) -> tuple[IntArray, IntArray]:
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
    for place, position in enumerate(positions):
        cells = np.concatenate([train.cells[position], synthetic.cells[position]])
        rows[:, place] = np.unique(cells, return_inverse=True)[1]
        hole = np.concatenate([t.missing[:, position] for t in (train, synthetic)]) > 0
        rows[hole, place] = -1
    known = {row.tobytes() for row in rows[:n_train]}
    return np.array([row.tobytes() in known for row in rows[n_train:]], dtype=np.bool_)
