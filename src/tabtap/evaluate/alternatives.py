"""What else one can do with the same rows: other learners, settings, a stack, TabPFN.

All are scored on the folds of the run, by its yardstick, so that they can be compared
with what new rows do.  Nothing is fetched.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from tabtap.domain import (
    Alternative,
    LearnerPrediction,
    Lineages,
    Measured,
    RefereeScores,
)
from tabtap.domain.judgement import PANEL_MEAN, cross_fitted
from tabtap.errors import EvaluatorError, EvaluatorLimitWarning, UserInputError
from tabtap.evaluate.choose import CANDIDATES
from tabtap.evaluate.evaluators import (
    LEAF_SETTINGS,
    PANEL,
    SMALL_LEAF_SIZE,
    EstimatorEvaluator,
    PanelEvaluator,
)
from tabtap.evaluate.figures import figure_kinds, plain_figure, prediction_of
from tabtap.evaluate.judging import FoldReferee, described_learners, said
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray, Task
from tabtap.table.table import Table
from tabtap.wording import learner_words

ENOUGH = 0.9
"""Confidence at which something better must be shown to be better."""

AS_GOOD = 0.01
"""What a learner may lack in accuracy, or have in RMSE as a share, and still do as well
as the best: a gain that is not worth having, by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """Something that was scored on the real rows."""

    name: str
    words: str
    scores: FloatArray
    """Shape (n_real,), by the yardstick."""

    answers: FloatArray
    """As in ``RefereeScores.answers``."""

    note: str = ""

    value: Measured | None = None
    """The plain figure, where the answers are not to be believed outright."""

    described: str = ""
    """Class, settings and version of a single learner."""


@dataclass(frozen=True, slots=True, eq=False)
class TeacherAlone:
    """What the run's teacher says of the real rows, each fold unseen."""

    name: str
    answers: Sequence[LearnerPrediction]
    """One for each fold, in order."""


def alternatives(
    referee: FoldReferee,
    real_scores: RefereeScores | None,
    with_rows: Tried | None = None,
    teacher: TeacherAlone | None = None,
) -> tuple[Alternative, ...]:
    """Score what else can be done, and put the cheapest that is enough first.

    Parameters
    ----------
    referee : FoldReferee
        That of the run.
    real_scores : RefereeScores or None
        What it said of real rows alone, so that nobody is asked twice.
    with_rows : Tried, optional
        The promised learner with the new rows that were let in.
    teacher : TeacherAlone, optional
        Who gave rows their targets, and can be trained itself.
    """
    panel = _panel_scores(referee, real_scores)
    tried = list(_alone(referee, real_scores, panel))
    if with_rows is not None:
        tried.append(with_rows)
    if teacher is None:
        tried.append(_stack(referee, panel))
    else:
        tried.append(_teacher(referee, teacher))
    missing: list[Alternative] = []
    for model in _in_context(referee, "" if teacher is None else teacher.name):
        if isinstance(model, Tried):
            tried.append(model)
        else:
            missing.append(model)
    return (*_ordered(referee, tried), *missing)


def _panel_scores(
    referee: FoldReferee, real_scores: RefereeScores | None
) -> RefereeScores:
    if real_scores is not None and set(PANEL) <= set(real_scores.by_learner):
        return real_scores
    share = 1.0 - 1.0 / referee.lineages.n_folds_each
    panel = PanelEvaluator(getattr(referee.evaluator, "n_jobs", 1), share)
    return _scored(referee, panel)


def _scored(referee: FoldReferee, evaluator: Evaluator) -> RefereeScores:
    return replace(referee, evaluator=evaluator).scores(referee.real.empty())


def _alone(
    referee: FoldReferee, real_scores: RefereeScores | None, panel: RefereeScores
) -> Iterator[Tried]:
    """Yield the best learner without new rows, and the one that was named.

    Before the best stands a simpler one that does as well, if there is one.
    """
    means = panel.learner_means()
    best = max(means, key=lambda name: means[name])
    simple = _as_good_and_simple(referee, panel, best)
    if simple != best:
        yield _tried_alone(referee, panel, simple)
    yield _tried_alone(referee, panel, best)
    named = referee.evaluator.name
    if real_scores is None or named in ("best", PANEL_MEAN):
        return
    if named not in (best, simple):
        yield _tried_alone(referee, real_scores, named)
    finer = _few_rows_variant(referee.evaluator)
    if finer is not None:
        words, evaluator = finer
        made = replace(referee, evaluator=evaluator)
        scores = made.scores(made.real.empty())
        yield replace(_tried_alone(made, scores, evaluator.name), words=words)
    elif named == "boosting" and "small_leaves" not in (best, simple):
        yield _tried_alone(referee, panel, "small_leaves")


