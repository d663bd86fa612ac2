"""TabularAugmenter: the scikit-learn style door to the whole method."""

from __future__ import annotations

import numbers
import secrets
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin

from tabtap.api.choices import (
    check_limits,
    check_weights,
    check_words,
    choose_judge,
    choose_metric,
    choose_mixture,
    choose_no_harm,
    choose_referee,
    choose_rules,
    commit_for,
    computed_notes,
    copies_note,
    copies_of,
    group_codes,
    group_remark,
    n_jobs_of,
    names_a_column,
    one_learner,
    read_groups,
    read_weights,
    remark_sentence,
    table_notes,
    task_of,
    warn_of_cost,
    weight_notes,
    with_notes,
)
from tabtap.api.large import LARGE_PANEL, Whole, is_beyond_judging
from tabtap.api.own_parts import own_parts
from tabtap.api.progress import narrator_for
from tabtap.api.run import Request, RunOptions, run, with_timed_teacher
from tabtap.config import Preset, preset_named
from tabtap.errors import RunInterrupted, UserInputError, bad_setting
from tabtap.evaluate.evaluators import PANEL
from tabtap.evaluate.teachers import choose_teacher
from tabtap.result import AugmentResult
from tabtap.result.frames import continued
from tabtap.result.set_aside import SetAside
from tabtap.table.computed import find_formulas
from tabtap.table.frame import labelled_rows, read_as_given, read_frame, take_rows
from tabtap.table.schema import IntArray
from tabtap.table.table import Table
from tabtap.table.targets import TaskChoice
from tabtap.wording import set_aside_note


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
    no_harm : str, list or mapping, optional
        Columns by whose values real rows are grouped, such as ``["sex", "site"]``, a
        number at its median.  New rows that are estimated to lower the score of one of
        these groups by more than 0.02 are not let in; a mapping says by how much.
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
        One-sided, of the run as a whole; by default 0.75, and 0.95 for classes where
        no learner is named.  Single attempts share it and are held to more, which is
        what ``why`` and certificates quote: at 0.75 the first to 81.2 %, and after each
        that fails to 95.3, 98.8, ... %.
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
    computed : {"auto", "none"} or list of column names, default="auto"
        Columns that other columns give in every row, such as a total: new rows have
        them computed.  ``auto`` takes all that are found, ``none`` draws them.
    random_state : int, RandomState, Generator or None
        Equal seeds give equal tables.  It moves what is drawn, not the folds.
    device : str, default="auto"
        Torch device of the backbones.
    n_jobs : int, optional
        Processes for learners that are fitted.
    verbose : int or "auto", default="auto"
        ``auto``: a display that moves in a notebook, silence elsewhere.  0: silence; 1:
        that display, or a line per window on the error stream; 2: a line per step.

    Attributes
    ----------
    result_ : AugmentResult
        Verdict, rows, provenance and certificates of the last call.
    n_features_in_, feature_names_in_
        Columns of the features, and their names where they are strings.
    sample_indices_ : array of shape (n_rows,)
        Real row of each row returned: itself, or the parent of a synthetic row.
    sample_weight_ : array of shape (n_rows,) or None
        Weight of each row returned, where weights were passed: a synthetic row has that
        of its parent.

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
        no_harm: Any = None,  # noqa: ANN401
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
        computed: Any = "auto",  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int | Literal["auto"] = "auto",
    ) -> None:
        self.task = task
        self.budget = budget
        self.preset = preset
        self.evaluator = evaluator
        self.referee = referee
        self.learner = learner
        self.teacher = teacher
        self.scoring = scoring
        self.no_harm = no_harm
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
        self.computed = computed
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    # What pipelines of imbalanced-learn pass on: whoever passes groups means them to be
    # kept apart here as well, and whoever weighs rows means these.
    __metadata_request__fit_resample: ClassVar[dict[str, bool]] = {
        "groups": True,
        "sample_weight": True,
    }

    def fit_resample(
        self,
        X: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
        sample_weight: Any = None,  # noqa: ANN401
    ) -> tuple[Any, Any]:
        """Return the rows with those added that are shown to help.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or 2-d array
            Features of the real rows.
        y : one-dimensional container
            Their target.
        groups : array of shape (n_rows,), optional
            Rows that belong together, where the setting of that name is None: so they
            come from ``cross_validate`` by metadata routing.
        sample_weight : array of shape (n_rows,), optional
            What each row counts.  The learner of the promise is fitted with them where
            it can be, and rows count by them in every score.  ``sample_weight_`` has
            those of the rows returned, to train with.

        Returns
        -------
        X, y
            The rows given first and unchanged, then the committed ones, in the
            containers and dtypes that were given.  Rows without a label are among the
            first: they were not learned, and learners want them left out.

        Raises
        ------
        BadTableError
            With all problems of the table.
        UserInputError
            If a setting cannot be used.
        """
        (frame, target), wrap = unwrap(X, y)
        passed: Any = {"groups": groups, "sample_weight": sample_weight}
        self.fit_table(frame, y=target, **passed)
        return wrap(self.result_.augmented())

    def fit(self, X: Any, y: Any, **metadata: Any) -> TabularAugmenter:  # noqa: ANN401
        """Run, and keep the result; ``fit_resample`` also returns the rows."""
        self.fit_resample(X, y, **metadata)
        return self

    def set_fit_resample_request(
        self, **requests: bool | str | None
    ) -> TabularAugmenter:
        """Say which metadata a pipeline passes on to ``fit_resample``.

        Parameters
        ----------
        **requests : bool, str or None
            ``groups`` or ``sample_weight``.  ``True`` (the default): what is passed
            under that name; ``False``: never; a text: what is passed under another
            name.  ``None``: passing it is an error.

        Raises
        ------
        UserInputError
            If ``fit_resample`` takes no metadata of that name, routing is not enabled,
            or imbalanced-learn, whose pipelines do it, was not imported.
        """
        routing = self.get_metadata_routing()
        asked = getattr(routing, "fit_resample", None)
        if asked is None:
            raise UserInputError(
                "Metadata is routed to fit_resample by pipelines of imbalanced-learn, "
                "which was not imported. Import imblearn first."
            )
        if not get_config()["enable_metadata_routing"]:
            raise UserInputError(
                "Metadata is not routed. Call "
                "sklearn.set_config(enable_metadata_routing=True) first."
            )
        for name, alias in requests.items():
            if name not in ("groups", "sample_weight"):
                must = "be groups or sample_weight"
                raise bad_setting("metadata", name, must, "Leave it out.")
            asked.add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self

    def fit_table(
        self,
        frame: Any,  # noqa: ANN401
        target: Hashable | None = None,
        *,
        y: Any = None,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
        sample_weight: Any = None,  # noqa: ANN401
        observer: Any = None,  # noqa: ANN401
    ) -> AugmentResult:
        """Run on one frame that holds its target, or on features and ``y``.

        ``groups`` are used where the setting of that name is None; ``sample_weight`` is
        what rows count, as in ``fit_resample``.

        Returns
        -------
        AugmentResult
            Also kept as ``result_``.
        """
        check_limits(self.budget, self.time_budget)
        check_words(self.license_policy, self.checkpoint, self.random_state)
        self.__dict__.pop("result_", None)  # of another table
        named = groups if self.groups is None else self.groups
        labels, kinds = read_groups(named, frame, self.kinds)
        learned = Labelled.of(frame, target, y, labels)
        real = learned.read(task=self.task, kinds=kinds)
        codes = None if learned.groups is None else group_codes(learned.groups)
        wanted = self.computed
        if self._says_auto("computed") and is_beyond_judging(
            real, preset_named(self.preset)
        ):
            wanted = "none"  # no row is made in which they were to be computed
        computed = find_formulas(real, wanted)
        told = (*table_notes(real, kinds), *computed_notes(real, computed))
        likely = group_remark(real, kinds, named)
        if likely is not None:
            told = (*told, remark_sentence(likely))
        request, more = with_notes(
            lambda: with_timed_teacher(self._request(real, codes, named), self.budget)
        )
        weights = read_weights(sample_weight, len(frame))
        if weights is not None:
            check_weights(weights, real, request.config.commit.protocol)
        request = replace(request, computed=computed, weights=weights)
        judge = request.referee.evaluator
        narrator = narrator_for(self.verbose)
        terms = RunOptions(
            budget="auto" if self.budget == "auto" else int(self.budget),
            time_budget=self.time_budget,
            observer=observer,
            narrator=narrator,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            notes=(
                *learned.notes,
                *told,
                *more,
                *weight_notes(weights, judge, task_of(real)),
                *copies_note(request.all_groups if labels is None else None),
            ),
            index=getattr(frame, "index", None),
            set_aside=learned.set_aside,
            group_labels=learned.groups,
            likely_groups="" if likely is None else str(likely.column),
        )
        try:
            self.result_ = run(request, terms)
        except RunInterrupted as interrupt:
            self.result_ = cast("AugmentResult", interrupt.result)
            raise
        self._remember_features(real)
        n_given = len(self.result_.given_places)
        self.sample_indices_ = np.concatenate(
            [np.arange(n_given), self.result_.parent_indices]
        )
        self.sample_weight_ = None
        if sample_weight is not None:
            self.sample_weight_ = np.asarray(sample_weight)[self.sample_indices_]
        return self.result_

    def _remember_features(self, real: Table) -> None:
        names = [column.name for column in real.schema.features]
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _request(
        self,
        real: Table,
        groups: IntArray | None,
        named: Any,  # noqa: ANN401  as the user gave them
    ) -> Request:
        preset = preset_named(self.preset)
        warn_of_cost(preset)
        config = preset.augment
        learner = one_learner(self.learner, self.referee)
        task = task_of(real)
        asked: Any = {"confidence": self.confidence, "min_gain": self.min_gain}
        commit = commit_for(config.commit, learner, task, **asked)
        config = replace(config, commit=commit)
        diffusion = replace(preset.diffusion, device=self.device)
        preset = replace(preset, augment=config, diffusion=diffusion)
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
        carried = (named,) if names_a_column(named, len(real)) else ()
        if groups is None and not is_beyond_judging(real, preset):
            groups = copies_of(real, config.utility.n_folds)
        seed = seed_of(self.random_state)
        whole = Whole.of(real, groups, preset, seed)
        panel = PANEL if whole is None else LARGE_PANEL
        n_folds = config.utility.n_folds
        referee = choose_referee(learner, task, n_folds=n_folds, panel=panel, **judging)
        if whole is not None:
            whole = whole.timed(referee.evaluator, n_folds, self.time_budget)
            whole.tell(referee.evaluator.name)
            preset = replace(preset, augment=whole.shortened(config))
            real, groups = whole.sample, whole.sample_groups
        return Request(
            own=own,
            real=real,
            whole=whole,
            preset=preset,
            seed=seed,
            evaluator=evaluator,
            referee=referee,
            metric=choose_metric(self.scoring),
            teacher=choose_teacher(
                preset.teacher if self._says_auto("teacher") else self.teacher,
                real,
                task,
            ),
            rules=rules,
            no_harm=choose_no_harm(self.no_harm, real, commit),
            groups=groups,
            mixture=choose_mixture(self.mixture, real),
            carried=carried,
        )

    def _says_auto(self, setting: str) -> bool:
        choice = getattr(self, setting)
        return isinstance(choice, str) and choice == "auto"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """The rows of a table that have a label, and the others, which are set aside."""

    frame: Any
    target: Hashable | None
    y: Any
    groups: NDArray[Any] | None
    """Of the rows with a label: whose row each is."""

    places: IntArray | None = None
    """Places of these rows in the table given; None if they are all of it."""

    set_aside: SetAside | None = None

    @classmethod
    def of(
        cls,
        frame: Any,  # noqa: ANN401
        target: Hashable | None,
        y: Any,  # noqa: ANN401
        groups: NDArray[Any] | None,
    ) -> Labelled:
        """Part the rows; ``read_frame`` complains of all else."""
        if target is not None and y is not None:
            return cls(frame=frame, target=target, y=y, groups=groups)
        keep = labelled_rows(frame, target, y)
        if keep is None:
            return cls(frame=frame, target=target, y=y, groups=groups)
        others = (
            take_rows(frame, ~keep),
            target,
            None if y is None else take_rows(y, ~keep),
        )
        rows, position = read_as_given(*others)
        places = np.flatnonzero(~keep).astype(np.int64)
        return cls(
            frame=take_rows(frame, keep),
            target=target,
            y=None if y is None else take_rows(y, keep),
            groups=None if groups is None else groups[keep],
            places=np.flatnonzero(keep).astype(np.int64),
            set_aside=SetAside(
                rows=replace(rows, origin=places),
                position=position,
                places=places,
                groups=None if groups is None else groups[~keep],
            ),
        )

    def read(self, *, task: TaskChoice, kinds: Any) -> Table:  # noqa: ANN401
        """Return the rows with a label, whose origins are places in the table given."""
        real = read_frame(self.frame, self.target, y=self.y, task=task, kinds=kinds)
        return real if self.places is None else replace(real, origin=self.places)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of rows set aside."""
        aside = self.set_aside
        if aside is None:
            return ()
        name = aside.rows.schema.features[aside.position].name
        return (set_aside_note(len(aside), name),)


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
    no_harm: Any = None,  # noqa: ANN401
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
    computed: Any = "auto",  # noqa: ANN401
    random_state: Any = None,  # noqa: ANN401
    device: str = "auto",
    n_jobs: int | None = None,
    verbose: int | Literal["auto"] = "auto",
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
