"""What rows are worth: the utility asked at every step, and the referee of pools.

Fold k is answered by the other folds, the committed rows of the lineage that may
answer it, and the rows in question of that lineage.  All folds of all questions are
asked in one call, so that an in-context evaluator fuses them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from tabtap.config import UtilityConfig
from tabtap.domain import (
    Baseline,
    ClassPrediction,
    Figure,
    LearnerPrediction,
    Lineages,
    Prediction,
    RefereeScores,
    TargetUnit,
    UtilityEstimate,
    ValuePrediction,
    scatter,
)
from tabtap.errors import EvaluatorError, UserInputError
from tabtap.evaluate.evaluators import (
    PanelEvaluator,
    PanelPrediction,
    learner_description,
    weighted,
)
from tabtap.evaluate.figures import ErrorBar, figures
from tabtap.evaluate.metric import Metric
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray, IntArray, Kind
from tabtap.table.table import NO_ROW, Table, ancestor_rows, concat


@dataclass(frozen=True, slots=True, eq=False)
class FoldUtility:
    """Plug-in utility by cross-validation (section 3.3, appendix D.2.2)."""

    real: Table
    lineages: Lineages
    evaluator: Evaluator
    config: UtilityConfig

    def baseline(self, committed: Table) -> Baseline:
        """Answer every real row from the committed table, and choose the focus."""
        folds = range(self.lineages.n_folds)
        contexts = [self._context(fold, committed) for fold in folds]
        queries = [self.real.take(self.lineages.asked(fold)) for fold in folds]
        answers = self._ask(contexts, queries)
        hardness = np.zeros(len(self.real))
        uncertainty = np.zeros(len(self.real))
        share = 1.0 / len(self.lineages.partitions)
        focus, losses = [], []
        for fold, asked, answer in zip(folds, queries, answers, strict=True):
            rows, own = self.lineages.asked(fold), answer.hardness(asked)
            hardness[rows] += share * own
            uncertainty[rows] += share * answer.uncertainty()
            chosen = hardest_rows(own, self.config.focus_fraction)
            focus.append(asked.take(chosen))
            losses.append(answer.losses(asked)[chosen])
        return Baseline(
            tuple(contexts), tuple(focus), tuple(losses), hardness, uncertainty
        )

    def gains(
        self, baseline: Baseline, added: Sequence[Table]
    ) -> list[UtilityEstimate]:
        """Estimate the gain of each of several sets of rows, on the same focus.

        Equation 14: the loss before minus the loss after.  A set without rows for a
        fold gains nothing there, and the evaluator is not asked.
        """
        contexts, queries, pairs = [], [], []
        for number, rows in enumerate(added):
            for fold, context in enumerate(baseline.contexts):
                beside = self.lineages.held_by(self.lineages.judging(fold), rows)
                if len(beside):
                    contexts.append(concat([context, beside]))
                    queries.append(baseline.focus[fold])
                    pairs.append((number, fold))
        drops = [
            [np.zeros(len(losses)) for losses in baseline.fold_losses] for _ in added
        ]
        answers = self._ask(contexts, queries) if contexts else []
        for (number, fold), asked, answer in zip(pairs, queries, answers, strict=True):
            drops[number][fold] = baseline.fold_losses[fold] - answer.losses(asked)
        return [_estimate(drop) for drop in drops]

    def foresee(self, rows: Table) -> Prediction | None:
        """Predict candidates, each from real folds that lack its real ancestor.

        Returns None for no rows.  No lineage is told of the fold it has never seen.  A
        row without an ancestor is answered by the folds that its lineage has seen.
        """
        if not len(rows):
            return None
        ancestor = ancestor_rows(self.real, rows)
        partition = [self.lineages.partition_of(int(k)) for k in rows.unseen_fold]
        own = np.array(partition)[np.arange(len(rows)), ancestor]
        home = np.where(ancestor == NO_ROW, NO_ROW, own)
        pairs, group = np.unique(
            np.stack([rows.unseen_fold, home]), axis=1, return_inverse=True
        )
        parts = [np.flatnonzero(np.ravel(group) == k) for k in range(pairs.shape[1])]
        contexts = [self._outside(int(unseen), int(own)) for unseen, own in pairs.T]
        answers = self._ask(contexts, [rows.take(part) for part in parts])
        return scatter(
            [
                (part, _one_learner(answer))
                for part, answer in zip(parts, answers, strict=True)
            ]
        )

    def _outside(self, unseen: int, own: int) -> Table:
        """Return the real rows of all folds but two."""
        fold = self.lineages.partition_of(unseen)
        rows = np.flatnonzero((fold != unseen) & (fold != own))
        if not len(rows):  # of two folds there is no third
            rows = self.lineages.seen(unseen)
        return self.real.take(rows)

    def _context(self, fold: int, committed: Table) -> Table:
        beside = self.lineages.held_by(self.lineages.judging(fold), committed)
        if self.config.max_committed is not None:
            beside = _thin(beside, self.config.max_committed)
        return concat([self.real.take(self.lineages.seen(fold)), beside])

    def _ask(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        return ask(self.evaluator, contexts, queries, self.real)


def _one_learner(answer: Prediction) -> LearnerPrediction:
    mixture = getattr(answer, "mixture", answer)  # a panel speaks with one voice here
    return cast("LearnerPrediction", mixture)


def _estimate(drops: Sequence[FloatArray]) -> UtilityEstimate:
    return UtilityEstimate(
        float(np.mean(np.concatenate(drops))),
        tuple(float(np.mean(drop)) for drop in drops),
    )


def _thin(rows: Table, most: int) -> Table:
    # Evenly spaced, so that every window keeps its share.
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))


# ---- Which real rows a question is about: the hardest of each fold.


def hardest_rows(hardness: FloatArray, fraction: float) -> IntArray:
    """Pick the hardest share of some query rows, hardest first; at least one.

    ``hardness`` has shape (n_rows,): entropy for classification, absolute residual for
    regression.  ``fraction`` is in (0, 1].  Equally hard rows keep their order.

    The result is Q_hard in equation 13.  It is chosen once per window, from D_t alone,
    and reused for D_t plus candidates: two losses are only comparable on the same rows.

    Examples
    --------
    >>> hardest_rows(np.array([0.1, 0.9, 0.5, 0.9]), fraction=0.5)
    array([1, 3])
    """
    if len(hardness) == 0:
        raise UserInputError("No query rows were given. Use fewer folds or more rows.")
    if np.isnan(hardness).any():
        bad = int(np.isnan(hardness).argmax())
        raise UserInputError(
            f"The evaluator returned NaN for query row {bad}. "
            "Check that every column it sees is finite."
        )
    n_kept = max(1, math.ceil(fraction * len(hardness)))
    return np.argsort(-hardness, kind="stable")[:n_kept]


# ---- Ask an evaluator and trust nothing: a foreign one may raise or answer nonsense.


Role = Literal["evaluator", "referee"]


def ask(
    evaluator: Evaluator,
    contexts: Sequence[Table],
    queries: Sequence[Table],
    real: Table,
    role: Role = "evaluator",
) -> list[Prediction]:
    """Return an evaluator's predictions, one per pair, in the unit of the real rows.

    An evaluator that raises, or answers with what is no prediction of the queries, is
    an ``EvaluatorError``; it names ``role``, the setting that the evaluator was passed
    as.
    """
    try:
        answers = list(evaluator.predict(contexts, queries))
        fault = next(_faults(answers, queries, real), None)
        if fault is None:
            return [answer.in_unit_of(real) for answer in answers]
    except (UserInputError, MemoryError):
        raise
    except Exception as error:
        raise EvaluatorError(
            f"The {role} {evaluator.name!r} failed on {_describe_sizes(contexts)}: "
            f"{type(error).__name__}: {error}. {_way_out(evaluator, role)}"
        ) from error
    raise EvaluatorError(
        f"The {role} {evaluator.name!r} {fault}. It must return one prediction per "
        "pair, in their order: a tabtap.domain.ClassPrediction or ValuePrediction. "
        f"{_way_out(evaluator, role)}"
    )


def _describe_sizes(contexts: Sequence[Table]) -> str:
    sizes = sorted(map(len, contexts))
    if len(sizes) == 1:
        return f"a context of {sizes[0]} rows"
    return f"{len(sizes)} contexts of {sizes[0]} to {sizes[-1]} rows"


def _faults(
    answers: Sequence[Prediction], queries: Sequence[Table], real: Table
) -> Iterator[str]:
    """Say what is wrong with some answers, as the rest of a sentence."""
    for answer in answers:
        if not hasattr(answer, "in_unit_of"):
            yield f"answered a {type(answer).__name__}, which is no prediction"
    lengths, wanted = [list(map(len, parts)) for parts in (answers, queries)]
    if lengths != wanted:
        yield f"answered {lengths} queries when it was asked {wanted}"
    for answer in answers:
        parts = answer.members if isinstance(answer, PanelPrediction) else {"": answer}
        for part in parts.values():
            yield from _faults_of_learner(part, real)


def _faults_of_learner(answer: Prediction, real: Table) -> Iterator[str]:
    target = real.schema.target
    levels = None
    if target is not None and target.task == "classification":
        levels = target.column.levels
    if isinstance(answer, ClassPrediction):
        yield from _faults_of_classes(answer, levels)
    if isinstance(answer, ValuePrediction):
        if levels is not None:
            yield "answered numbers when it was asked for probabilities of classes"
        yield from _faults_of_values("mean", answer.mean)
        yield from _faults_of_values("variance", answer.variance)


def _faults_of_classes(
    answer: ClassPrediction, levels: Sequence[object] | None
) -> Iterator[str]:
    probabilities = answer.probabilities
    if levels is None:
        yield "answered probabilities of classes when it was asked for numbers"
    elif probabilities.ndim != 2 or probabilities.shape[1] != len(levels):
        yield (
            f"answered probabilities of shape {probabilities.shape}, but there are "
            f"{len(levels)} classes and each needs a column"
        )
    elif np.isnan(probabilities).any():
        yield "answered NaN as a probability"


def _faults_of_values(name: str, numbers: FloatArray) -> Iterator[str]:
    if numbers.ndim != 1:
        yield f"answered a {name} of shape {numbers.shape}, not one number per query"
    elif np.isnan(numbers).any():
        yield f"answered NaN as a {name}"


def _way_out(evaluator: Evaluator, role: Role) -> str:
    others = ("panel" if role == "referee" else "ensemble", "holdout")
    other = next(name for name in others if name != evaluator.name)
    return f"Use another one, such as {role}={other!r}."


# ---- The referee: scores every real row with learners that have not seen it.


@dataclass(frozen=True, slots=True, eq=False)
class FoldReferee:
    """A learner, or a panel of them, and the user's yardstick."""

    real: Table
    lineages: Lineages
    evaluator: Evaluator
    metric: Metric
    clusters: IntArray | None = None
    """Group of every real row, if rows belong together."""

    weights: FloatArray | None = None
    """Of every row of the table given: learners are fitted with them.  By ``metric``
    rows count by their weights already."""

    @property
    def name(self) -> str:
        """Who scores, and by what if not by the score of predictions."""
        who, what = self.evaluator.name, self.metric.name
        return who if what == "score" else f"{who} by {what}"

    @property
    def learners(self) -> dict[str, str]:
        """Class, settings and version of every learner that is asked."""
        return described_learners(self.evaluator, self.real)

    def scores(
        self, synthetic: Table, only: Sequence[str] | None = None
    ) -> RefereeScores:
        """Score the real rows, each fold without itself and with a lineage's rows.

        ``only`` names the learners of a panel that are asked, if not all.
        """
        evaluator = self.evaluator
        if only is not None and isinstance(evaluator, PanelEvaluator):
            evaluator = evaluator.only(only)
        evaluator = weighted(evaluator, self.weights)
        folds = range(self.lineages.n_folds)
        queries = [self.real.take(self.lineages.asked(fold)) for fold in folds]
        contexts = [self._context(fold, synthetic) for fold in folds]
        answers = ask(evaluator, contexts, queries, self.real, "referee")
        members = [_members(answer, evaluator.name) for answer in answers]
        whole = {
            name: self.by_partition([part[name] for part in members])
            for name in members[0]
        }
        return RefereeScores(
            {name: self._score(parts) for name, parts in whole.items()},
            {name: np.stack([*map(said, parts)]) for name, parts in whole.items()},
            is_mean=getattr(evaluator, "is_mean", False),
        )

    def figures(
        self,
        best_alone: Sequence[FloatArray],
        without: Sequence[FloatArray],
        with_rows: Sequence[FloatArray],
    ) -> tuple[Figure, ...]:
        """Return the figures that people read, of these answers."""
        return figures(self.real, best_alone, without, with_rows, self.error)

    @property
    def error(self) -> ErrorBar:
        """How sure a mean over the real rows is."""
        weights = None
        if self.weights is not None:
            weights = mean_one(self.weights, self.real)[self.real.origin]
        return ErrorBar(self.lineages.n_folds_each, self.clusters, weights)

    def _context(self, fold: int, synthetic: Table) -> Table:
        beside = self.lineages.held_by(self.lineages.judging(fold), synthetic)
        return concat([self.real.take(self.lineages.seen(fold)), beside])

    def by_partition(
        self, parts: Sequence[LearnerPrediction]
    ) -> list[LearnerPrediction]:
        """Return the answers to all real rows, once for each partition."""
        n_partitions = len(self.lineages.partitions)
        size = len(parts) // n_partitions
        return [
            scatter([(self.lineages.asked(k), parts[k]) for k in range(p, p + size)])
            for p in range(0, len(parts), size)
        ]

    def _score(self, parts: Sequence[LearnerPrediction]) -> FloatArray:
        scores = [self.metric.by_row(part, self.real) for part in parts]
        return np.asarray(np.mean(scores, axis=0))


