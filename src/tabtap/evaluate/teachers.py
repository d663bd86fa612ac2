"""Teachers: who gives drawn rows their targets.

A row is drawn for a target, and what comes out need not belong to it.  A teacher, the
strongest model that the real rows can train, says what does, and the user's learner
then learns the teacher's answers: distillation.  Each lineage has a teacher that has
never seen its fold, so what a check finds of taught rows is true of rows unseen.
"""

from __future__ import annotations

import difflib
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV

from tabtap.domain import (
    Candidates,
    ClassPrediction,
    LearnerPrediction,
    Lineages,
    Prediction,
    ValuePrediction,
)
from tabtap.errors import TeacherConditionWarning, bad_setting
from tabtap.evaluate.choose import CANDIDATES, choose_evaluator
from tabtap.evaluate.evaluators import (
    BOOSTERS,
    booster,
    learner_description,
    panel_learners,
    standardised,
)
from tabtap.evaluate.learners import (
    SEED,
    Estimator,
    FittedLearner,
    Learners,
    encode,
    fit_learner,
    one_thread,
)
from tabtap.stages import Evaluator
from tabtap.table.schema import Column, FloatArray, IntArray, Kind, Target, Task
from tabtap.table.split import folds
from tabtap.table.table import Table

# ---- What teaches: one model, or several whose answers are averaged.


N_TREES = 60
"""Of each forest of the stack; answers of several models are averaged anyway."""

MOST_ROWS_GAUSSIAN = 500
"""A Gaussian process costs the cube of its rows."""

MOST_ROWS = 3000
"""Of more rows a teacher learns an even sample: it would take minutes for each
lineage, and has little left to gain."""


def stack_learners(task: Task, n_rows: int) -> Learners:
    """Return the learners of the ordinary teacher, which every installation has."""
    panel = panel_learners(task)
    if task == "classification":
        return MappingProxyType(
            {
                "linear": panel["linear"],
                "forest": RandomForestClassifier(N_TREES, random_state=SEED, n_jobs=1),
                "extra trees": ExtraTreesClassifier(
                    N_TREES, random_state=SEED, n_jobs=1
                ),
                "boosting": panel["small_leaves"],
                "network": panel["network"],
            }
        )
    members: dict[str, Estimator] = {
        "linear": RidgeCV(np.logspace(-2, 3, 12)),
        "forest": RandomForestRegressor(N_TREES, random_state=SEED, n_jobs=1),
        "extra trees": ExtraTreesRegressor(N_TREES, random_state=SEED, n_jobs=1),
        "boosting": GradientBoostingRegressor(
            subsample=0.7, max_features=0.5, random_state=SEED
        ),
        "network": panel["network"],
    }
    if n_rows <= MOST_ROWS_GAUSSIAN:
        members["gaussian process"] = _gaussian_process()
    return MappingProxyType(members)


def _gaussian_process() -> Estimator:
    kernel = ConstantKernel(1.0) * RBF(3.0, (0.3, 1e3)) + WhiteKernel(0.1, (1e-4, 10.0))
    return standardised(GaussianProcessRegressor(kernel, alpha=1e-6, random_state=SEED))


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """A model, or several, before it has learned any rows."""

    name: str
    """What it is announced and reported by."""

    learners: Learners
    """Estimators that are fitted once for each lineage."""

    evaluators: tuple[Evaluator, ...] = ()
    """Models that are asked with all rows of a lineage each time."""

    is_weighted: bool = False
    """Whether a member counts by its cross-validated error, or all count the same."""

    @property
    def members(self) -> tuple[str, ...]:
        """Names of all that are asked."""
        return (*self.learners, *(one.name for one in self.evaluators))

    @property
    def described(self) -> dict[str, str]:
        """Class, settings and version of every member."""
        found = {name: learner_description(one) for name, one in self.learners.items()}
        return found | {one.name: one.name for one in self.evaluators}

    def fit(
        self, contexts: Sequence[Table], groups: Sequence[IntArray] | None = None
    ) -> FittedTeacher:
        """Learn each context; ``groups`` of its rows stay together where it matters."""
        if groups is None:
            groups = [np.arange(len(context)) for context in contexts]
        parts = [_thin(*pair) for pair in zip(contexts, groups, strict=True)]
        with one_thread():
            fitted = tuple(self._fit_one(context) for context, _ in parts)
        weights = np.ones((len(parts), len(self.members)))
        if self.is_weighted and len(self.members) > 1:
            weights = np.stack([self._weights(*part) for part in parts])
        weights /= weights.sum(axis=1, keepdims=True)
        return FittedTeacher(self, tuple(part[0] for part in parts), fitted, weights)

    def _fit_one(self, context: Table) -> dict[str, FittedLearner]:
        return {
            name: fit_learner(name, one, context) for name, one in self.learners.items()
        }

    def _weights(self, context: Table, groups: IntArray) -> FloatArray:
        """Return 1 / (cross-validated error) squared of each member.

        A plain mean is dragged down by its worst member: a forest with an error of
        0.16 and a ridge with 0.71 have a mean with 0.33.
        """
        n_folds = min(N_INNER_FOLDS, len(np.unique(groups)))
        if n_folds < 2:
            return np.ones(len(self.members))
        rng = np.random.default_rng(SEED)
        fold = folds(context.condition, n_folds, rng, groups)
        errors = np.zeros(len(self.members))
        inner = replace(self, is_weighted=False)
        for number in range(n_folds):
            seen, asked = (context.take(fold != number), context.take(fold == number))
            answers = inner.fit([seen]).answers([asked])[0]
            errors += [
                one.in_unit_of(context).losses(asked).sum() for one in answers.values()
            ]
        return np.asarray(1.0 / np.maximum(errors / len(context), TINY) ** 2)


