"""The verdict in one sentence, with its figures, for someone who was not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabtap.domain import Bound, Certificate
from tabtap.loop import Stop
from tabtap.result.frames import Waterfall
from tabtap.table.schema import Schema, Task
from tabtap.wording import counted, plain_percent


def why_sentence(
    n_real: int,
    budget: int | str,
    counts: Waterfall,
    certificates: Sequence[Certificate],
    stop: Stop,
    yardstick: Yardstick,
) -> str:
    """Say what was added and on what evidence, or why nothing was.

    ``n_real`` and ``counts`` are those of the run, before anything was forgotten.
    """
    accepted = [c for c in certificates if c.committed]
    if accepted and counts.delivered:
        details = _details(certificates, accepted[-1], yardstick)
        passed = f"{len(accepted)} of {counted(len(certificates), 'pool')}"
        return (
            f"{_added(n_real, counts.delivered, accepted[-1])}{_bracketed(details)}; "
            f"{passed} passed the check, and the run ended because {stop.value}."
        )
    if budget == 0:
        return "No rows were added: the budget is 0."
    if not certificates:
        return f"No rows were added: {stop.value}, before any pool could be checked."
    reason = _reason_for_none(n_real, counts, certificates, stop, yardstick)
    return f"No rows were added: {reason}."


def forgotten_clause(rows: Sequence[int], n_removed: int) -> str:
    """Say what forgetting took away, to go after the sentence of the run."""
    noun = "row" if len(rows) == 1 else "rows"
    named = ", ".join(map(str, rows))
    removed = counted(n_removed, "synthetic row")
    return (
        f"since then real {noun} {named} and {removed} that descended from "
        f"{'it' if len(rows) == 1 else 'them'} were removed, and the figures "
        "describe the table before"
    )


def _added(n_real: int, n_added: int, last: Certificate) -> str:
    verb, them = ("was", "it") if n_added == 1 else ("were", "them")
    evidence = _paper_evidence(last)
    if last.over_real is not None:
        evidence = f"with {them} {_crossfit_evidence(last, last.over_real)}"
    return (
        f"{counted(n_added, 'synthetic row')} {verb} added to the {n_real} real ones, "
        f"because {evidence}"
    )


def _crossfit_evidence(certificate: Certificate, bound: Bound) -> str:
    return (
        f"the score of {certificate.scorer} on real rows that it had not "
        f"seen goes from {_figure(certificate.score_real)} to "
        f"{_figure(certificate.score_after)}, a gain of at least "
        f"{_figure(bound.lower)} with {plain_percent(bound.confidence)} confidence"
    )


def _paper_evidence(certificate: Certificate) -> str:
    bound = certificate.over_incumbent
    return (
        f"the last pool is estimated to lower the loss of {certificate.scorer} by "
        f"{_figure(bound.gain)}, more than its error bar of {_figure(bound.margin)} at "
        f"{plain_percent(bound.confidence)} confidence (the paper's rule, whose "
        "estimates are too high where rows are few)"
    )


def _details(
    certificates: Sequence[Certificate], decided: Certificate, yardstick: Yardstick
) -> str:
    """Say which learners a mean hides, and what a score is."""
    parts = [_by_learner(certificates[0], decided)]
    if yardstick.words:
        parts.append(f"score: {yardstick.words}")
    return "; ".join(part for part in parts if part)


def _by_learner(first: Certificate, decided: Certificate) -> str:
    alone = first.learners_before  # nothing was committed then
    gains = {
        name: after - alone[name]
        for name, after in decided.learners_after.items()
        if name in alone
    }
    if not gains or decided.over_real is None:
        return ""
    largest = max(map(abs, gains.values()))
    said = _thousandths if 0.0005 <= largest < 100 else _signed
    listed = ", ".join(f"{name} {said(gain)}" for name, gain in gains.items())
    return f"by learner: {listed}"


def _bracketed(details: str) -> str:
    return f" ({details})" if details else ""


def _reason_for_none(
    n_real: int,
    counts: Waterfall,
    certificates: Sequence[Certificate],
    stop: Stop,
    yardstick: Yardstick,
) -> str:
    judged = [c for c in certificates if c.n_judged]
    if not judged:
        return _all_refused(counts, len(certificates))
    pools = counted(len(certificates), "pool")
    useful = [c for c in judged if c.n_rows]
    if not useful:
        return f"none of {pools} held enough rows for one to be delivered"
    best = max(useful, key=_promise)
    details = _details(certificates, best, yardstick)
    shortfall = f"the best one {_shortfall(best, n_real, details)}"
    if yardstick.leaves_no_room(best.score_real):
        shortfall = (
            f"there is no room for a gain, as the score of {best.scorer} with the "
            f"{n_real} real rows alone is {_figure(best.score_real)} already"
        )
    return (
        f"none of {pools} was shown to help; {shortfall}, and the run ended because "
        f"{stop.value}"
    )


def _all_refused(counts: Waterfall, n_windows: int) -> str:
    said = f"in {counted(n_windows, 'window')} none of {counts.proposed} proposed rows"
    if not counts.refused or not max(counts.refused.values()):
        return f"{said} could be checked"
    gate = max(counts.refused, key=lambda name: counts.refused[name])
    return (
        f"{said} passed the gates; the gate {gate!r} refused most, "
        f"{counts.refused[gate]}"
    )


def _shortfall(certificate: Certificate, n_real: int, details: str) -> str:
    bound = certificate.over_real or certificate.over_incumbent
    if not np.isfinite(bound.gain):
        return "could not be measured, as the scores are not numbers"
    sure = plain_percent(bound.confidence)
    if certificate.over_real is None:
        return (
            f"is estimated to lower the loss of {certificate.scorer} by "
            f"{_figure(bound.gain)}, within its error bar of {_figure(bound.margin)} "
            f"at {sure} confidence"
        )
    said = (
        f"changes the score of {certificate.scorer} by {_figure(bound.gain)} over the "
        f"{n_real} real rows alone"
    )
    least = _figure(bound.lower)
    if bound.lower > 0:
        asked = f"with {sure} confidence by {least}: less than was asked for"
        return f"{said}, {asked}{_bracketed(details)}"
    chance = f"at {sure} confidence nothing better than {least} can be promised"
    within = f"{chance}; {details}" if details else chance
    return f"{said}, which may be chance ({within})"


def _promise(certificate: Certificate) -> float:
    lower = (certificate.over_real or certificate.over_incumbent).lower
    return -np.inf if np.isnan(lower) else lower


def _figure(number: float) -> str:
    return f"{number:.3g}"


def _signed(number: float) -> str:
    return f"{number:+.3g}"


def _thousandths(number: float) -> str:
    return f"{round(number, 3) + 0.0:+.3f}"  # without the zero there would be -0.000


# ---- What rows were scored by: its name, its meaning in words, and its upper end.


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
