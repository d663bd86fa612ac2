"""The referee: scores every real row with learners that have not seen it.

Reads from: domain, stages, table, evaluate.asking, evaluate.metric, evaluate.panel.
Read by: api.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabtap.domain import Lineages, Prediction, RefereeScores
from tabtap.evaluate.asking import ask
from tabtap.evaluate.metric import Metric
from tabtap.evaluate.panel import PanelPrediction
from tabtap.stages import Evaluator
from tabtap.table.schema import FloatArray
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
        """Who scores, by what."""
        return f"{self.evaluator.name}: {self.metric.name}"

    def scores(self, synthetic: Table) -> RefereeScores:
        """Score the real rows, each fold without itself and with a lineage's rows."""
        folds = range(self.lineages.n_folds)
        queries = [self.real.take(self.lineages.asked(fold)) for fold in folds]
        contexts = [self._context(fold, synthetic) for fold in folds]
        answers = [
            answer.in_unit_of(self.real)
            for answer in ask(self.evaluator, contexts, queries)
        ]
        overall = [self._score(a, q) for a, q in zip(answers, queries, strict=True)]
        by_learner: dict[str, list[FloatArray]] = {}
        for answer, asked in zip(answers, queries, strict=True):
            for name, member in _members(answer).items():
                by_learner.setdefault(name, []).append(self._score(member, asked))
        return RefereeScores(
            self._in_order(overall),
            {name: self._in_order(parts) for name, parts in by_learner.items()},
        )

    def _context(self, fold: int, synthetic: Table) -> Table:
        beside = self.lineages.held_by(self.lineages.judging(fold), synthetic)
        return concat([self.real.take(self.lineages.seen(fold)), beside])

    def _score(self, answer: Prediction, asked: Table) -> FloatArray:
        return self.metric.score(answer, asked)

    def _in_order(self, parts: Sequence[FloatArray]) -> FloatArray:
        """Return one score per real row in row order, or one per fold."""
        rows = [self.lineages.asked(fold) for fold in range(self.lineages.n_folds)]
        if any(len(part) != len(row) for part, row in zip(parts, rows, strict=True)):
            return np.asarray([float(np.mean(part)) for part in parts])
        ordered = np.empty(len(self.real))
        ordered[np.concatenate(rows)] = np.concatenate(parts)
        return ordered


def _members(answer: Prediction) -> Mapping[str, Prediction]:
    return answer.members if isinstance(answer, PanelPrediction) else {}