N_INNER_FOLDS = 4
"""Folds by which members of a teacher are weighed."""

TINY = 1e-6
"""Smallest error that a member is credited with, in variances of the target."""


def _thin(context: Table, groups: IntArray) -> tuple[Table, IntArray]:
    if len(context) <= MOST_ROWS:
        return context, groups
    # By target, so that every class and every part of a number's range is there.
    order = np.argsort(context.target_values, kind="stable")
    ticks = np.linspace(0, len(order) - 1, MOST_ROWS).round().astype(np.int64)
    rows = np.sort(order[ticks])
    return context.take(rows), groups[rows]


@dataclass(frozen=True, slots=True, eq=False)
class FittedTeacher:
    """A teacher that has learned one or several contexts."""

    teacher: Teacher
    contexts: tuple[Table, ...]
    fitted: tuple[Mapping[str, FittedLearner], ...]

    weights: FloatArray
    """Shape (n_contexts, n_members); each row adds up to 1."""

    def predict(self, queries: Sequence[Table]) -> list[LearnerPrediction | None]:
        """Answer one table of queries for each context; None for no queries."""
        answers = zip(self.answers(queries), self.weights, strict=True)
        return [average(list(one.values()), weights) for one, weights in answers]

    def answers(self, queries: Sequence[Table]) -> list[dict[str, LearnerPrediction]]:
        """Return what each member says, context by context; nothing of no queries."""
        found: list[dict[str, LearnerPrediction]] = [{} for _ in queries]
        asked = [place for place, rows in enumerate(queries) if len(rows)]
        for place in asked if self.teacher.learners else ():
            rows, fitted = queries[place], self.fitted[place]
            encoded = encode(self.contexts[place], [rows])[1][0]
            with one_thread():
                own = {n: one.answer(rows, encoded) for n, one in fitted.items()}
            found[place] = own
        for evaluator in self.teacher.evaluators if asked else ():
            # All contexts at once, so that an in-context model fuses them.
            contexts = [self.contexts[place] for place in asked]
            said = evaluator.predict(contexts, [queries[place] for place in asked])
            for place, one in zip(asked, said, strict=True):
                found[place][evaluator.name] = cast("LearnerPrediction", one)
        return found


def average(
    parts: Sequence[LearnerPrediction], weights: FloatArray
) -> LearnerPrediction | None:
    """Return the weighted mixture of several answers to the same queries.

    Examples
    --------
    >>> sure, open_ = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    >>> parts = [ClassPrediction(sure), ClassPrediction(open_)]
    >>> average(parts, np.array([0.5, 0.5])).probabilities
    array([[0.75, 0.25]])
    """
    if not parts:
        return None
    values = [part for part in parts if isinstance(part, ValuePrediction)]
    if values:
        means = np.array([part.mean for part in values])
        mean = weights @ means
        within = weights @ np.array([part.variance for part in values])
        return ValuePrediction(mean, within + weights @ (means - mean) ** 2)
    classes = [p.probabilities for p in parts if isinstance(p, ClassPrediction)]
    return ClassPrediction(np.tensordot(weights, np.array(classes), axes=1))


