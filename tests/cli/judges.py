"""Learners of a user's own, whose answers are known in advance."""

import numpy as np

from tabtap.domain import ClassPrediction


class _Judge:
    """The surer of the truth the more rows its context has; or the less.

    The other way round, and less so, for birds of the island that has this code.
    """

    def __init__(self, sign, worse_island=-1):
        self.name = "more is better" if sign > 0 else "more is worse"
        self.sign, self.worse_island = sign, worse_island

    def predict(self, contexts, queries):
        return [self._answer(len(c), q) for c, q in zip(contexts, queries, strict=True)]

    def _answer(self, n_rows, asked):
        names = [column.name for column in asked.schema.features]
        worse = np.zeros(len(asked), dtype=bool)
        if "island" in names:
            worse = asked.cells[names.index("island")] == self.worse_island
        sign = np.where(worse, -0.3 * self.sign, self.sign)
        sure = 1 / (1 + np.exp(-sign * n_rows / 50))
        n_classes = asked.schema.n_conditions
        p = np.repeat((1 - sure)[:, None] / (n_classes - 1), n_classes, axis=1)
        p[np.arange(len(asked)), asked.target.astype(int)] = sure
        return ClassPrediction(p)


helpful = _Judge(1.0)
unfair = _Judge(1.0, worse_island=1)


def make_harmful():
    return _Judge(-1.0)


class NoLearner:
    pass
