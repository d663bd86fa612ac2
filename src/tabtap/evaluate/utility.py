"""The estimated gain of a few rows, asked of an evaluator at every step.

Fold k is answered by the other folds, the committed rows of the lineage that may
answer it, and the rows in question of that lineage.  All folds of all questions are
asked in one call, so that an in-context evaluator fuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tabtap.config import UtilityConfig
from tabtap.domain import (
    Baseline,
    LearnerPrediction,
    Lineages,
    Prediction,
    UtilityEstimate,
    scatter,
)
from tabtap.evaluate.asking import ask
from tabtap.evaluate.focus import hardest_rows
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray
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
        hardness = np.empty(len(self.real))
        uncertainty = np.empty(len(self.real))
        focus, losses = [], []
        for fold, asked, answer in zip(folds, queries, answers, strict=True):
            rows = self.lineages.asked(fold)
            hardness[rows] = answer.hardness(asked)
            uncertainty[rows] = answer.uncertainty()
            chosen = hardest_rows(hardness[rows], self.config.focus_fraction)
            focus.append(asked.take(chosen))
            losses.append(answer.losses(asked)[chosen])
        return Baseline(
            tuple(contexts), tuple(focus), tuple(losses), hardness, uncertainty
        )

    def gains(
        self, baseline: Baseline, added: Sequence[Table]
    ) -> list[UtilityEstimate]:
        """Estimate the gain of each of several sets of rows, on the same focus.

        Notes
        -----
        Equation 14: the loss before minus the loss after.  A set without rows for a
        fold gains nothing there, and the evaluator is not asked.
        """
        contexts, queries, places = [], [], []
        for number, rows in enumerate(added):
            for fold, context in enumerate(baseline.contexts):
                beside = self.lineages.held_by(self.lineages.judging(fold), rows)
                if len(beside):
                    contexts.append(concat([context, beside]))
                    queries.append(baseline.focus[fold])
                    places.append((number, fold))
        drops = [
            [np.zeros(len(losses)) for losses in baseline.fold_losses] for _ in added
        ]
        answers = self._ask(contexts, queries) if contexts else []
        for (number, fold), asked, answer in zip(places, queries, answers, strict=True):
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
        home = np.where(ancestor == NO_ROW, NO_ROW, self.lineages.fold[ancestor])
        pairs, group = np.unique(
            np.stack([rows.unseen_fold, home]), axis=1, return_inverse=True
        )
        places = [np.flatnonzero(np.ravel(group) == k) for k in range(pairs.shape[1])]
        contexts = [self._apart(int(unseen), int(own)) for unseen, own in pairs.T]
        answers = self._ask(contexts, [rows.take(part) for part in places])
        return scatter(
            [
                (part, _one_learner(answer))
                for part, answer in zip(places, answers, strict=True)
            ]
        )

    def _apart(self, unseen: int, own: int) -> Table:
        """Return the real rows of all folds but two."""
        fold = self.lineages.fold
        rows = np.flatnonzero((fold != unseen) & (fold != own))
        if not len(rows):  # of two folds there is no third
            rows = self.lineages.seen(unseen)
        return self.real.take(rows)

    def _context(self, fold: int, committed: Table) -> Table:
        beside = self.lineages.held_by(self.lineages.judging(fold), committed)
        if self.config.max_committed is not None:
            beside = _thinned(beside, self.config.max_committed)
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


def _thinned(rows: Table, most: int) -> Table:
    # Evenly spaced, so that every window keeps its share.
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))