# ---- Labelling: rows of each lineage get the answers of its own teacher.


TAUGHT = "teacher"
"""Name of the score that a taught row has: the probability that the teacher gives to
its class, or the standard deviation of the number."""


@dataclass(frozen=True, slots=True, eq=False)
class TeacherLabeller:
    """Gives each row the target that the teacher of its lineage believes in."""

    fitted: FittedTeacher
    """One context for each lineage, in the order of ``lineages.members``."""

    lineages: Lineages

    @classmethod
    def of(
        cls,
        teacher: Teacher,
        real: Table,
        lineages: Lineages,
        groups: IntArray | None = None,
    ) -> TeacherLabeller:
        """Have a teacher learn the rows of each lineage."""
        seen = [lineages.seen(member) for member in lineages.members]
        own = None if groups is None else [groups[rows] for rows in seen]
        return cls(teacher.fit([real.take(rows) for rows in seen], own), lineages)

    def label(self, candidates: Candidates) -> Candidates:
        """Return the candidates with taught targets, and how sure the teacher is."""
        rows = candidates.rows
        places = [
            np.flatnonzero(rows.unseen_fold == member)
            for member in self.lineages.members
        ]
        answers = self.fitted.predict([rows.take(place) for place in places])
        target, sureness = rows.target.copy(), np.zeros(len(rows))
        for place, answer, context in zip(
            places, answers, self.fitted.contexts, strict=True
        ):
            taught, sureness[place] = relabel(rows.take(place), answer, context)
            target[place] = taught.target
        return replace(
            candidates,
            rows=replace(rows, target=target),
            asked=rows.target,
            scores={**candidates.scores, TAUGHT: sureness},
        )

    def cross_fitted(self, real: Table) -> list[LearnerPrediction]:
        """Answer each fold by the teacher that has never seen it; in fold order."""
        queries = [real.take(self.lineages.asked(k)) for k in self.lineages.members]
        return [cast("LearnerPrediction", one) for one in self.fitted.predict(queries)]


def relabel(
    rows: Table, answer: LearnerPrediction | None, context: Table
) -> tuple[Table, FloatArray]:
    """Return rows with the targets that were answered, and how sure each is.

    The most likely class with its probability, or the predicted number, rounded as
    real ones and within those of the context, with its standard deviation.
    """
    if isinstance(answer, ClassPrediction):
        labels = answer.probabilities.argmax(axis=1).astype(rows.target.dtype)
        return replace(rows, target=labels), answer.probabilities.max(axis=1)
    if isinstance(answer, ValuePrediction):
        known = context.target_values
        values = np.clip(answer.mean, known.min(), known.max())
        return rows.with_target(values), np.sqrt(answer.variance)
    return rows, np.zeros(len(rows))


# ---- What answers take: models that read all rows for each are timed beforehand.


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """About what the answers of a teacher take, by questions that were timed."""

    per_call: float
    """Seconds for the rows of a context, each time that it is asked."""

    per_row: float
    """Seconds for each row that is asked about."""

    def seconds(self, n_calls: float, n_rows: float) -> float:
        """Return what so many calls with so many rows in all take.

        Examples
        --------
        >>> AnswerTime(per_call=0.5, per_row=0.01).seconds(n_calls=4, n_rows=100)
        3.0
        """
        return n_calls * self.per_call + n_rows * self.per_row


QUICK_MODELS = ("tabpfn-v1",)
"""In-context models that answer thousands of rows in a second: not worth timing."""

FEW_ASKED, MANY_ASKED = 16, 128
"""Rows of the two questions by which a model is timed."""

N_TIMINGS, ENOUGH_TIMING = 3, 5.0
"""The quickest of so many timings counts, for others may be at work on the machine;
after so many seconds nothing is asked again."""

MOST_ROWS_TIMED = 200
"""Of a larger context so many rows are timed; the time for them grows with the rows."""


