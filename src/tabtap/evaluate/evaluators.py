"""Evaluators of scikit-learn estimators: single ones, the panel, the paper's two."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from importlib import metadata
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from tabtap.domain import LearnerPrediction, Prediction, mix
from tabtap.errors import UserInputError, bad_setting
from tabtap.evaluate.learners import (
    SEED,
    Estimator,
    Learners,
    answer_with,
    task_of,
    weight_argument,
)
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray, Task
from tabtap.table.table import Table


class EstimatorEvaluator:
    """Answers queries with a learner of the user's, fitted anew on each context.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A classifier or regressor, or a pipeline that ends in one.  It is cloned, never
        changed, and sees encoded rows: standardised numbers and one-hot categories.  A
        pipeline that goes by columns (a ``ColumnTransformer`` anywhere in it) sees the
        features as they were given: container, names, dtypes and holes.  Labels arrive
        as codes in the order of the target's levels.
    name : str, optional
        What it is reported by.  Default: the name of its class.
    n_jobs : int, default=1
        Contexts fitted at a time, in processes of their own.
    share : float, default=1.0
        Share that contexts hold of the rows that will be trained on; the rows that a
        leaf must have shrink with it, as in ``PanelEvaluator``.

    Notes
    -----
    A random state left open is fixed, so that equal tables get equal answers.  A
    classifier without ``predict_proba`` is asked for its ``decision_function`` (a
    softmax, right in order and not in size) or counted by its labels alone, each with
    probability 1: prefer scores to losses for these.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> EstimatorEvaluator(LogisticRegression()).name
    'LogisticRegression'
    """

    def __init__(
        self,
        estimator: Estimator,
        *,
        name: str | None = None,
        n_jobs: int = 1,
        share: float = 1.0,
    ) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise bad_setting(
                "estimator",
                estimator,
                "be an unfitted scikit-learn estimator with fit and predict",
                "Pass an object such as LogisticRegression().",
            )
        self.estimator = estimator
        self.name = name or type(estimator).__name__
        self.n_jobs = n_jobs
        self.share = share
        self.weights: FloatArray | None = None

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = {self.name: with_scaled_leaves(self.estimator, self.share)}
        settings: Any = {"n_jobs": self.n_jobs, "weights": self.weights}
        answers = answer_with(learners, contexts, queries, **settings)
        return [answer[self.name] for answer in answers]

    def weighted(self, weights: FloatArray) -> EstimatorEvaluator:
        """Return one that fits with weights of the rows of the table given."""
        other = copy(self)
        other.weights = weights
        return other


LEAF_SETTINGS = ("min_child_samples", "min_data_in_leaf", "min_samples_leaf")
"""What LightGBM, CatBoost and scikit-learn call the rows that a leaf must have."""


def with_scaled_leaves(learner: Estimator, share: float) -> Estimator:
    """Return a learner whose leaves need as large a share of fewer rows.

    Examples
    --------
    >>> with_scaled_leaves(HistGradientBoostingClassifier(), 0.8).min_samples_leaf
    16
    """
    if share == 1.0 or not hasattr(learner, "get_params"):
        return learner
    scaled = {
        name: max(1, round(value * share))
        for name, value in learner.get_params(deep=True).items()
        if name.rpartition("__")[2] in LEAF_SETTINGS and isinstance(value, int)
    }
    return clone(learner).set_params(**scaled) if scaled else learner


# ---- The paper's ensemble evaluator: forest, linear model and network, equal weights.
#
# Appendix F names the three; their settings are those of the paper's predictors.


N_TREES = 100


@dataclass(frozen=True, slots=True)
class EnsembleEvaluator:
    """Averages what a forest, a linear model and a network predict.

    Parameters
    ----------
    n_jobs : int, default=1
        Learners fitted at a time, in processes of their own.
    """

    n_jobs: int = 1

    name: ClassVar[str] = "ensemble"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = ensemble_learners(task_of(contexts, queries))
        answers = answer_with(learners, contexts, queries, n_jobs=self.n_jobs)
        return [mix(list(answer.values())) for answer in answers]


def ensemble_learners(task: Task) -> Learners:
    """Return the three learners for a task, by name."""
    make = MLPClassifier if task == "classification" else MLPRegressor
    network = make(hidden_layer_sizes=(100,), max_iter=500, random_state=SEED)
    if task == "regression":
        network = standardised(network)
    members = {"forest": _forest(task), "linear": _linear(task), "network": network}
    return MappingProxyType(members)


def _forest(task: Task) -> Estimator:
    labels = task == "classification"
    make = RandomForestClassifier if labels else RandomForestRegressor
    return make(N_TREES, random_state=SEED, n_jobs=1)


def _linear(task: Task, max_iter: int = 1000) -> Estimator:
    if task == "classification":
        return LogisticRegression(max_iter=max_iter, random_state=SEED)
    return Ridge(alpha=1.0, random_state=SEED)


# ---- The default referee: a panel of learners that people really train.
#
# A panel's loss is the mean of its members' losses: what rows are worth to someone who
# trains one of them.  It is not the loss of their averaged prediction, which nobody
# trains and which forgives a member that grew overconfident.


PANEL = ("linear", "neighbors", "forest", "boosting", "small_leaves", "network")
"""Names of the members, whatever else is installed."""

LEAF_SIZE = 20
"""Rows a boosted tree's leaf must have: what LightGBM and scikit-learn do by default.

