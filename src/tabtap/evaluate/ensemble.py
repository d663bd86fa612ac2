"""The paper's ensemble evaluator: forest, linear model and network, equal weights.

Appendix F names the three; their settings are those of the paper's predictors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from tabtap.domain import Prediction, mix
from tabtap.evaluate.fitting import SEED, Learners, answer_with, task_of
from tabtap.table.schema import Task
from tabtap.table.table import Table

N_TREES = 100


@dataclass(frozen=True, slots=True)
class EnsembleEvaluator:
    """Averages what a forest, a linear model and a network predict.

    Parameters
    ----------
    n_jobs : int, default=1
        Learners fitted at a time, in processes of their own.
    """

    n_jobs: int = 1

    name: ClassVar[str] = "ensemble"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = ensemble_learners(task_of(contexts, queries))
        answers = answer_with(learners, contexts, queries, n_jobs=self.n_jobs)
        return [mix(list(answer.values())) for answer in answers]


def ensemble_learners(task: Task) -> Learners:
    """Return the three learners for a task, by name."""
    if task == "classification":
        return MappingProxyType(
            {
                "forest": RandomForestClassifier(N_TREES, random_state=SEED, n_jobs=1),
                "linear": LogisticRegression(max_iter=1000, random_state=SEED),
                "network": MLPClassifier((100,), max_iter=500, random_state=SEED),
            }
        )
    network = MLPRegressor(hidden_layer_sizes=(100,), max_iter=500, random_state=SEED)
    return MappingProxyType(
        {
            "forest": RandomForestRegressor(N_TREES, random_state=SEED, n_jobs=1),
            "linear": Ridge(alpha=1.0, random_state=SEED),
            # A network learns nothing from a target of 1e-3 or 1e6 as it is.
            "network": TransformedTargetRegressor(
                regressor=network, transformer=StandardScaler()
            ),
        }
    )