def _as_good_and_simple(referee: FoldReferee, panel: RefereeScores, best: str) -> str:
    """Return the simplest member of a panel that does as well as the best of it.

    Not only one that is not shown to be worse: of few rows nearly all are that.
    """
    top = _tried_alone(referee, panel, best)
    simpler = itertools.takewhile(lambda name: name != best, PANEL)
    as_good = (
        name
        for name in simpler  # the simplest first
        if _is_as_good(referee, _tried_alone(referee, panel, name), top)
    )
    return next(as_good, best)


def _is_as_good(referee: FoldReferee, one: Tried, best: Tried) -> bool:
    own, top = (
        float(plain_figure(referee.real, [t.answers], referee.error.weights).mean())
        for t in (one, best)
    )
    if _is_labels(referee.real):
        lacks = top - own
    else:
        lacks = own / top - 1.0 if top > 0.0 else np.inf
    return lacks < AS_GOOD and not _is_beaten(referee, one, best)


def _tried_alone(referee: FoldReferee, scores: RefereeScores, name: str) -> Tried:
    words = f"Train {learner_words(name, _task(referee.real))} on your rows alone."
    panel = described_learners(PanelEvaluator(), referee.real)
    return Tried(
        f"{name} alone",
        words,
        scores.by_learner[name],
        scores.answers[name],
        described=(panel | referee.learners).get(name, ""),
    )


def _few_rows_variant(evaluator: Evaluator) -> tuple[str, Evaluator] | None:
    """Return the user's booster with leaves that suit few rows, if it has others."""
    learner: Any = getattr(evaluator, "estimator", None)
    if learner is None or not hasattr(learner, "get_params"):
        return None
    for path, value in learner.get_params(deep=True).items():
        setting = path.rpartition("__")[2]
        if setting not in LEAF_SETTINGS or not isinstance(value, int):
            continue
        if value > 2 * SMALL_LEAF_SIZE:
            finer = clone(learner).set_params(**{path: SMALL_LEAF_SIZE})
            name = f"{evaluator.name} {setting}={SMALL_LEAF_SIZE}"
            words = (
                f"Train {learner_words(evaluator.name)} with "
                f"{setting}={SMALL_LEAF_SIZE} on your rows alone."
            )
            share = getattr(evaluator, "share", 1.0)
            return words, EstimatorEvaluator(finer, name=name, share=share)
    return None


def _stack(referee: FoldReferee, panel: RefereeScores) -> Tried:
    """Average the panel, each member weighted by its error on the other folds."""
    real, lineages = referee.real, referee.lineages
    names = list(panel.answers)
    errors = np.stack([1.0 - _proper(real, panel.answers[name]) for name in names])
    answers = np.zeros_like(panel.answers[names[0]])
    for place, fold in enumerate(lineages.partitions):
        for number in np.unique(fold):
            own = fold == number
            weight = 1.0 / np.maximum(errors[:, ~own].mean(axis=1), 1e-9) ** 2
            weight /= weight.sum()
            answers[place, own] = sum(
                w * panel.answers[name][place, own]
                for w, name in zip(weight, names, strict=True)
            )
    words = (
        "Average several learners on your rows alone, each weighted by its "
        "cross-validated error."
    )
    return Tried("stack", words, _by_row(referee, answers), answers)


def _teacher(referee: FoldReferee, teacher: TeacherAlone) -> Tried:
    """Score the teacher as if it were the learner to be trained."""
    parts = referee.by_partition(teacher.answers)
    answers = np.stack([*map(said, parts)])
    words = "Train the teacher itself on your rows alone"
    if teacher.name == "stack":
        return Tried("stack", f"{words}: {_STACK}.", _by_row(referee, answers), answers)
    words = f"{words}: {teacher.name}."
    return Tried("teacher alone", words, _by_row(referee, answers), answers)