Below 40 rows such a booster cannot split at all, and any rows bring it back to life.
That is what happens to whoever trains it, so the panel must know.
"""

SMALL_LEAF_SIZE = 5
"""Rows in a leaf of the other booster, whose leaves suit few rows: what new rows do for
the first may be had by this setting as well."""

N_ROUNDS, LEARNING_RATE, N_LEAVES, N_BINS, COLUMN_SHARE = 20, 0.2, 15, 63, 0.5
"""A booster at a tenth of the usual cost and as good on few rows; see DECISIONS."""


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
        """Return the members' mean score for each query."""
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
    """Asks a linear model, neighbours, a forest, two boosters and a network.

    Parameters
    ----------
    n_jobs : int, default=1
        Learners fitted at a time, in processes of their own.
    share : float, default=1.0
        Share that contexts hold of the rows that will be trained on; the boosters'
        leaves shrink with it.  A booster of usual leaves cannot split 40 rows and can
        split 50: judged on four fifths of 50 rows it would look dead, and any rows
        would seem to revive it.
    members : sequence of str, default=PANEL
        Those that are asked.
    is_mean : bool, default=True
        Whether a promise is about their mean, as the paper has it, or about the best.
    """

    n_jobs: int = 1
    share: float = 1.0
    members: tuple[str, ...] = PANEL
    is_mean: bool = True
    weights: FloatArray | None = field(default=None, compare=False, repr=False)
    """Of the rows of the table given, if they differ."""

    @property
    def name(self) -> str:
        """The panel, the best of it, or its only member."""
        if len(self.members) == 1:
            return self.members[0]
        return "panel" if self.is_mean else "best"

    def learners(self, task: Task) -> Learners:
        """Return the unfitted members for a task, by name."""
        known = panel_learners(task, self.share)
        return MappingProxyType({name: known[name] for name in self.members})

    def only(self, members: Sequence[str]) -> PanelEvaluator:
        """Return one that asks some of the members."""
        return replace(self, members=tuple(members), is_mean=False)

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = self.learners(task_of(contexts, queries))
        settings: Any = {"n_jobs": self.n_jobs, "weights": self.weights}
        answers = answer_with(learners, contexts, queries, **settings)
        return [PanelPrediction(MappingProxyType(answer)) for answer in answers]

    def weighted(self, weights: FloatArray) -> PanelEvaluator:
        """Return one that fits with weights of the rows of the table given."""
        return replace(self, weights=weights)


def weighted(evaluator: Evaluator, weights: FloatArray | None) -> Evaluator:
    """Return an evaluator that fits with weights, if there are any and it can."""
    if weights is None or not isinstance(
        evaluator, (PanelEvaluator, EstimatorEvaluator)
    ):
        return evaluator
    return evaluator.weighted(weights)


def takes_no_weights(evaluator: Evaluator, task: Task) -> tuple[str, ...]:
    """Return the learners of an evaluator that are fitted without weights."""
    learners: Learners = {}
    if isinstance(evaluator, PanelEvaluator):
        learners = evaluator.learners(task)
    elif isinstance(evaluator, EstimatorEvaluator):
        learners = {evaluator.name: evaluator.estimator}
    else:
        return (evaluator.name,)
    return tuple(n for n, one in learners.items() if weight_argument(one) is None)


