"""TabularAugmenter: the scikit-learn style door to the whole method."""

from __future__ import annotations

import numbers
import secrets
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin

from tabtap.api.choices import (
    check_limits,
    check_words,
    choose_judge,
    choose_metric,
    choose_mixture,
    choose_referee,
    choose_rules,
    commit_for,
    copies_note,
    copies_of,
    group_codes,
    group_remark,
    n_jobs_of,
    names_a_column,
    one_learner,
    read_groups,
    remark_sentence,
    table_notes,
    task_of,
    warn_of_cost,
    with_notes,
)
from tabtap.api.large import LARGE_PANEL, Whole
from tabtap.api.own_parts import own_parts
from tabtap.api.run import Narrator, Request, RunOptions, run
from tabtap.config import Preset, preset_named
from tabtap.errors import RunInterrupted, UserInputError, bad_setting
from tabtap.evaluate.evaluators import PANEL
from tabtap.evaluate.teachers import choose_teacher
from tabtap.result import AugmentResult
from tabtap.result.frames import continued
from tabtap.table.frame import read_frame
from tabtap.table.schema import IntArray
from tabtap.table.table import Table
from tabtap.table.targets import TaskChoice


class TabularAugmenter(OneToOneFeatureMixin, BaseEstimator):  # type: ignore[misc]
    """Adds rows to a small training table only where they are shown to help.

    Parameters
    ----------
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is; ``auto`` decides by its values.
    budget : int or "auto", default=500
        Most rows to add; ``auto`` stops where the gain levels off.
    preset : {"default", "fast", "paper"} or Preset, default="default"
        Settings that go together.
    evaluator : str, estimator or Evaluator, default="auto"
        Who judges single steps, to steer the policy: ``auto`` (a linear model; TabPFN
        under ``paper``), the name of an evaluator or of a learner of the panel, a
        scikit-learn estimator, or an evaluator of one's own.
    referee : str, estimator or Evaluator, default="auto"
        Another name of ``learner``, which the code uses: who judges pools.
    learner : str, estimator or Evaluator, default="auto"
        The learner that you will train, which the promise is about: ``linear``,
        ``neighbors``, ``forest``, ``boosting``, ``small_leaves`` (boosting for few
        rows), ``network``, ``lightgbm``, ``xgboost``, or any scikit-learn estimator; it
        sees encoded rows, one with a ``ColumnTransformer`` the columns as given.
        ``auto`` compares the best of the first six with new rows with the best
        without; ``panel`` goes by their mean, as the paper does.
    teacher : str, list of str, estimator or Evaluator, default="auto"
        Who gives drawn rows their target: ``auto`` (an average of ordinary learners,
        and of TabPFN v1 and TabICL where their weights are), ``none`` (the target they
        were drawn for, as in the paper), names of learners or in-context models, or
        any scikit-learn estimator.  ``tabpfn-v2`` is stronger; its licence asks
        something of a model that learns from it (see ``docs/howto/teacher.md``).
    scoring : str or callable, optional
        The yardstick: any scikit-learn scorer; of two text labels the last is the
        positive one.  Default: the mean of accuracy and of 1 minus half the Brier
        score, or 1 minus the squared error in variances of the target.
    rules : str, path, list or Rules, optional
        What every row must obey: a TOML file, rule texts, or callables.
    gates : list of Gate, optional
        Gates of one's own, asked after the standard ones: objects with a ``name`` and
        ``passes(candidates, context)``.
    inpainter : UnfittedInpainter, optional
        A generator in the place of the diffusion model: ``fit(rows, rng)`` of a copy of
        it returns, for each lineage, an object with ``inpaint``.
    groups : column name or array of shape (n_rows,), optional
        Rows that belong together: they stay on one side of every split.  Exact copies
        do without it.
    mixture : {"real", "balanced"}, mapping or sequence, default="real"
        Wanted share of each class or target bin; by class label in a mapping.
    confidence : float, optional
        One-sided, of the run as a whole; by default 0.8 for a learner that is named and
        0.95 for the best of the panel.  Single attempts share it and are held to more,
        which is what ``why`` and certificates quote: at 0.8 the first to 85 %, and
        after each that fails to 96.2, 99.1, ... %.
    min_gain : float, optional
        Smallest gain that is worth having: by default 0.01, one point of accuracy or
        1 % of the RMSE; of the yardstick where ``scoring`` names one.
    time_budget : float, optional
        Seconds after which the run ends with what it has.  Learning the table counts
        and is not cut short.
    checkpoint : path, optional
        Folder in which an interrupted run is kept; a run that finds its own state
        there goes on from it.
    license_policy : {"open", "any"}, default="open"
        Whether ``evaluator="auto"`` may use weights that are not free for every use.
    kinds : mapping of column name to kind, optional
        Overrides of what is inferred of columns.
    random_state : int, RandomState, Generator or None
        Equal seeds give equal tables.
    device : str, default="auto"
        Torch device of the backbones.
    n_jobs : int, optional
        Processes for learners that are fitted.
    verbose : int, default=0
        1: a line per window on the error stream; 2: a line per step.

    Attributes
    ----------
    result_ : AugmentResult
        Verdict, rows, provenance and certificates of the last call.
    n_features_in_, feature_names_in_
        Columns of the features, and their names where they are strings.
    sample_indices_ : array of shape (n_rows,)
        Real row of each row returned: itself, or the parent of a synthetic row.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> birds = load_penguins().dropna().iloc[::8]
    >>> X, y = birds.drop(columns="species"), birds["species"]
    >>> augmenter = TabularAugmenter(budget=0, random_state=0)
    >>> X_more, y_more = augmenter.fit_resample(X, y)
    >>> augmenter.result_.verdict
    'no_gain'
    """

    _estimator_type = "sampler"

    def __init__(  # noqa: PLR0913  the whole method has one constructor
        self,
        task: TaskChoice = "auto",
        budget: int | Literal["auto"] = 500,
        preset: str | Preset = "default",
        evaluator: Any = "auto",  # noqa: ANN401
        referee: Any = "auto",  # noqa: ANN401
        *,
        learner: Any = "auto",  # noqa: ANN401
        teacher: Any = "auto",  # noqa: ANN401
        scoring: Any = None,  # noqa: ANN401
        rules: Any = None,  # noqa: ANN401
        gates: Any = None,  # noqa: ANN401
        inpainter: Any = None,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
        mixture: Any = "real",  # noqa: ANN401
        confidence: float | None = None,
        min_gain: float | None = None,
        time_budget: float | None = None,
        checkpoint: str | Path | None = None,
        license_policy: str = "open",
        kinds: Any = None,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.task = task
        self.budget = budget
        self.preset = preset
        self.evaluator = evaluator
        self.referee = referee
        self.learner = learner
        self.teacher = teacher
        self.scoring = scoring
        self.rules = rules
        self.gates = gates
        self.inpainter = inpainter
        self.groups = groups
        self.mixture = mixture
        self.confidence = confidence
        self.min_gain = min_gain
        self.time_budget = time_budget
        self.checkpoint = checkpoint
        self.license_policy = license_policy
        self.kinds = kinds
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Return the rows with those added that are shown to help.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or 2-d array
            Features of the real rows.
        y : one-dimensional container
            Their target.

        Returns
        -------
        X, y
            The real rows first and unchanged, then the committed ones, in the
            containers and dtypes that were given.

        Raises
        ------
        BadTableError
            With all problems of the table.
        UserInputError
            If a setting cannot be used.
        """
        (frame, target), wrap = unwrap(X, y)
        self.fit_table(frame, y=target)
        return wrap(self.result_.augmented())

    def fit(self, X: Any, y: Any) -> TabularAugmenter:  # noqa: ANN401
        """Run, and keep the result; ``fit_resample`` also returns the rows."""
        self.fit_resample(X, y)
        return self

    def fit_table(
        self,
        frame: Any,  # noqa: ANN401
        target: Hashable | None = None,
        *,
        y: Any = None,  # noqa: ANN401
        observer: Any = None,  # noqa: ANN401
    ) -> AugmentResult:
        """Run on one frame that holds its target, or on features and ``y``.

        Returns
        -------
        AugmentResult
            Also kept as ``result_``.
        """
        check_limits(self.budget, self.time_budget)
        check_words(self.license_policy, self.checkpoint, self.random_state)
        self.__dict__.pop("result_", None)  # of another table
        labels, kinds = read_groups(self.groups, frame, self.kinds)
        real = read_frame(frame, target, y=y, task=self.task, kinds=kinds)
        groups = None if labels is None else group_codes(labels)
        told = table_notes(real, kinds)
        likely = group_remark(real, kinds, self.groups)
        if likely is not None:
            told = (*told, remark_sentence(likely))
        request, more = with_notes(lambda: self._request(real, groups))
        narrator = Narrator(int(self.verbose))
        terms = RunOptions(
            budget="auto" if self.budget == "auto" else int(self.budget),
            time_budget=self.time_budget,
            observer=observer,
            narrator=narrator,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            notes=(
                *told,
                *more,
                *copies_note(request.all_groups if labels is None else None),
            ),
            index=getattr(frame, "index", None),
            group_labels=labels,
            likely_groups="" if likely is None else str(likely.column),
        )
        try:
            self.result_ = run(request, terms)
        except RunInterrupted as interrupt:
            self.result_ = cast("AugmentResult", interrupt.result)
            raise
        self._remember_features(real)
        self.sample_indices_ = np.concatenate(
            [np.arange(len(real)), self.result_.parent_indices]
        )
        return self.result_

    def _remember_features(self, real: Table) -> None:
        names = [column.name for column in real.schema.features]
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _request(self, real: Table, groups: IntArray | None) -> Request:
        preset = preset_named(self.preset)
        warn_of_cost(preset)
        config = preset.augment
        learner = one_learner(self.learner, self.referee)
        commit = commit_for(
            config.commit, learner, confidence=self.confidence, min_gain=self.min_gain
        )
        config = replace(config, commit=commit)
        diffusion = replace(preset.diffusion, device=self.device)
        preset = replace(preset, augment=config, diffusion=diffusion)
        task = task_of(real)
        judging: Any = {
            "license_policy": self.license_policy,
            "n_jobs": n_jobs_of(self.n_jobs),
        }
        judges = {"evaluator": self.evaluator, "referee": learner}
        is_kept = self.checkpoint is not None
        own = own_parts(self.gates, self.inpainter, judges, is_kept=is_kept)
        evaluator = choose_judge(
            preset.evaluators[task] if self._says_auto("evaluator") else self.evaluator,
            task,
            **judging,
        )
        if self._says_auto("evaluator"):
            name = evaluator.evaluator.name
            evaluator = replace(evaluator, why=f"{name}: chosen by the preset.")
        rules = choose_rules(self.rules)
        if rules is not None:
            rules.check_real(real)
        carried = (self.groups,) if names_a_column(self.groups, len(real)) else ()
        if groups is None:
            groups = copies_of(real, config.utility.n_folds)
        seed = seed_of(self.random_state)
        whole = Whole.of(real, groups, preset, seed)
        panel = PANEL if whole is None else LARGE_PANEL
        if whole is not None:
            is_panel = isinstance(learner, str) and learner in ("auto", "panel")
            whole.tell(is_panel=is_panel)
            real, groups = whole.sample, whole.sample_groups
        return Request(
            own=own,
            real=real,
            whole=whole,
            preset=preset,
            seed=seed,
            evaluator=evaluator,
            referee=choose_referee(
                learner, task, n_folds=config.utility.n_folds, panel=panel, **judging
            ),
            metric=choose_metric(self.scoring),
            teacher=choose_teacher(
                preset.teacher if self._says_auto("teacher") else self.teacher,
                real,
                task,
            ),
            rules=rules,
            groups=groups,
            mixture=choose_mixture(self.mixture, real),
            carried=carried,
        )

    def _says_auto(self, setting: str) -> bool:
        choice = getattr(self, setting)
        return isinstance(choice, str) and choice == "auto"


# ---- One call for people who have one table.


def augment(  # noqa: PLR0913  every setting, so that editors offer them
    frame: Any,  # noqa: ANN401
    target: Hashable,
    *,
    task: TaskChoice = "auto",
    budget: int | Literal["auto"] = 500,
    preset: str | Preset = "default",
    evaluator: Any = "auto",  # noqa: ANN401
    referee: Any = "auto",  # noqa: ANN401
    learner: Any = "auto",  # noqa: ANN401
    teacher: Any = "auto",  # noqa: ANN401
    scoring: Any = None,  # noqa: ANN401
    rules: Any = None,  # noqa: ANN401
    gates: Any = None,  # noqa: ANN401
    inpainter: Any = None,  # noqa: ANN401
    groups: Any = None,  # noqa: ANN401
    mixture: Any = "real",  # noqa: ANN401
    confidence: float | None = None,
    min_gain: float | None = None,
    time_budget: float | None = None,
    checkpoint: str | Path | None = None,
    license_policy: str = "open",
    kinds: Any = None,  # noqa: ANN401
    random_state: Any = None,  # noqa: ANN401
    device: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> AugmentResult:
    """Augment a table that holds its target.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or 2-d array
        Features and target of the real rows.
    target : column name
        The column to be predicted.
    task, budget, preset, ... : any
        As for ``TabularAugmenter``, with the same defaults.

    Returns
    -------
    AugmentResult
        ``result.augmented()`` is the larger table, ``result.verdict`` and
        ``result.why`` say whether and why to use it.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> birds = load_penguins().dropna().iloc[::8]
    >>> augment(birds, "species", budget=0, random_state=0).verdict
    'no_gain'
    """
    given = locals()  # before there is any other name
    settings = {k: v for k, v in given.items() if k not in ("frame", "target")}
    return TabularAugmenter(**settings).fit_table(frame, target)


# ---- Lists, frames of one column and upright targets, as scikit-learn's users pass
# them.
#
# What ``tabtap.table`` reads is a frame or an array, and a one-dimensional target.


Given = tuple[Any, Any]
"""Features and target."""


def unwrap(X: Any, y: Any) -> tuple[Given, Callable[[Given], Given]]:  # noqa: ANN401
    """Return what can be read, and how to give results the form of what was passed."""
    if sparse.issparse(X):
        raise UserInputError(
            "X is a sparse matrix, but rows are redrawn cell by cell. Pass a frame, or "
            "X.toarray()."
        )
    frame, wrap_frame = _features(X)
    target, wrap_target = _target(y)
    return (frame, target), lambda made: (wrap_frame(made[0]), wrap_target(made[1]))


def _features(X: Any) -> tuple[Any, Callable[[Any], Any]]:  # noqa: ANN401
    if isinstance(X, (list, tuple)):
        # As a frame: an array would make text of numbers beside words.
        rows = list(X)
        frame = pd.DataFrame(rows)
        return frame, lambda made: rows + made.iloc[len(rows) :].to_numpy().tolist()
    return X, _as_it_is


def _target(y: Any) -> tuple[Any, Callable[[Any], Any]]:  # noqa: ANN401
    if isinstance(y, (list, tuple)):
        return np.asarray(y), lambda made: list(y) + np.asarray(made)[len(y) :].tolist()
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        column = y.columns[0]
        series, wrap = _target(y[column])
        return series, lambda made: pd.DataFrame({column: wrap(made)})
    if isinstance(y, pd.Series):
        return y, lambda made: _with_labels(made, y.index)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        return y.ravel(), _as_it_is
    return y, _as_it_is


def _with_labels(made: Any, index: pd.Index) -> pd.Series:  # noqa: ANN401
    """Return a target under its own labels, whatever those of the features are."""
    labels = continued(index, len(made) - len(index))
    if isinstance(made, pd.Series):
        return made.set_axis(labels)
    return pd.Series(made, index=labels)


def _as_it_is(made: Any) -> Any:  # noqa: ANN401
    return made


# ---- One whole number from whatever a user passes as random_state.


def seed_of(random_state: object) -> int:
    """Return the seed that a ``random_state`` stands for.

    Parameters
    ----------
    random_state : None, int, numpy RandomState or Generator
        None draws a fresh seed, which the result records.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if random_state is None:
        return secrets.randbits(31)
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    must = "be None, a whole number from 0, a RandomState or a Generator"
    raise bad_setting("random_state", random_state, must, "Try 0.")