def time_answers(teacher: Teacher, real: Table, n_folds: int) -> AnswerTime | None:
    """Ask small questions and return what answers take; None if nobody is slow.

    Fitted learners are not asked: they answer thousands of rows in a second.
    """
    slow = [one for one in teacher.evaluators if one.name not in QUICK_MODELS]
    if not slow:
        return None
    n_context = min(len(real), MOST_ROWS) * (n_folds - 1) // n_folds
    rows = np.random.default_rng(SEED).permutation(len(real))
    context = real.take(rows[: min(n_context, MOST_ROWS_TIMED)])
    questions = [real.take(np.resize(rows, n)) for n in (FEW_ASKED, MANY_ASKED)]
    spent = _seconds(slow, context, questions[0])  # weights are read
    timings: list[list[float]] = []
    while not timings or (len(timings) < N_TIMINGS and spent < ENOUGH_TIMING):
        timings.append([_seconds(slow, context, asked) for asked in questions])
        spent += sum(timings[-1])
    few, many = np.min(timings, axis=0).tolist()
    # A row that is asked about costs what one of the context does, and not more.
    per_row = (many - few) / (MANY_ASKED - FEW_ASKED)
    per_row = min(max(per_row, 0.0), many / (len(context) + MANY_ASKED))
    per_call = max(few - FEW_ASKED * per_row, 0.0)
    return AnswerTime(per_call * max(1.0, n_context / len(context)), per_row)


def _seconds(models: Sequence[Evaluator], context: Table, asked: Table) -> float:
    begun = time.perf_counter()
    for model in models:
        model.predict([context], [asked])
    return time.perf_counter() - begun


# ---- Who teaches: what the user's word stands for.


CONDITION = (
    "Section 10 of the Prior Labs License: who trains a model on these rows and passes "
    'it on, or makes it available, must begin its name with "TabPFN" and say '
    '"Built with PriorLabs-TabPFN"; use inside one\'s own house is free.'
)
"""What the outputs of TabPFN v2 and later oblige their user to."""

NO_TEACHER = "none"


@dataclass(frozen=True, slots=True, eq=False)
class ChosenTeacher:
    """A teacher, or none, and the sentence that says why."""

    teacher: Teacher | None
    why: str

    condition: str = ""
    """What its answers oblige the owner of a model to that learns from them."""

    answer_time: AnswerTime | None = None
    """What its answers take, where that was worth timing."""

    @property
    def name(self) -> str:
        """What it is reported by."""
        return NO_TEACHER if self.teacher is None else self.teacher.name


def choose_teacher(
    choice: str | Sequence[str] | Any,  # noqa: ANN401  an estimator or evaluator too
    real: Table,
    task: Task,
) -> ChosenTeacher:
    """Return the teacher asked for, or the best that asks nothing of its pupils.

    ``choice`` is ``"auto"``, ``"none"``, a name, a list of names, a scikit-learn
    estimator, or an evaluator.
    """
    if isinstance(choice, str) and choice == NO_TEACHER:
        return ChosenTeacher(None, "none: rows keep the target they were drawn for.")
    if isinstance(choice, str) and choice == "auto":
        return _automatic(real, task)
    names = [choice] if isinstance(choice, str) else choice
    if isinstance(names, (list, tuple)) and names:
        return _by_names(names, real, task)
    if hasattr(choice, "fit"):
        name = type(choice).__name__
        teacher = Teacher(name, MappingProxyType({name: choice}))
        return ChosenTeacher(teacher, f"{name}: the learner that was passed.")
    if isinstance(choice, Evaluator):
        teacher = Teacher(choice.name, MappingProxyType({}), (choice,))
        return ChosenTeacher(teacher, f"{choice.name}: the evaluator that was passed.")
    must = "be 'auto', 'none', a name, a list of names, or a scikit-learn estimator"
    raise bad_setting("teacher", choice, must, "Try 'auto'.")


def _automatic(real: Table, task: Task) -> ChosenTeacher:
    learners = stack_learners(task, len(real))
    evaluators = tuple(_free_models(real, task))
    teacher = Teacher("stack", learners, evaluators, is_weighted=task == "regression")
    how = "weighted by cross-validated error" if teacher.is_weighted else "averaged"
    why = f"stack: {', '.join(teacher.members)}, {how}."
    if len(real) > MOST_ROWS:
        why += f" It learns {MOST_ROWS} of the {len(real)} rows, evenly by target."
    return ChosenTeacher(teacher, why)


def _free_models(real: Table, task: Task) -> Iterator[Evaluator]:
    """Yield the in-context models on this machine whose answers are free to learn."""
    if len(real) > MOST_ROWS_IN_CONTEXT:
        return
    for known in CANDIDATES:
        is_known = known.name in FREE_MODELS and task in known.tasks
        if is_known and known.absent(task) is None and _within_limits(known.name, real):
            yield known.make(1)