_STACK = "an average of several learners"


def _proper(real: Table, answers: FloatArray) -> FloatArray:
    parts = [prediction_of(part, real).scores(real) for part in answers]
    return np.asarray(np.mean(parts, axis=0))


def _by_row(referee: FoldReferee, answers: FloatArray) -> FloatArray:
    real, metric = referee.real, referee.metric
    parts = [metric.by_row(prediction_of(part, real), real) for part in answers]
    return np.asarray(np.mean(parts, axis=0))


# ---- In-context models whose weights are on this machine.


MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 1_000, 100, 10
"""What TabPFN v1 was made for; v2 reads more, and then takes minutes."""


@dataclass(frozen=True, slots=True)
class InContext:
    """A model that suits few rows, and can be had without a login."""

    name: str
    title: str
    how_to_get: str


_OF_TASK = {
    "classification": InContext(
        "tabpfn-v1", "TabPFN v1", "tabtap weights fetch tabpfn-v1 (98 MB, Apache-2.0)"
    ),
    "regression": InContext(
        "tabpfn-v2",
        "TabPFN v2",
        "pip install 'tabtap[tabpfn]', then tabtap weights fetch tabpfn-v2-regressor "
        "(43 MB, Built with PriorLabs-TabPFN)",
    ),
}


def _in_context(referee: FoldReferee, teacher: str) -> Iterator[Tried | Alternative]:
    """Yield how the model for a task does, if it does not teach; or how to get it."""
    model = _OF_TASK.get(_task(referee.real))
    if model is None or model.name in (referee.evaluator.name, teacher):
        return
    if not _suits(referee.real):
        return
    known = next(one for one in CANDIDATES if one.name == model.name)
    if known.absent(cast("Task", _task(referee.real))) is not None:
        words = f"Use {model.title}, which is strong on few rows."
        note = f"It is not on this machine yet: {model.how_to_get}."
        yield Alternative(name=model.name, words=words, note=note)
        return
    # Once over the folds: it costs more than the others and varies less.
    once = Lineages(referee.lineages.partitions[0], referee.lineages.crossfit)
    with warnings.catch_warnings():
        # A table that it reads only a part of is none to recommend it for.
        warnings.simplefilter("error", EvaluatorLimitWarning)
        try:
            scores = _scored(replace(referee, lineages=once), known.make(1))
        except (EvaluatorError, UserInputError):
            return
    words = f"Use {model.title} on your rows alone: nothing is trained."
    name = next(iter(scores.by_learner))
    yield Tried(model.name, words, scores.by_learner[name], scores.answers[name])


def _suits(real: Table) -> bool:
    target, n_columns = real.schema.target, len(real.schema.features)
    n_classes = 0 if target is None else len(target.column.levels)
    few = len(real) <= MOST_ROWS and n_columns <= MOST_COLUMNS
    return few and n_classes <= MOST_CLASSES


def _is_labels(real: Table) -> bool:
    return _task(real) == "classification"


def _task(real: Table) -> str:
    target = real.schema.target
    return "" if target is None else target.task


# ---- Which of them is enough.


def _ordered(referee: FoldReferee, tried: Sequence[Tried]) -> list[Alternative]:
    """Return those that nothing is shown to beat, in the order given, then the rest."""
    best = max(tried, key=lambda one: float(np.mean(one.scores)))
    enough = [not _is_beaten(referee, one, best) for one in tried]
    told = [
        _told(referee, one, is_enough=ok) for one, ok in zip(tried, enough, strict=True)
    ]
    return sorted(told, key=lambda one: not one.is_enough)


def _is_beaten(referee: FoldReferee, one: Tried, best: Tried) -> bool:
    error = referee.error
    ahead = best.scores - one.scores
    bound = cross_fitted(ahead, ENOUGH, error.n_folds, error.clusters)
    return bool(bound.lower > 0.0)


def _told(referee: FoldReferee, one: Tried, *, is_enough: bool) -> Alternative:
    return Alternative(
        name=one.name,
        words=one.words,
        figure=figure_kinds(referee.real)[0].name,
        value=one.value
        or referee.error.measured(
            plain_figure(referee.real, [one.answers], referee.error.weights)
        ),
        score=referee.error.measured(one.scores),
        is_enough=is_enough,
        note=one.note,
        described=one.described,
    )