def mean_one(weights: FloatArray, real: Table) -> FloatArray:
    """Return weights of rows given such that those of the real ones are 1 on average.

    Rows given that have no label are not among the real ones.
    """
    return np.asarray(weights / np.mean(weights[real.origin]))


def described_learners(evaluator: Evaluator, real: Table) -> dict[str, str]:
    """Return class, settings and version of each learner of an evaluator, by name."""
    target = real.schema.target
    if isinstance(evaluator, PanelEvaluator) and target is not None:
        learners = replace(evaluator, share=1.0).learners(target.task)
        return {name: learner_description(one) for name, one in learners.items()}
    return {
        evaluator.name: learner_description(getattr(evaluator, "estimator", evaluator))
    }


def said(prediction: LearnerPrediction) -> FloatArray:
    """Return an answer as an array: probabilities, or means."""
    if isinstance(prediction, ClassPrediction):
        return prediction.probabilities
    return prediction.mean


def check_metric(metric: Metric, real: Table) -> None:
    """Refuse a metric that cannot score these rows, before anything is trained."""
    if (reason := _obstacle(metric, real, real)) is not None:
        raise reason


def check_evaluator(
    evaluator: Evaluator,
    real: Table,
    fold: IntArray,
    role: Role,
    carried: Collection[Hashable] = (),
) -> None:
    """Have an evaluator answer one fold from the others, before anything is trained.

    ``fold`` is that of every real row; ``carried`` are the identifiers that new rows
    have.  An evaluator of the wrong kind for the task, or that cannot be fitted, is a
    ``UserInputError``; for all else see ``ask``.
    """
    others = real.take(fold != 0)
    made = _as_new_rows(others.take(np.arange(1)), carried)
    ask(evaluator, [concat([others, *made])], [real.take(fold == 0)], real, role)


