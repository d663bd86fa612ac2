"""What a result says and why: its case, the check that decided, the verdict in words.

Result, report and command line ask here, so that no two of them tell two stories.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tabtap.domain import Bound, Certificate
from tabtap.result.frames import Waterfall
from tabtap.table.schema import Task
from tabtap.wording import counted, plain_percent

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult


class Case(Enum):
    """What there is to say."""

    SHOWN = "rows were added, and shown to help"
    PAPER = "rows were added by the paper's rule"
    UNPROVEN = "there are rows, and no record of a check"
    REFUSED = "pools were checked, and none was shown to help"
    BARREN = "no candidate was left to be checked"
    UNCHECKED = "the run ended before its first check"
    UNASKED = "no rows were asked for"
    REMOVED = "all rows that were added have been removed since"


def case_of(result: AugmentResult) -> Case:
    """Return which case a result is."""
    check = deciding(result)
    passed = check is not None and check.committed
    if len(result.delivered):
        if check is None or not passed:
            return Case.UNPROVEN
        return Case.PAPER if check.over_real is None else Case.SHOWN
    if passed:
        return Case.REMOVED
    if result.about.budget == 0:
        return Case.UNASKED
    if not result.certificates:
        return Case.UNCHECKED
    return Case.BARREN if check is None else Case.REFUSED


def deciding(result: AugmentResult) -> Certificate | None:
    """Return the check that the verdict rests on.

    The last that was passed, which is about all rows delivered; if none was, the one
    that came nearest.  None if no pool had a row to deliver.
    """
    for certificate in reversed(result.certificates):
        if certificate.committed:
            return certificate
    useful = [c for c in result.certificates if c.n_rows]
    return max(useful, key=_promise) if useful else None


def bound_of(check: Certificate) -> Bound:
    """Return what a check says of the gain: over real rows alone, if it was asked."""
    return check.over_real or check.over_incumbent


def n_given(result: AugmentResult) -> int:
    """Return how many real rows the run had, before any was forgotten."""
    return len(result.real) + len(result.forgotten)


def n_added(result: AugmentResult) -> int:
    """Return how many rows the run added, before any was forgotten."""
    return len(result.delivered) + result.n_removed


def learner_scores(
    result: AugmentResult, check: Certificate
) -> dict[str, tuple[float, float]]:
    """Return each learner's score on real rows alone and with the rows of a check."""
    alone = result.certificates[0].learners_before  # nothing was committed then
    return {
        name: (alone[name], after)
        for name, after in check.learners_after.items()
        if name in alone
    }


def strictest_gate(counts: Waterfall) -> str | None:
    """Return the gate that refused most rows; None if none was refused."""
    if not any(counts.refused.values()):
        return None
    return max(counts.refused, key=lambda name: counts.refused[name])


def _promise(certificate: Certificate) -> float:
    lower = bound_of(certificate).lower
    return -np.inf if np.isnan(lower) else lower


# ---- The verdict in one sentence, with its figures, for someone who was not there.


def why_sentence(result: AugmentResult) -> str:
    """Say what was added and on what evidence, or why nothing was."""
    said = _sentence(result)
    if not result.forgotten:
        return f"{said}."
    return f"{said}; {_forgotten_clause(result)}."


def _sentence(result: AugmentResult) -> str:
    check, checks = deciding(result), result.certificates
    if check is not None and check.committed and n_added(result):
        passed = sum(c.committed for c in checks)
        return (
            f"{_added(result, check)}{_bracketed(_details(result, check))}; "
            f"{passed} of {counted(len(checks), 'pool')} passed the check, and the run "
            f"ended because {result.stop.value}"
        )
    if result.about.budget == 0:
        return "No rows were added: the budget is 0"
    if not checks:
        stop = result.stop.value
        return f"No rows were added: {stop}, before any pool could be checked"
    return f"No rows were added: {_reason_for_none(result, check)}"


