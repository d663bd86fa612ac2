"""The paper's holdout evaluator: a linear model, judged on a validation split.

Appendix F, equation 50.  Its queries are validation rows that no context contains:
hand the same ones to every context, and the losses differ by what the contexts do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from sklearn.linear_model import LogisticRegression, Ridge

from tabtap.domain import Prediction
from tabtap.evaluate.fitting import SEED, Learners, answer_with, task_of
from tabtap.table.schema import Task
from tabtap.table.table import Table


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
    if task == "classification":
        linear = LogisticRegression(max_iter=500, random_state=SEED)
    else:
        linear = Ridge(alpha=1.0, random_state=SEED)
    return MappingProxyType({"linear": linear})
