"""What rows were scored by: its name, its meaning in words, and its upper end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabtap.domain import Certificate
from tabtap.table.schema import Schema, Task

OWN = "score"
"""The score of predictions, which is asked for unless the user names another."""

_WORDS: dict[Task, str] = {
    "classification": "half being right, half the probability given to the truth",
    "regression": "1 / (1 + squared error), errors in standard deviations",
}
_AT_MOST_ONE = frozenset(
    {
        OWN,
        "accuracy",
        "average_precision",
        "balanced_accuracy",
        "f1",
        "f1_macro",
        "f1_micro",
        "f1_weighted",
        "r2",
        "roc_auc",
    }
)


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A metric, and the task that it was used for."""

    metric: str
    task: Task | None = None

    @classmethod
    def of(
        cls, certificates: Sequence[Certificate], referee: str, schema: Schema
    ) -> Yardstick:
        """Return the yardstick of a run, by its checks."""
        task = None if schema.target is None else schema.target.task
        return cls(metric_name(certificates, referee), task)

    @property
    def words(self) -> str:
        """What tabtap's own score is; empty for others, which their name says."""
        if self.metric != OWN or self.task is None:
            return ""
        return _WORDS[self.task]

    def leaves_no_room(self, score: float) -> bool:
        """Whether a score is as high as can be, in the three digits that are shown."""
        return self.metric in _AT_MOST_ONE and score >= 0.9995


def metric_name(certificates: Sequence[Certificate], referee: str) -> str:
    """Return what rows were scored by: ``score``, unless the user named something."""
    for certificate in certificates:
        if certificate.protocol == "paper":
            return "loss"
        if certificate.scorer.startswith(f"{referee} by "):
            return certificate.scorer.removeprefix(f"{referee} by ")
    return OWN
