"""The verdict: a headline, two sentences, three or four figures, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tabtap.domain import Certificate
from tabtap.loop import Stop
from tabtap.report import wording as say
from tabtap.report.cards import Card, cards_of
from tabtap.report.meaning import Point, meaning_of
from tabtap.report.reading import (
    Case,
    case_of,
    deciding,
    is_panel,
    n_added,
    n_given,
    who_judged,
)
from tabtap.result import AugmentResult

Tone = Literal["good", "plain", "caution"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reader must know who reads nothing else."""

    headline: str
    sentences: tuple[str, ...]
    cards: tuple[Card, ...]
    meaning: tuple[Point, ...]
    tone: Tone


def verdict_of(result: AugmentResult) -> Verdict:
    """Return the verdict of a result, in words for someone who was not there."""
    case = case_of(result)
    headline, sentences, tone = _STORIES[case](result)
    if result.certificates and result.stop in _CUT_SHORT:
        sentences = (*sentences, _CUT_SHORT[result.stop])
    if result.forgotten and case is not Case.REMOVED:
        sentences = (*sentences, _forgotten(result))
    return Verdict(headline, sentences, cards_of(result), meaning_of(result), tone)


_CUT_SHORT = {
    Stop.INTERRUPT: "The run was interrupted; more rows might have been tried.",
    Stop.TIME: "The time budget ended the run; more rows might have been tried.",
}

Story = tuple[str, tuple[str, ...], Tone]


def _shown(result: AugmentResult) -> Story:
    check = _decided(result)
    bound = check.over_real or check.over_incumbent
    added, real = n_added(result), say.counted(n_given(result), "real row")
    who = who_judged(result, check)
    better, seen = "better", "it"
    if is_panel(result):  # some of its learners may have lost
        better, seen = "better on average", "they"
    one = len(result.delivered) == 1
    rows = "this row" if added == 1 else f"these {say.count(added)} rows"
    return (
        "Add this row" if one else f"Add these {say.count(len(result.delivered))} rows",
        (
            f"Adding {rows} to the {real} makes {who} {better}: on real rows {seen} "
            "had not seen, the score rose from "
            f"{say.score(check.score_real, bound.gain)} to "
            f"{say.score(check.score_after, bound.gain)}; with "
            f"{say.percent(bound.confidence)} confidence by at least "
            f"{say.at_least(bound.lower)}.",
        ),
        "good",
    )


def _paper(result: AugmentResult) -> Story:
    check = _decided(result)
    bound = check.over_incumbent
    verb = "was" if n_added(result) == 1 else "were"
    return (
        f"{_rows(len(result.delivered))} passed the paper\u2019s rule; test before use",
        (
            f"{_rows(n_added(result))} {verb} let in because the last pool is "
            f"estimated to lower the loss of {check.scorer} by "
            f"{say.size(bound.gain)}, more than its error bar of "
            f"{say.size(bound.margin)}.",
            "That rule asks about rows that the generator has seen, and its estimates "
            "are too high where rows are few. Measure the gain on rows of your own "
            "before you rely on it, or run again with the default preset.",
        ),
        "caution",
    )


def _unproven(result: AugmentResult) -> Story:
    n_rows = len(result.delivered)
    there = (
        "is 1 synthetic row" if n_rows == 1 else f"are {_rows(n_rows, 'synthetic ')}"
    )
    return (
        "These rows come without evidence",
        (
            f"There {there} beside {say.counted(len(result.real), 'real row')}, and no "
            "record of a check that says whether they help. Nothing is promised.",
        ),
        "caution",
    )


def _refused(result: AugmentResult) -> Story:
    n_checks = len(result.certificates)
    said = f"None of {n_checks} sets of new rows was shown to help."
    if n_checks == 1:
        said = "One set of new rows was tried. It was not shown to help."
    return (
        "Do not augment: your table is returned as it was",
        (said, _nearest(result, _decided(result))),
        "plain",
    )


def _nearest(result: AugmentResult, check: Certificate) -> str:
    bound = check.over_real or check.over_incumbent
    which = "It" if len(result.certificates) == 1 else "The nearest"
    if math.isnan(bound.gain):
        return "The gain could not be measured: the scores are not numbers."
    if check.over_real is None:
        return (
            f"{which} is estimated to change the loss of {check.scorer} by "
            f"{say.gain(-bound.gain)}, with an error bar of {say.size(bound.margin)}."
        )
    who = who_judged(result, check)
    change = (
        f"{which} changes the score of {who} from "
        f"{say.score(check.score_real, bound.gain)} to "
        f"{say.score(check.score_after, bound.gain)}"
    )
    sure = say.percent(bound.confidence)
    if bound.lower > 0:
        least = say.at_least(bound.lower)
        return f"{change}, with {sure} confidence by {least}: less than was asked for."
    if bound.gain <= 0:
        return f"{change}: no better than your real rows alone."
    return (
        f"{change}, which may be chance: with {sure} confidence nothing better than "
        f"{say.at_least(bound.lower)} can be promised."
    )


def _barren(result: AugmentResult) -> Story:
    counts = result.waterfall
    said = f"Of {say.counted(counts.proposed, 'proposed row')} none could be checked."
    if counts.refused and max(counts.refused.values()):
        gate = max(counts.refused, key=lambda name: counts.refused[name])
        said = (
            f"Too few of {say.counted(counts.proposed, 'proposed row')} passed the "
            f"gates for a check; the gate \u201c{say.name(gate)}\u201d refused most, "
            f"{say.count(counts.refused[gate])}."
        )
    return "Do not augment: your table is returned as it was", (said,), "plain"


def _unchecked(result: AugmentResult) -> Story:
    reason = {
        Stop.INTERRUPT: "The run was interrupted",
        Stop.TIME: "The time budget was over",
    }.get(result.stop, "The run ended")
    return (
        "No answer yet: your table is returned as it was",
        (
            f"{reason} before any new rows could be checked, so nothing is known of "
            "what they are worth. Run again with more time.",
        ),
        "caution",
    )


def _unasked(result: AugmentResult) -> Story:  # noqa: ARG001  as the others
    return (
        "Nothing was asked for: your table is returned as it was",
        ("The budget of this run is 0 rows, so none were made and none were checked.",),
        "plain",
    )


def _removed(result: AugmentResult) -> Story:
    return (
        "No synthetic rows are left",
        (
            f"The run had added {_rows(result.n_removed)}. All of them descended from "
            f"{say.counted(len(result.forgotten), 'real row')} that "
            f"{'was' if len(result.forgotten) == 1 else 'were'} removed since then, "
            "and went with them. The figures below describe the table before.",
        ),
        "plain",
    )


_STORIES: dict[Case, Callable[[AugmentResult], Story]] = {
    Case.SHOWN: _shown,
    Case.PAPER: _paper,
    Case.UNPROVEN: _unproven,
    Case.REFUSED: _refused,
    Case.BARREN: _barren,
    Case.UNCHECKED: _unchecked,
    Case.UNASKED: _unasked,
    Case.REMOVED: _removed,
}


def _decided(result: AugmentResult) -> Certificate:
    check = deciding(result)
    if check is None:  # the case says that there is one
        raise AssertionError
    return check


def _rows(number: int, kind: str = "") -> str:
    return say.counted(number, f"{kind}row")


def _forgotten(result: AugmentResult) -> str:
    removed = say.counted(len(result.forgotten), "real row")
    went = say.counted(result.n_removed, "synthetic row")
    return (
        f"Since then {removed} and {went} made of "
        f"{'it' if len(result.forgotten) == 1 else 'them'} were removed; the evidence "
        "describes the table before."
    )
