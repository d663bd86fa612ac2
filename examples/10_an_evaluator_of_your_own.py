"""Let a judge of your own decide which rows help: the nearest mean of a class.

Run it as a script.  A judge is an object with a name and ``predict``; scikit-learn
estimators need none of this, they are passed as they are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from tabtap import augment
from tabtap.datasets import load_penguins
from tabtap.domain import ClassPrediction
from tabtap.table import Table


class NearestMean:
    """Believes in a class the more, the nearer the mean of its rows."""

    name = "nearest mean"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[ClassPrediction]:
        """Answer each table of queries from its own context, and nothing else."""
        pairs = zip(contexts, queries, strict=True)
        return [self._answer(context, asked) for context, asked in pairs]

    def _answer(self, context: Table, asked: Table) -> ClassPrediction:
        known, spread = context.numeric, context.numeric.std(axis=0) + 1e-9
        likely = np.zeros((len(asked), context.schema.n_conditions))
        for label in np.unique(context.target):
            mean = known[context.target == label].mean(axis=0)
            gap = (((asked.numeric - mean) / spread) ** 2).sum(axis=1)
            likely[:, label] = 1.0 / (1.0 + gap)
        return ClassPrediction(likely / likely.sum(axis=1, keepdims=True))


def main() -> None:
    """Run with the judge in both places, and say what it decided."""
    birds = load_penguins().dropna().sample(60, random_state=1)
    judge = NearestMean()

    result = augment(
        birds,
        "sex",
        evaluator=judge,
        learner=judge,
        budget=40,
        preset="fast",
        random_state=0,
    )

    print(f"Who decides: {result.about.referee_why}")
    print(textwrap.fill(f"{result.verdict}: {result.why}", 79))


if __name__ == "__main__":
    main()
