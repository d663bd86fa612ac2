"""The default referee: a panel of learners that people really train.

A panel's loss is the mean of its members' losses: what rows are worth to someone who
trains one of them.  It is not the loss of their averaged prediction, which nobody
trains and which forgives a member that grew overconfident.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tabtap.domain import LearnerPrediction, Prediction, mix
from tabtap.evaluate.answers import Estimator
from tabtap.evaluate.fitting import SEED, Learners, answer_with, task_of
from tabtap.table.schema import FloatArray, Task
from tabtap.table.table import Table

PANEL = ("linear", "neighbors", "forest", "boosting")
"""Names of the members."""

N_TREES = 100

LEAF_SIZE = 20
"""Rows a boosted tree's leaf must have: what LightGBM and scikit-learn do by default.

Below 40 rows such a booster cannot split at all, and any rows bring it back to life.
That is what happens to whoever trains it, so the panel must know; results per learner
show when a gain is the booster's alone.
"""

N_ROUNDS, LEARNING_RATE, N_LEAVES, N_BINS, COLUMN_SHARE = 30, 0.2, 15, 63, 0.5
"""A booster a tenth as dear as the usual one and as good on few rows; see DECISIONS."""


@dataclass(frozen=True, slots=True, eq=False)
class PanelPrediction:
    """What each member says; the panel's own figures are means over members."""

    members: Mapping[str, LearnerPrediction]
    """Predictions by learner, for results that are shown per learner."""

    def __len__(self) -> int:
        return len(self.mixture)

    @property
    def mixture(self) -> LearnerPrediction:
        """The members' averaged prediction."""
        return mix(list(self.members.values()))

    def losses(self, queries: Table) -> FloatArray:
        """Return the members' mean loss for each query."""
        return self._mean(lambda member: member.losses(queries))

    def scores(self, queries: Table) -> FloatArray:
        """Return the members' mean bounded score for each query."""
        return self._mean(lambda member: member.scores(queries))

    def hardness(self, queries: Table) -> FloatArray:
        """Return the members' mean hardness for each query."""
        return self._mean(lambda member: member.hardness(queries))

    def uncertainty(self) -> FloatArray:
        """Return how uncertain the averaged prediction is of each query.

        Unlike the mean of the members' own, it grows where they disagree.
        """
        return self.mixture.uncertainty()

    def in_unit_of(self, real: Table) -> PanelPrediction:
        """Return the same with errors counted in the real targets' deviations."""
        restated = {name: m.in_unit_of(real) for name, m in self.members.items()}
        return PanelPrediction(MappingProxyType(restated))

    def _mean(self, figure: Callable[[LearnerPrediction], FloatArray]) -> FloatArray:
        figures = [figure(member) for member in self.members.values()]
        return np.asarray(np.mean(figures, axis=0))


@dataclass(frozen=True, slots=True)
class PanelEvaluator:
    """Asks a linear model, nearest neighbours, a forest and a booster.

    Parameters
    ----------
    n_jobs : int, default=1
        Learners fitted at a time, in processes of their own.
    share : float, default=1.0
        Share that contexts hold of the rows that will be trained on; the booster's
        leaves shrink with it.  A booster of usual leaves cannot split 40 rows and can
        split 50: judged on four fifths of 50 rows it would look dead, and any rows
        would seem to revive it.
    """

    n_jobs: int = 1
    share: float = 1.0

    name: ClassVar[str] = "panel"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = panel_learners(task_of(contexts, queries), self.share)
        answers = answer_with(learners, contexts, queries, n_jobs=self.n_jobs)
        return [PanelPrediction(MappingProxyType(answer)) for answer in answers]


def panel_learners(task: Task, share: float = 1.0) -> Learners:
    """Return the members for a task, by name; LightGBM boosts where it is installed."""
    # Trees of neighbours measure each query by itself; brute force measures many at
    # once, and rounding then decides ties differently in another company.
    neighbors = {"n_neighbors": 5, "algorithm": "kd_tree", "n_jobs": 1}
    if task == "classification":
        members = {
            "linear": LogisticRegression(max_iter=1000, random_state=SEED),
            "neighbors": KNeighborsClassifier(**neighbors),
            "forest": RandomForestClassifier(N_TREES, random_state=SEED, n_jobs=1),
        }
    else:
        members = {
            "linear": Ridge(alpha=1.0, random_state=SEED),
            "neighbors": KNeighborsRegressor(**neighbors),
            "forest": RandomForestRegressor(N_TREES, random_state=SEED, n_jobs=1),
        }
    return MappingProxyType({**members, "boosting": _booster(task, share)})


def _booster(task: Task, share: float) -> Estimator:
    leaf_size = max(1, round(LEAF_SIZE * share))
    labels = task == "classification"
    if find_spec("lightgbm") is not None:
        lightgbm = importlib.import_module("lightgbm")
        make = lightgbm.LGBMClassifier if labels else lightgbm.LGBMRegressor
        return make(
            n_estimators=N_ROUNDS,
            learning_rate=LEARNING_RATE,
            num_leaves=N_LEAVES,
            max_bin=N_BINS,
            colsample_bytree=COLUMN_SHARE,
            min_child_samples=leaf_size,
            random_state=SEED,
            n_jobs=1,
            verbosity=-1,
        )
    make = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    return make(
        max_iter=N_ROUNDS,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=N_LEAVES,
        max_bins=N_BINS,
        max_features=COLUMN_SHARE,
        min_samples_leaf=leaf_size,
        random_state=SEED,
        early_stopping=False,
    )
