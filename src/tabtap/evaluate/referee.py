"""The referee: scores every real row with learners that have not seen it.

A metric that tells folds, not rows, may have nothing to say of a fold that lacks a
class.  Which folds those are is found out before anything is trained.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabtap.domain import (
    ClassPrediction,
    Lineages,
    Prediction,
    RefereeScores,
    TargetUnit,
    ValuePrediction,
)
from tabtap.errors import UserInputError
from tabtap.evaluate.asking import Role, ask
from tabtap.evaluate.metric import Metric
from tabtap.evaluate.panel import PanelPrediction
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray, IntArray, Kind
from tabtap.table.table import Table, concat


@dataclass(frozen=True, slots=True, eq=False)
class FoldReferee:
    """A learner, or a panel of them, and the user's yardstick."""

    real: Table
    lineages: Lineages
    evaluator: Evaluator
    metric: Metric

    @property
    def name(self) -> str:
        """Who scores, and by what if not by the score of predictions."""
        who, what = self.evaluator.name, self.metric.name
        return who if what == "score" else f"{who} by {what}"

    def scores(self, synthetic: Table) -> RefereeScores:
        """Score the real rows, each fold without itself and with a lineage's rows.

        Folds of which the metric can say nothing are left out, whatever stands beside
        them: which they are depends on their true targets alone.
        """
        folds = scorable_folds(self.metric, self.real, self.lineages)
        queries = [self.real.take(self.lineages.asked(fold)) for fold in folds]
        contexts = [self._context(fold, synthetic) for fold in folds]
        answers = ask(self.evaluator, contexts, queries, self.real, "referee")
        overall = [self._score(a, q) for a, q in zip(answers, queries, strict=True)]
        by_learner: dict[str, list[FloatArray]] = {}
        for answer, asked in zip(answers, queries, strict=True):
            for name, member in _members(answer).items():
                by_learner.setdefault(name, []).append(self._score(member, asked))
        return RefereeScores(
            self._in_order(folds, overall),
            {name: self._in_order(folds, part) for name, part in by_learner.items()},
        )

    def _context(self, fold: int, synthetic: Table) -> Table:
        beside = self.lineages.held_by(self.lineages.judging(fold), synthetic)
        return concat([self.real.take(self.lineages.seen(fold)), beside])

    def _score(self, answer: Prediction, asked: Table) -> FloatArray:
        return self.metric.score(answer, asked)

    def _in_order(
        self, folds: Sequence[int], parts: Sequence[FloatArray]
    ) -> FloatArray:
        """Return one score per real row in row order, or one per fold."""
        rows = [self.lineages.asked(fold) for fold in folds]
        if any(len(part) != len(row) for part, row in zip(parts, rows, strict=True)):
            return np.asarray([float(np.mean(part)) for part in parts])
        return np.concatenate(parts)[np.argsort(np.concatenate(rows))]


def check_metric(metric: Metric, real: Table, lineages: Lineages) -> None:
    """Refuse a metric that cannot score these folds, before anything is trained.

    Raises
    ------
    UserInputError
        If it cannot score the table, or fewer than two of its folds.
    """
    scorable_folds(metric, real, lineages)


def check_judge(
    evaluator: Evaluator,
    real: Table,
    fold: IntArray,
    role: Role,
    carried: Collection[Hashable] = (),
) -> None:
    """Have a judge answer one fold from the others, before anything is trained.

    Parameters
    ----------
    evaluator : Evaluator
        Who is to judge.
    real : Table
        The real rows.
    fold : array of shape (n_rows,)
        Fold of every real row.
    role : {"evaluator", "referee"}
        The setting that it was passed as, for messages.
    carried : collection of column names
        Identifiers that new rows have.

    Raises
    ------
    UserInputError
        If it cannot be fitted, or is of the wrong kind for the task.
    EvaluatorError
        If it raises, or answers with what is no prediction of the queries.
    """
    others = real.take(fold != 0)
    made = _as_made(others.take(np.arange(1)), carried)
    ask(evaluator, [concat([others, *made])], [real.take(fold == 0)], real, role)


def _as_made(rows: Table, carried: Collection[Hashable]) -> list[Table]:
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


def scorable_folds(metric: Metric, real: Table, lineages: Lineages) -> list[int]:
    """Return the folds of which a metric can say something, by true targets alone.

    An area under a curve needs rows of every class, R squared two different targets.

    Raises
    ------
    UserInputError
        If it cannot score the table, or fewer than two of its folds: a single one has
        no error bar.
    """
    if (reason := _obstacle(metric, real, real)) is not None:
        raise reason
    reasons = {
        fold: _obstacle(metric, real.take(lineages.asked(fold)), real)
        for fold in range(lineages.n_folds)
    }
    folds = [fold for fold, found in reasons.items() if found is None]
    if len(folds) < min(2, lineages.n_folds):
        first = next(found for found in reasons.values() if found is not None)
        raise UserInputError(
            f"{len(folds)} of {lineages.n_folds} folds can be scored, and two are "
            f"needed for an error bar. {first}"
        ) from first
    return folds


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


def _members(answer: Prediction) -> Mapping[str, Prediction]:
    return answer.members if isinstance(answer, PanelPrediction) else {}