def _as_new_rows(rows: Table, carried: Collection[Hashable]) -> list[Table]:
    """Return some rows as new ones look, if that differs: without identifiers."""
    lost = np.array(
        [
            column.kind is Kind.IDENTIFIER and column.name not in carried
            for column in rows.schema.features
        ]
    )
    if not lost.any():
        return []
    regenerate = np.tile(lost, (len(rows), 1))
    return [rows.redrawn(regenerate, rows.numeric, rows.categorical)]


def _obstacle(metric: Metric, asked: Table, real: Table) -> UserInputError | None:
    """Return why a metric can score no prediction of some rows; None if it can one."""
    reason = UserInputError(
        f"scoring={metric.name!r} gives no finite number for {len(asked)} rows. Use "
        "another, such as 'score', which can tell every row."
    )
    with np.errstate(all="ignore"):  # of targets near the largest floats
        for guess in _guesses(asked, real):
            try:
                if np.isfinite(metric.score(guess, asked)).all():
                    return None
            except UserInputError as error:
                reason = error
    return reason


def _guesses(asked: Table, real: Table) -> Iterator[Prediction]:
    """Make up predictions of some rows: near the truth, then far from it.

    Neither is constant nor perfect, of which some metrics can say nothing.
    """
    target = real.schema.target
    if target is None or target.task == "regression":
        center = TargetUnit.of(real).center
        for share in (0.5, 1.5):
            mean = share * asked.target_values + (1.0 - share) * center
            guess = ValuePrediction(mean, np.ones(len(asked)))
            yield guess.in_unit_of(real)
        return
    n_classes = len(target.column.levels)
    often = np.bincount(real.target, minlength=n_classes) / len(real)
    for shift in range(min(n_classes, 2)):
        likely = np.eye(n_classes)[(asked.target + shift) % n_classes]
        yield ClassPrediction((often + 2.0 * likely) / 3.0)


def _members(answer: Prediction, name: str) -> Mapping[str, LearnerPrediction]:
    if isinstance(answer, PanelPrediction):
        return answer.members
    return {name: cast("LearnerPrediction", answer)}