def _forgotten_clause(result: AugmentResult) -> str:
    """Say what forgetting took away, to go after the sentence of the run."""
    rows = result.forgotten
    noun, them = ("row", "it") if len(rows) == 1 else ("rows", "them")
    named = ", ".join(map(str, rows))
    removed = counted(result.n_removed, "synthetic row")
    return (
        f"since then real {noun} {named} and {removed} that descended from {them} were "
        "removed, and the figures describe the table before"
    )


def _added(result: AugmentResult, last: Certificate) -> str:
    verb, them = ("was", "it") if n_added(result) == 1 else ("were", "them")
    evidence = _paper_evidence(last)
    if last.over_real is not None:
        evidence = f"with {them} {_crossfit_evidence(last, last.over_real)}"
    return (
        f"{counted(n_added(result), 'synthetic row')} {verb} added to the "
        f"{n_given(result)} real ones, because {evidence}"
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


def _details(result: AugmentResult, check: Certificate) -> str:
    """Say which learners a mean hides, and what a score is."""
    parts = [_by_learner(result, check)]
    if words := _score_words(result):
        parts.append(f"score: {words}")
    return "; ".join(part for part in parts if part)


def _by_learner(result: AugmentResult, check: Certificate) -> str:
    scores = learner_scores(result, check)
    gains = {name: after - alone for name, (alone, after) in scores.items()}
    if not gains or check.over_real is None:
        return ""
    largest = max(map(abs, gains.values()))
    said = _thousandths if 0.0005 <= largest < 100 else _signed
    listed = ", ".join(f"{name} {said(gain)}" for name, gain in gains.items())
    return f"by learner: {listed}"


def _bracketed(details: str) -> str:
    return f" ({details})" if details else ""


def _reason_for_none(result: AugmentResult, best: Certificate | None) -> str:
    checks = result.certificates
    if not any(c.n_judged for c in checks):
        return _all_refused(result.waterfall, len(checks))
    pools = counted(len(checks), "pool")
    if best is None:
        return f"none of {pools} held enough rows for one to be delivered"
    shortfall = f"the best one {_shortfall(result, best)}"
    if metric_name(result) in _AT_MOST_ONE and best.score_real >= _NO_ROOM:
        shortfall = (
            f"there is no room for a gain, as the score of {best.scorer} with the "
            f"{n_given(result)} real rows alone is {_figure(best.score_real)} already"
        )
    return (
        f"none of {pools} was shown to help; {shortfall}, and the run ended because "
        f"{result.stop.value}"
    )


def _all_refused(counts: Waterfall, n_windows: int) -> str:
    said = f"in {counted(n_windows, 'window')} none of {counts.proposed} proposed rows"
    gate = strictest_gate(counts)
    if gate is None:
        return f"{said} could be checked"
    return (
        f"{said} passed the gates; the gate {gate!r} refused most, "
        f"{counts.refused[gate]}"
    )


def _shortfall(result: AugmentResult, certificate: Certificate) -> str:
    bound = bound_of(certificate)
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
        f"{n_given(result)} real rows alone"
    )
    least, details = _figure(bound.lower), _details(result, certificate)
    if bound.lower > 0:
        asked = f"with {sure} confidence by {least}: less than was asked for"
        return f"{said}, {asked}{_bracketed(details)}"
    chance = f"at {sure} confidence nothing better than {least} can be promised"
    within = f"{chance}; {details}" if details else chance
    return f"{said}, which may be chance ({within})"


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
_NO_ROOM = 0.9995
"""As high as can be, in the three digits that are shown."""


def metric_name(result: AugmentResult) -> str:
    """Return what rows were scored by: ``score``, unless the user named something."""
    referee = result.about.referee
    for certificate in result.certificates:
        if certificate.protocol == "paper":
            return "loss"
        if certificate.scorer.startswith(f"{referee} by "):
            return certificate.scorer.removeprefix(f"{referee} by ")
    return OWN


def _score_words(result: AugmentResult) -> str:
    """Return what tabtap's own score is; empty for others, which their name says."""
    target = result.real.schema.target
    if target is None or metric_name(result) != OWN:
        return ""
    return _WORDS[target.task]
