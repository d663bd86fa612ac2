"""What the user's words for judges, yardsticks, rules and groups stand for."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray

from tabtap.config import CommitConfig, Preset, SizeConfig, UtilityConfig
from tabtap.errors import (
    ColumnLostWarning,
    EvaluatorFallbackWarning,
    LargeTableWarning,
    LongRunWarning,
    TargetCopyWarning,
    TeacherConditionWarning,
    UserInputError,
    bad_setting,
)
from tabtap.evaluate.choose import (
    CANDIDATES,
    ChosenEvaluator,
    LicensePolicy,
    choose_evaluator,
)
from tabtap.evaluate.evaluators import (
    BOOSTERS,
    PANEL,
    EstimatorEvaluator,
    PanelEvaluator,
    booster,
    panel_learners,
    takes_no_weights,
)
from tabtap.evaluate.learners import Estimator
from tabtap.evaluate.metric import Metric, metric_of
from tabtap.gates import Rules
from tabtap.inspection.inspect import (
    Remark,
    class_remarks,
    column_remarks,
    copy_remarks,
    formula_remarks,
    leak_remarks,
    torn_remarks,
)
from tabtap.loop.commit import ALLOWED_LOSS, named_columns
from tabtap.stages import Evaluator
from tabtap.table.computed import Formula
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.suspects import copy_groups, lost_columns, target_copies
from tabtap.table.table import Table
from tabtap.wording import capital, listed


def choose_judge(
    choice: Any,  # noqa: ANN401  a name, a learner or an evaluator
    task: Task,
    *,
    license_policy: LicensePolicy,
    n_jobs: int,
    role: str = "evaluator",
) -> ChosenEvaluator:
    """Return an evaluator: one of ``choose_evaluator``'s, or one learner of a panel."""
    if isinstance(choice, str) and choice in learner_names():
        learner = _learner(choice, task, role)
        judge = EstimatorEvaluator(learner, name=choice, n_jobs=n_jobs)
        return ChosenEvaluator(judge, f"{choice}: asked for by name.")
    check_judge_name(choice, role)
    return choose_evaluator(
        choice, task=task, license_policy=license_policy, n_jobs=n_jobs, role=role
    )


def learner_names() -> tuple[str, ...]:
    """Return the learners that a judge can be by name, besides the evaluators."""
    return (*PANEL, *BOOSTERS)


def check_judge_name(choice: Any, role: str) -> None:  # noqa: ANN401
    """Refuse a name that no judge has; whatever else it is is not looked at."""
    known = [*learner_names(), *(candidate.name for candidate in CANDIDATES)]
    if isinstance(choice, str) and choice not in ("auto", *known):
        near = difflib.get_close_matches(choice, known, n=1) or ["auto"]
        listed = ", ".join(known)
        must = f"be 'auto', a learner or an evaluator ({listed}), or an object"
        raise bad_setting(role, choice, must, f"Try {near[0]!r}.")


def _learner(name: str, task: Task, role: str) -> Estimator:
    return booster(name, task, role) if name in BOOSTERS else panel_learners(task)[name]


def choose_referee(
    choice: Any,  # noqa: ANN401
    task: Task,
    *,
    license_policy: LicensePolicy,
    n_jobs: int,
    n_folds: int,
    panel: tuple[str, ...] = PANEL,
) -> ChosenEvaluator:
    """Return the referee: the learner to be trained, or the best of the panel.

    ``auto`` promises the best of the panel, ``panel`` its mean; ``panel`` names the
    learners that it is made of.
    """
    share = 1.0 - 1.0 / n_folds
    if isinstance(choice, str) and choice in ("auto", "panel"):
        is_mean = choice == "panel"
        why = _PANEL_WHY[is_mean]
        judge = PanelEvaluator(n_jobs, share, panel, is_mean=is_mean)
        return ChosenEvaluator(judge, f"{why} {', '.join(panel)}.")
    if isinstance(choice, str) and choice in PANEL:
        judge = PanelEvaluator(n_jobs, share, (choice,), is_mean=False)
        return ChosenEvaluator(judge, f"{choice}: the learner that you will train.")
    chosen = choose_judge(
        choice, task, license_policy=license_policy, n_jobs=n_jobs, role="learner"
    )
    if isinstance(chosen.evaluator, EstimatorEvaluator):
        own = chosen.evaluator
        scaled = EstimatorEvaluator(
            own.estimator, name=own.name, n_jobs=n_jobs, share=share
        )
        return replace(chosen, evaluator=scaled)
    return chosen


_PANEL_WHY = {
    True: "panel: the mean of these learners, as the paper has it:",
    False: "best: no learner was named, so the best of these is promised:",
}


