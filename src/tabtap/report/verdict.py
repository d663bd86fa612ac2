"""The verdict: a headline, two sentences, three or four figures, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap import wording as say
from tabtap.domain import Bound, Certificate
from tabtap.loop import Stop
from tabtap.report.facts import is_panel, is_paper, setting, who_judged
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.why import (
    OWN,
    Case,
    bound_of,
    case_of,
    deciding,
    metric_name,
    n_added,
    n_given,
    strictest_gate,
)

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
    bound = bound_of(check)
    added, real = n_added(result), say.count_of(n_given(result), "real row")
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
        f"{say.count_of(len(result.delivered), 'row')} passed the paper\u2019s rule; "
        "test before use",
        (
            f"{say.count_of(n_added(result), 'row')} {verb} let in because the last "
            f"pool is estimated to lower the loss of {check.scorer} by "
            f"{say.size(bound.gain)}, more than its error bar of "
            f"{say.size(bound.margin)}.",
            "That rule asks about rows that the generator has seen, and its estimates "
            "are too high where rows are few. Measure the gain on rows of your own "
            "before you rely on it, or run again with the default preset.",
        ),
        "caution",
    )


def _unproven(result: AugmentResult) -> Story:
    verb = "is" if len(result.delivered) == 1 else "are"
    rows = say.count_of(len(result.delivered), "synthetic row")
    return (
        "These rows come without evidence",
        (
            f"There {verb} {rows} beside "
            f"{say.count_of(len(result.real), 'real row')}, and no record of a check "
            "that says whether they help. Nothing is promised.",
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
    bound = bound_of(check)
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
    said = f"Of {say.count_of(counts.proposed, 'proposed row')} none could be checked."
    gate = strictest_gate(counts)
    if gate is not None:
        said = (
            f"Too few of {say.count_of(counts.proposed, 'proposed row')} passed the "
            f"gates for a check; the gate \u201c{short_name(gate)}\u201d refused most, "
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
            f"The run had added {say.count_of(result.n_removed, 'row')}. All of them "
            f"descended from {say.count_of(len(result.forgotten), 'real row')} that "
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


def _forgotten(result: AugmentResult) -> str:
    removed = say.count_of(len(result.forgotten), "real row")
    went = say.count_of(result.n_removed, "synthetic row")
    return (
        f"Since then {removed} and {went} made of "
        f"{'it' if len(result.forgotten) == 1 else 'them'} were removed; the evidence "
        "describes the table before."
    )


# ---- The three or four figures that matter, as cards.


@dataclass(frozen=True, slots=True)
class Card:
    """One figure that matters."""

    label: str
    value: str
    note: str


def cards_of(result: AugmentResult) -> tuple[Card, ...]:
    """Return the figures of a result; those that were measured, and no others."""
    cards = [_rows_card(result)]
    check = deciding(result)
    if check is not None and np.isfinite(check.score_after):
        cards += _measured(result, check)
    if result.certificates:
        cards.append(_checks(result))
    return tuple(cards)


def _rows_card(result: AugmentResult) -> Card:
    beside = f"beside {say.count_of(len(result.real), 'real row')}"
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
    named = "Score" if metric == OWN else f"Score ({metric})"
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


# ---- What the verdict means and does not mean, and what a score is.


@dataclass(frozen=True, slots=True)
class Point:
    """A paragraph and what it is about."""

    name: str
    text: str


_TRAIN_ONLY = (
    "Use synthetic rows to train and never to test, and keep a row and what was made "
    "of it on one side of every split."
)

_MEANS, _MEANS_NOT = "What this means", "What it does not mean"

_CLAIMS_NOT = (
    "Not every learner, class or single prediction gets better, the rows are no facts "
    f"about anyone, and they protect nobody\u2019s privacy. {_TRAIN_ONLY}"
)

_KNOWN = {
    "loss": "minus the learner\u2019s loss, so 0 is perfect",
    "accuracy": "the share of rows whose label was predicted right",
    "neg_log_loss": "the logarithm of the probability given to the right label, so 0 "
    "is perfect",
    "neg_mean_squared_error": "minus the squared error, so 0 is perfect",
    "neg_mean_absolute_error": "minus the absolute error, so 0 is perfect",
}


_PAPER = (
    Point(
        _MEANS,
        "The evaluator that steered the run was asked about the hardest real rows, "
        "with the new rows and without. The rule goes by the change of its loss.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that a learner gets better on rows nobody has seen: the "
        f"generator had seen every row that was asked about. {_TRAIN_ONLY}",
    ),
)

_NO_GAIN = (
    Point(
        _MEANS,
        "New rows were made and put to the test, and no set of them was shown to beat "
        "your real rows alone. With few rows a small gain cannot be told from chance, "
        "and then the honest answer is to add nothing.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that your table is bad, or that no rows could ever help. More "
        "real rows, another referee or another budget may change the answer.",
    ),
)


def meaning_of(result: AugmentResult) -> tuple[Point, ...]:
    """Return what the verdict means and does not mean, a paragraph each."""
    case = case_of(result)
    if case in (Case.UNASKED, Case.UNCHECKED, Case.UNPROVEN):
        said = "Nothing was measured, so this page makes no claim about any rows."
        return (Point(_MEANS, said),)
    if is_paper(result):
        return _PAPER
    if case in (Case.SHOWN, Case.REMOVED):
        return (Point(_MEANS, _how(result)), Point(_MEANS_NOT, _CLAIMS_NOT))
    return _NO_GAIN


def score_meaning(result: AugmentResult) -> str:
    """Say once what a score is."""
    metric = metric_name(result)
    if metric == OWN:
        return _own_score(result)
    if metric in _KNOWN:
        return f"The score is {metric}: {_KNOWN[metric]}; larger is better."
    return (
        f"The score is {metric}, taken fold by fold as scikit-learn does; larger is "
        "better."
    )


def _own_score(result: AugmentResult) -> str:
    target = result.real.schema.target
    mean = " Of a panel, each learner is scored and the mean is taken."
    more = mean if is_panel(result) else ""
    if target is not None and target.task == "regression":
        return (
            "The score of a row is 1 / (1 + e\u00b2), where e is the error in standard "
            "deviations of the target: 1 if the prediction is exact, 0.5 if it is one "
            f"standard deviation off. Larger is better.{more}"
        )
    return (
        "The score of a row is the mean of two figures: 1 or 0 for a right or wrong "
        "label, and the probability that was given to the right one. 1 is perfect; "
        f"larger is better.{more}"
    )


def _how(result: AugmentResult) -> str:
    folds = setting(result, "augment", "utility", "n_folds")
    cut = "in parts" if folds is None else f"in {say.count(int(folds))} parts"
    return (
        f"The real rows were cut {cut}. Each part was predicted by learners trained on "
        "the other parts, once with the new rows and once without. Neither the "
        "learners nor the generator of those new rows had seen the part they were "
        "asked about, so the difference is a fair estimate of what the rows are worth "
        "on more rows of the same kind."
    )