def _within_limits(name: str, real: Table) -> bool:
    """Tell whether a model reads the whole table; TabPFN v1 was made for small ones."""
    return name != "tabpfn-v1" or (
        real.schema.n_conditions <= MAX_CLASSES_V1
        and encode(real, [])[0].shape[1] <= MAX_COLUMNS_V1
    )


MAX_CLASSES_V1, MAX_COLUMNS_V1 = 10, 100
"""What the network of TabPFN v1 has room for; a category counts once for each level."""

FREE_MODELS = ("tabpfn-v1", "tabicl")
"""Apache-2.0 and BSD-3: nothing is asked of a model that learns from their answers."""

MOST_ROWS_IN_CONTEXT = 1000
"""In-context models read all rows for every answer."""


def _by_names(names: Sequence[Any], real: Table, task: Task) -> ChosenTeacher:
    learners: dict[str, Estimator] = {}
    evaluators: list[Evaluator] = []
    for name in names:
        if name == "stack":
            learners |= stack_learners(task, len(real))
        elif name in (own := _learners(task, len(real))):
            learners[name] = own[name]
        elif name in BOOSTERS:
            learners[name] = booster(name, task, "teacher")
        else:
            evaluators.append(_evaluator(name, task, list(own)))
    label = names[0] if len(names) == 1 else " + ".join(map(str, names))
    is_weighted = task == "regression"
    teacher = Teacher(label, MappingProxyType(learners), tuple(evaluators), is_weighted)
    obliging = [e.name for e in evaluators if e.name.startswith("tabpfn-v")]
    obliging = [name for name in obliging if name not in FREE_MODELS]
    why = f"{label}: asked for by name."
    if not obliging:
        return ChosenTeacher(teacher, why)
    said = f"{label} gives rows their targets. {CONDITION}"
    # The caller of choose_teacher, before anything has run.
    warnings.warn(said, TeacherConditionWarning, stacklevel=3)
    return ChosenTeacher(teacher, why, CONDITION)


def _learners(task: Task, n_rows: int) -> dict[str, Estimator]:
    return {**panel_learners(task), **stack_learners(task, n_rows)}


def _evaluator(name: object, task: Task, learners: Sequence[str]) -> Evaluator:
    known = [candidate.name for candidate in CANDIDATES]
    if name not in known:
        listed = ", ".join(dict.fromkeys(["stack", *learners, *BOOSTERS, *known]))
        must = f"be 'auto', 'none', names out of {listed}, or a scikit-learn estimator"
        near = difflib.get_close_matches(str(name), known, n=1) or ["auto"]
        raise bad_setting("teacher", name, must, f"Try {near[0]!r}.")
    candidate = next(one for one in CANDIDATES if one.name == name)
    by_indicators = task == "classification" and candidate.absent(task) is not None
    if name == "tabpfn-v2" and by_indicators and candidate.absent("regression") is None:
        return IndicatorEvaluator(candidate.make(1))
    return choose_evaluator(name, task=task, role="teacher").evaluator


class IndicatorEvaluator:
    """A model of numbers as one of classes: it is asked for each class's indicator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    @property
    def name(self) -> str:
        """That of the model."""
        return self.evaluator.name

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        pairs = zip(contexts, queries, strict=True)
        return [self._classes(context, asked) for context, asked in pairs]

    def _classes(self, context: Table, asked: Table) -> ClassPrediction:
        shares = np.zeros((len(asked), context.schema.n_conditions))
        present = np.unique(context.target)
        for label in present if len(present) > 2 else present[1:]:
            own, rows = (_indicator(table, int(label)) for table in (context, asked))
            answer = cast("ValuePrediction", self.evaluator.predict([own], [rows])[0])
            shares[:, int(label)] = np.clip(answer.mean, TINY, 1.0)
        if len(present) <= 2:
            shares[:, int(present[0])] = 1.0 - shares.sum(axis=1)
        return ClassPrediction(shares / shares.sum(axis=1, keepdims=True))


def _indicator(rows: Table, label: int) -> Table:
    """Return rows whose target is 1 for a class and 0 for the others."""
    column = Column(name="indicator", kind=Kind.CONTINUOUS, dtype="float64")
    target = Target(column=column, task="regression", position=0)
    schema = replace(rows.schema, target=target)
    return replace(rows, schema=schema, target=(rows.target == label).astype(float))
