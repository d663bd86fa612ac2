"""The three or four figures that matter, as cards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.domain import Bound, Certificate
from tabtap.report import wording as say
from tabtap.report.reading import deciding, metric_name
from tabtap.result import AugmentResult


@dataclass(frozen=True, slots=True)
class Card:
    """One figure that matters."""

    label: str
    value: str
    note: str


def cards_of(result: AugmentResult) -> tuple[Card, ...]:
    """Return the figures of a result; those that were measured, and no others."""
    cards = [_rows(result)]
    check = deciding(result)
    if check is not None and np.isfinite(check.score_after):
        cards += _measured(result, check)
    if result.certificates:
        cards.append(_checks(result))
    return tuple(cards)


def _rows(result: AugmentResult) -> Card:
    beside = f"beside {say.counted(len(result.real), 'real row')}"
    if not len(result.delivered):
        return Card("Rows added", "0", f"the table keeps its {len(result.real)} rows")
    return Card("Rows added", say.count(len(result.delivered)), beside)


def _measured(result: AugmentResult, check: Certificate) -> list[Card]:
    if check.over_real is None:
        return [_loss(check.over_incumbent)]
    bound = check.over_real
    real, after = (
        say.score(score, bound.gain) for score in (check.score_real, check.score_after)
    )
    metric = metric_name(result)
    named = "Score" if metric == "score" else f"Score ({metric})"
    kind = "with the rows added" if check.committed else "best set, not added"
    return [
        Card(f"{named} on unseen real rows", f"{real} \u2192 {after}", kind),
        _least(bound),
    ]


def _least(bound: Bound) -> Card:
    sure = f"with {say.percent(bound.confidence)} confidence"
    estimate = f"{sure}; estimate {say.gain(bound.gain)}"
    value = say.at_least(bound.lower)
    if np.isfinite(bound.lower) and bound.lower > 0:
        value = f"+{value}"
    return Card("Gain, at least", value, estimate)


def _loss(bound: Bound) -> Card:
    note = f"error bar {say.size(bound.margin)}, not on unseen rows"
    return Card("Loss, estimated change", say.gain(-bound.gain), note)


def _checks(result: AugmentResult) -> Card:
    passed = sum(c.committed for c in result.certificates)
    noun = "set of rows" if len(result.certificates) == 1 else "sets of rows"
    value = f"{passed} of {len(result.certificates)}"
    return Card("Checks passed", value, f"{noun} tried")
