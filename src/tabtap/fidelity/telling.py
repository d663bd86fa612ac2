"""How well a learner tells synthetic rows from real ones.

A real row and the synthetic rows closest to it are held out together.  Otherwise the
learner, knowing a real row by what was made of it, would take it for synthetic when it
is held out: a mere bootstrap would score 0.15, far below chance.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from tabtap.table.distance import DistanceScale, nearest
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import NumberScale, Table, concat

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
    features = _encoded(both, NumberScale.of(_numbers(real)))
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


def _encoded(rows: Table, scale: NumberScale) -> FloatArray:
    """Return numbers in deviations of the real rows, and codes as they are."""
    numbers = np.clip(scale.standardise(_numbers(rows)), -_FAR, _FAR)
    codes = rows.categorical.astype(np.float64)
    parts = [np.nan_to_num(numbers, nan=-2 * _FAR), codes]
    target = rows.schema.target
    if target is not None and target.task == "classification":
        parts.append(rows.target_values[:, None])
    return np.hstack(parts)