def commit_for(
    commit: CommitConfig,
    learner: Any,  # noqa: ANN401
    task: Task,
    *,
    confidence: float | None = None,
    min_gain: float | None = None,
) -> CommitConfig:
    """Return when a pool may enter, as the user said or as suits learner and task."""
    is_best = isinstance(learner, str) and learner == "auto"
    is_best = is_best and task == "classification"
    if confidence is None:
        crossfit = commit.protocol == "crossfit"
        confidence = commit.confidence
        if is_best and crossfit:
            confidence = commit.best_confidence
    if min_gain is None:
        min_gain = commit.min_gain
    return replace(commit, confidence=confidence, min_gain=min_gain)


def one_learner(learner: Any, referee: Any) -> Any:  # noqa: ANN401
    """Return the learner that was asked for, under whichever of its two names."""
    given = [
        choice
        for choice in (learner, referee)
        if not (isinstance(choice, str) and choice == "auto")
    ]
    if len(given) > 1 and given[0] is not given[1]:
        must = "be left out where learner= is given: they are the same setting"
        raise bad_setting("referee", referee, must, "Keep learner=.")
    return given[0] if given else "auto"


def choose_metric(scoring: str | Callable[..., Any] | None) -> Metric:
    """Return the yardstick; predictions' proper score unless the user names one."""
    return metric_of("score" if scoring is None else scoring)


def choose_rules(rules: Any) -> Rules | None:  # noqa: ANN401
    """Return the user's rules: a TOML file, or one or more texts, dicts, callables."""
    if rules is None:
        return None
    if isinstance(rules, (str, Path)) and str(rules).endswith(".toml"):
        return Rules.read(rules)
    return Rules.of(rules)


