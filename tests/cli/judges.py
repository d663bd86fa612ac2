"""Learners of a user's own, whose answers are known in advance."""

import numpy as np

from tabtap.domain import ClassPrediction


class _Judge:
    """The surer of the truth the more rows its context has; or the less."""

    def __init__(self, sign):
        self.name = "more is better" if sign > 0 else "more is worse"
        self.sign = sign

    def predict(self, contexts, queries):
        return [self._answer(len(c), q) for c, q in zip(contexts, queries, strict=True)]

    def _answer(self, n_rows, asked):
        sure = 1 / (1 + np.exp(-self.sign * n_rows / 50))
        n_classes = asked.schema.n_conditions
        p = np.full((len(asked), n_classes), (1 - sure) / (n_classes - 1))
        p[np.arange(len(asked)), asked.target.astype(int)] = sure
        return ClassPrediction(p)


helpful = _Judge(1.0)


def make_harmful():
    return _Judge(-1.0)


class NoLearner:
    pass