def panel_learners(task: Task, share: float = 1.0) -> Learners:
    """Return the members for a task, by name."""
    # Trees of neighbours measure each query by itself; brute force measures many at
    # once, and rounding then decides ties differently in another company.
    near = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
    members = {
        "linear": _linear(task),
        "neighbors": near(n_neighbors=5, algorithm="kd_tree", n_jobs=1),
        "forest": _forest(task),
        "boosting": _booster(task, LEAF_SIZE * share),
        "small_leaves": _booster(task, SMALL_LEAF_SIZE * share),
        "network": _small_network(task),
    }
    return MappingProxyType(members)


def _booster(task: Task, leaf_size: float) -> Estimator:
    labels = task == "classification"
    make = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    return make(
        max_iter=N_ROUNDS,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=N_LEAVES,
        max_bins=N_BINS,
        max_features=COLUMN_SHARE,
        min_samples_leaf=max(1, round(leaf_size)),
        random_state=SEED,
        early_stopping=False,
    )


MOST_ITERATIONS: Mapping[Task, int] = {"classification": 100, "regression": 200}
"""Of the network, which uses all of them: for classes half do as well (DECISIONS)."""


def _small_network(task: Task) -> Estimator:
    """Return a network that suits few rows: L-BFGS, and weights that are held small."""
    make = MLPClassifier if task == "classification" else MLPRegressor
    network = make(
        hidden_layer_sizes=(50,),
        solver="lbfgs",
        alpha=1.0,
        max_iter=MOST_ITERATIONS[task],
        random_state=SEED,
    )
    return network if task == "classification" else standardised(network)


def standardised(regressor: Estimator) -> Estimator:
    """Return a regressor that learns the target in standard deviations."""
    # A network learns nothing from a target of 1e-3 or 1e6 as it is.
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def learner_description(learner: Estimator) -> str:
    """Return class, settings other than the default ones, and version of a learner.

    Examples
    --------
    >>> learner_description(KNeighborsClassifier(3)).rpartition(" ")[0]
    'KNeighborsClassifier(n_neighbors=3), scikit-learn'
    """
    package = type(learner).__module__.partition(".")[0]
    named = {"sklearn": "scikit-learn"}.get(package, package)
    with suppress(metadata.PackageNotFoundError):
        named = f"{named} {metadata.version(named)}"
    text = " ".join(f"{learner!r}".split())
    return f"{text}, {named}"


# ---- The paper's holdout evaluator: a linear model, judged on a validation split.
#
# Appendix F, equation 50.  Its queries are validation rows that no context contains:
# hand the same ones to every context, and the losses differ by what the contexts do.


@dataclass(frozen=True, slots=True)
class HoldoutEvaluator:
    """Logistic regression for labels, ridge regression for numbers.

    Parameters
    ----------
    n_jobs : int, default=1
        Contexts fitted at a time, in processes of their own.
    """

    n_jobs: int = 1

    name: ClassVar[str] = "holdout"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = holdout_learners(task_of(contexts, queries))
        answers = answer_with(learners, contexts, queries, n_jobs=self.n_jobs)
        return [answer["linear"] for answer in answers]


def holdout_learners(task: Task) -> Learners:
    """Return the paper's linear model for a task, by name."""
    return MappingProxyType({"linear": _linear(task, max_iter=500)})


# ---- Boosters of other packages, by the name that people know them by.
#
# They are set as their packages set them: who asks for one by name trains it so.


_CLASSES = {"classification": "Classifier", "regression": "Regressor"}
_QUIET: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "lightgbm": ("LGBM", {"verbosity": -1}),
        "xgboost": ("XGB", {"verbosity": 0}),
    }
)
"""Of each package: how its classes begin, and what keeps them from printing."""

BOOSTERS = tuple(_QUIET)


def booster(name: str, task: Task, role: str = "referee") -> Estimator:
    """Return an unfitted booster of a package, ``"lightgbm"`` or ``"xgboost"``.

    If it is not installed, the message names ``role``: the setting it was passed as.
    """
    begin, quiet = _QUIET[name]
    try:
        package = importlib.import_module(name)
    except ImportError as error:
        raise UserInputError(
            f"{role}={name!r} cannot be used: the package {name} is not installed. "
            "Run: pip install 'tabtap[bench]'"
        ) from error
    make = getattr(package, begin + _CLASSES[task])
    return make(random_state=SEED, n_jobs=1, **quiet)