def choose_no_harm(
    no_harm: Any,  # noqa: ANN401
    real: Table,
    commit: CommitConfig,
) -> dict[str, float]:
    """Return the columns whose groups may not be harmed, and what each may lose."""
    if no_harm is None:
        return {}
    if commit.protocol == "paper":
        must = "be left out under the paper's protocol, which asks about no single rows"
        raise bad_setting("no_harm", no_harm, must, "Use preset='default'.")
    if isinstance(no_harm, (str, int)):
        no_harm = [no_harm]
    if not isinstance(no_harm, Mapping):
        no_harm = dict.fromkeys(no_harm, ALLOWED_LOSS)
    known = [column.name for column in named_columns(real)]
    for name, loss in no_harm.items():
        if name not in known:
            near = difflib.get_close_matches(str(name), map(str, known), n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Check its spelling."
            raise bad_setting("no_harm", name, "name columns of the table", hint)
        if not (isinstance(loss, Real) and 0.0 <= float(loss) < float("inf")):
            must = "be a loss of the score from 0 that a group may have"
            raise bad_setting(f"no_harm[{name!r}]", loss, must, f"Try {ALLOWED_LOSS}.")
    return {str(name): float(loss) for name, loss in no_harm.items()}


def read_groups(
    groups: Any,  # noqa: ANN401
    frame: Any,  # noqa: ANN401
    kinds: Mapping[Any, Any] | None,
) -> tuple[NDArray[Any] | None, dict[Any, Any]]:
    """Return whose row each row is, and kinds in which such a column is no feature.

    Groups are the name of a column, or one label per row.
    """
    kinds = dict(kinds or {})
    if groups is None:
        return None, kinds
    n_rows = len(frame)
    labels = groups
    if names_a_column(groups, n_rows):
        columns = getattr(frame, "columns", range(np.shape(frame)[1]))
        if groups not in columns:
            must = "be one group per row, or the name of a column"
            raise bad_setting("groups", groups, must, "Check its spelling.")
        kinds.setdefault(groups, "identifier")
        is_array = isinstance(frame, np.ndarray)
        labels = frame[:, groups] if is_array else frame[groups]
    labels = np.asarray(labels, dtype=object)
    if labels.shape != (n_rows,):
        raise UserInputError(
            f"groups has shape {labels.shape}, the table {n_rows} rows. Pass one group "
            "per row, or the name of the column that holds it."
        )
    return labels, kinds


def names_a_column(groups: Any, n_rows: int) -> bool:  # noqa: ANN401
    """Tell the name of a column from one label per row."""
    if isinstance(groups, tuple) and len(groups) == n_rows:
        return False
    return isinstance(groups, Hashable) and groups is not None


def group_codes(labels: NDArray[Any]) -> IntArray:
    """Return a number for every row's group; a row without a group is one by itself."""
    found, _ = pd.factorize(pd.Series(labels), use_na_sentinel=True)
    alone = np.flatnonzero(found < 0)
    codes: IntArray = found.astype(np.int64)
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(len(alone))
    if len(np.unique(codes)) < 2:
        raise bad_setting(
            "groups",
            "one group only",
            "have at least two groups, so that one can judge the other",
            "Leave it out, or pass a finer grouping.",
        )
    return codes


def copies_of(real: Table, n_folds: int) -> IntArray | None:
    """Return which rows are copies of one another, if they can be kept together."""
    codes = copy_groups(real)
    if codes is None or len(np.unique(codes)) < n_folds:
        return None
    return codes


def copies_note(codes: IntArray | None) -> tuple[str, ...]:
    """Say what is done with copies, if there are any."""
    if codes is None:
        return ()
    n_copies = len(codes) - len(np.unique(codes))
    said = f"{n_copies} rows are exact copies of others"
    if n_copies == 1:
        said = "1 row is an exact copy of another"
    return (f"{said}; copies stay on one side of every split and count as one.",)


def check_limits(budget: Any, time_budget: Any) -> None:  # noqa: ANN401
    """Refuse a budget of rows or of seconds that is none."""
    whole = is_whole(budget) and int(budget) >= 0
    if not whole and not (isinstance(budget, str) and budget == "auto"):
        must = "be a whole number from 0, or 'auto'"
        raise bad_setting("budget", budget, must, "Try 500.")
    is_time = isinstance(time_budget, Real) and float(time_budget) > 0
    if time_budget is not None and not is_time:
        must = "be a positive number of seconds"
        raise bad_setting("time_budget", time_budget, must, "Try 300.")


def check_words(
    license_policy: object, checkpoint: object, random_state: object
) -> None:
    """Refuse an unknown policy, and a run to be kept that nobody could find again."""
    if license_policy not in ("open", "any"):
        must = "be 'open' or 'any'"
        raise bad_setting("license_policy", license_policy, must, "Try 'open'.")
    if checkpoint is not None and random_state is None:
        must = "be given with checkpoint=, or no run would find its own state"
        raise bad_setting("random_state", None, must, "Try 0.")


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:  # noqa: ANN401
    """Return weights of the rows given; None where they make no difference."""
    if sample_weight is None:
        return None
    must = f"be {n_rows} numbers from 0, one for each row and not all of them 0"
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.zeros(0)
    is_usable = weights.shape == (n_rows,) and bool(np.isfinite(weights).all())
    if not is_usable or (weights < 0).any() or not weights.any():
        way_out = "Leave it out where rows count the same."
        raise bad_setting("sample_weight", _shape(sample_weight), must, way_out)
    return None if (weights == weights[0]).all() else weights


def _shape(given: Any) -> str:  # noqa: ANN401
    shape = getattr(given, "shape", None)
    return type(given).__name__ if shape is None else f"array of shape {shape}"


def check_weights(weights: FloatArray, real: Table, protocol: str) -> None:
    """Refuse weights that nothing could be judged by."""
    if not weights[real.origin].any():
        must = "be more than 0 for some row with a label"
        raise bad_setting("sample_weight", 0, must, "Weigh rows that have labels.")
    if protocol == "paper":
        raise UserInputError(
            "sample_weight cannot be honoured under the paper's protocol, which counts "
            "every row once. Leave it out, or use preset='default'."
        )


def weight_notes(
    weights: FloatArray | None, judge: Evaluator, task: Task
) -> tuple[str, ...]:
    """Say what weights do, and which learners are fitted without them."""
    if weights is None:
        return ()
    said: tuple[str, ...] = (
        "Rows count by their sample_weight in every score and figure; a new row has "
        "the weight of the real row that it was made from.",
    )
    if names := takes_no_weights(judge, task):
        noun = "is" if len(names) == 1 else "are"
        more = f"{listed(list(names))} cannot take sample_weight and {noun} fitted "
        said = (*said, f"{more}without it.")
    return said


def is_whole(number: object) -> bool:
    """Tell a whole number, numpy's too, from anything else."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def n_jobs_of(n_jobs: Any) -> int:  # noqa: ANN401
    """Return a number of processes: 1 for None, all cores for -1."""
    if n_jobs is not None and not is_whole(n_jobs):
        raise bad_setting("n_jobs", n_jobs, "be None or a whole number", "Try 1.")
    return 1 if n_jobs is None else int(effective_n_jobs(n_jobs))


def task_of(real: Table) -> Task:
    """Return what the table asks for; a table without a target asks for nothing."""
    target = real.schema.target
    if target is None:
        raise bad_setting("y", None, "be the target of the rows", "Pass y or target=.")
    return target.task


def choose_mixture(mixture: Any, real: Table) -> Any:  # noqa: ANN401
    """Return wanted shares by class code where the user gave them by label."""
    target = real.schema.target
    if not isinstance(mixture, dict) or target is None:
        return mixture
    if target.task != "classification":
        return mixture
    levels = list(target.column.levels)
    if unknown := [label for label in mixture if label not in levels]:
        must = f"name classes of the target: {', '.join(map(repr, levels))}"
        raise bad_setting("mixture", unknown[0], must, "Leave it out.")
    return {levels.index(label): share for label, share in mixture.items()}


# ---- What a user should hear of a run before it begins: as warnings, and as its notes.


_Made = TypeVar("_Made")
_CALLER = 3  # of whoever asked for the notes


def table_notes(real: Table, declared: Container[Hashable]) -> tuple[str, ...]:
    """Warn of columns that are lost or too good, and return what ``inspect`` saw.

    A sentence each; of groups and of copies that stay together others tell.
    ``declared`` are the columns whose kind the user has named.
    """
    lost = [str(column) for column in lost_columns(real, declared)]
    if lost:
        warnings.warn(_listed(lost), ColumnLostWarning, stacklevel=_CALLER)
    same = target_copies(real)
    copies = [_copy(name) for name in same]
    for said in copies:
        warnings.warn(said, TargetCopyWarning, stacklevel=_CALLER)
    leaks = [r for r in leak_remarks(real) if r.column not in same]
    alone = {remark.column for remark in leaks}
    searched = [r for r in _searched(real) if r.column not in alone]
    told = [*leaks, *class_remarks(real), *searched]
    return (*lost, *copies, *(remark_sentence(remark) for remark in told))


def _searched(real: Table) -> list[Remark]:
    """Return leaks by formula and duplicates, but copies that stay together.

    All rows are read for these, which is not done for more than are ever judged.
    """
    if len(real) * len(real.schema.features) > SizeConfig().max_judged_cells:
        return []
    copied = copy_remarks(real)
    if copied and copies_of(real, UtilityConfig().n_folds) is not None:
        copied = []  # copies_note tells of them
    return [*formula_remarks(real), *copied, *torn_remarks(real)]


def computed_notes(real: Table, formulas: Sequence[Formula]) -> tuple[str, ...]:
    """Say which columns are computed in new rows, and from what."""
    return tuple(
        f"Column {str(real.schema.features[formula.position].name)!r} is "
        f"{formula.text(real)} in every row, and is computed so in new ones."
        for formula in formulas
    )


PAPER_COST = (
    "preset='paper' learns the table with a network of TabDiff's size, {n_steps:,} "
    "steps, and has an evaluator judge each of {n_actions} actions: half an hour to an "
    "hour on one CPU core for 50 rows of few columns, more for many columns, where "
    "preset='default' takes a minute. It can be interrupted and go on: with "
    "checkpoint= in Python, with --resume on the command line."
)


def warn_of_cost(preset: Preset) -> None:
    """Say beforehand what the paper's own settings cost."""
    learning = preset.diffusion
    n_steps = learning.n_steps or 0
    if learning.size == "paper" and n_steps >= _MANY_STEPS:
        told = PAPER_COST.format(n_steps=n_steps, n_actions=preset.augment.n_steps)
        warnings.warn(told, LongRunWarning, stacklevel=_CALLER)


_MANY_STEPS = 1000


def group_remark(
    real: Table, declared: Container[Hashable], groups: object
) -> Remark | None:
    """Return the remark on a column that looks like groups where none were named."""
    if groups is not None:
        return None
    remarks = column_remarks(real, declared)
    return next((r for r in remarks if r.topic == "groups"), None)


def remark_sentence(remark: Remark) -> str:
    """Return a remark as a sentence of its own, with the setting that answers it."""
    about = "" if remark.column is None else f"Column {remark.column!r} "
    said = f"{about}{remark.text}"
    answer = ""
    if remark.setting == "groups":
        answer = f": groups={remark.column!r}"
    elif remark.setting == "ignore":
        answer = f". Drop it if it was written down after the fact: {remark.column!r}"
    return f"{capital(said)}{answer}."


def with_notes(make: Callable[[], _Made]) -> tuple[_Made, tuple[str, ...]]:
    """Return what was made, and the warnings that were raised on the way as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EvaluatorFallbackWarning)
        warnings.simplefilter("always", TeacherConditionWarning)
        warnings.simplefilter("always", LargeTableWarning)
        warnings.simplefilter("always", LongRunWarning)
        made = make()
    for warning in caught:
        warnings.warn_explicit(
            warning.message, warning.category, warning.filename, warning.lineno
        )
    return made, tuple(str(warning.message) for warning in caught)


def _listed(sentences: list[str]) -> str:
    if len(sentences) == 1:
        return sentences[0]
    lines = "".join(f"\n  - {sentence}" for sentence in sentences)
    return f"{len(sentences)} columns are not learned as what they are:{lines}"


def _copy(name: Hashable) -> str:
    return (
        f"Column {name!r} equals the target in every row, so nothing is left to "
        "predict and no rows can be shown to help. Drop it, or keep it from being "
        f"learned: kinds={{{name!r}: 'identifier'}}."
    )
