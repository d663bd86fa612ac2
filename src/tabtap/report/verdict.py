"""The verdict: a headline, some sentences, three or four figures, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap import wording as say
from tabtap.domain import Alternative, Bound, Certificate
from tabtap.loop import Stop
from tabtap.report.facts import (
    BEST,
    cheaper_ways,
    first_enough,
    is_mean,
    is_named,
    is_paper,
    learner_name,
    setting,
    who_judged,
    with_rows_option,
    worth_words,
)
from tabtap.report.front import means_not, next_steps
from tabtap.report.plain import (
    INTERVAL,
    advice_sentence,
    change_text,
    figure_name,
    from_to,
    measured_text,
    value_text,
    with_page_signs,
)
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.why import (
    OWN,
    Case,
    bound_of,
    case_of,
    copies_words,
    deciding,
    harm_words,
    metric_name,
    n_added,
    n_given,
    no_harm_words,
    strictest_gate,
    task_name,
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

    steps: tuple[str, ...] = ()
    """What to do next, in order; with it, ``meaning`` is folded away."""

    warnings: tuple[Point, ...] = ()
    """What must not be read into it."""


def verdict_of(result: AugmentResult) -> Verdict:
    """Return the verdict of a result, in words for someone who was not there."""
    case = case_of(result)
    headline, sentences, tone = _STORIES[case](result)
    if column := result.about.likely_groups:
        # A patient that comes back makes every check too easy.
        headline = f"{headline}; no new {short_name(column)} was tested"
    if result.certificates and result.stop in _CUT_SHORT:
        sentences = (*sentences, _CUT_SHORT[result.stop])
    if result.forgotten and case is not Case.REMOVED:
        sentences = (*sentences, _forgotten(result))
    return Verdict(
        headline,
        sentences,
        cards_of(result),
        meaning_of(result),
        tone,
        next_steps(result),
        tuple(Point(*point) for point in means_not(result)),
    )


_CUT_SHORT = {
    Stop.INTERRUPT: "The run was interrupted; more rows might have been tried.",
    Stop.TIME: "The time budget ended the run; more rows might have been tried.",
}

Story = tuple[str, tuple[str, ...], Tone]


def _shown(result: AugmentResult) -> Story:
    check = _decided(result)
    one = len(result.delivered) == 1
    rows = "this row" if one else f"these {say.count(len(result.delivered))} rows"
    train = ""
    if check.learner and not is_mean(result):
        train = f" and train {who_judged(result, check)}"
    said = [_promise(result, check), _score_words(result, check)]
    said += [*_no_harm(check), *_cheaper(result), *_copies(check)]
    return f"Add {rows}{train}", tuple(said), "good"


def _promise(result: AugmentResult, check: Certificate) -> str:
    """Say what to train on the bigger table, and what that does to a plain figure."""
    who = who_judged(result, check)
    if not check.figures:
        added, real = n_added(result), say.count_of(n_given(result), "real row")
        rows = "this row" if added == 1 else f"these {say.count(added)} rows"
        better = "better on average" if is_mean(result) else "better"
        return f"Adding {rows} to the {real} makes {who} {better}."
    plain = check.figures[0]
    name, change = figure_name(plain.name), from_to(plain.without, plain.with_rows)
    if is_mean(result):
        return (
            f"On the bigger table {who} do better on average: {name} {change} (change "
            f"{change_text(plain)})."
        )
    said = f"Train {who} on the bigger table: {name} {change}"
    if check.learner != check.best_alone:
        other = say.learner_words(check.best_alone, task_name(result))
        best = value_text(plain.best_alone.value, plain.change.value)
        return f"{said}; without new rows the best is {other} with {best}."
    more = "" if is_named(result) else "; without new rows it is the best as well"
    return f"{said} (change {change_text(plain)}){more}."


def _score_words(result: AugmentResult, check: Certificate) -> str:
    """Say what is promised of the score, and how sure that is."""
    bound = bound_of(check)
    real, after = (
        say.score(score, bound.gain) for score in (check.score_real, check.score_after)
    )
    by = f": with {_sure(result, bound)} by at least {_at_least(bound)}."
    if check.believed < 1.0:  # of many sets the lucky ones are let in
        by = (
            f". A gain of {say.size(bound.gain)} of that is believed, with "
            f"{_sure(result, bound)} at least {_at_least(bound)}. The rest may be "
            "luck: of many sets of rows the lucky ones are let in."
        )
    return (
        "On real rows that neither learner nor generator had seen, the score that "
        f"decides rose from {real} to {after}{by}"
    )


def _scores(check: Certificate) -> tuple[str, str]:
    step = bound_of(check).gain
    return say.score(check.score_real, step), say.score(check.expected, step)


def _at_least(bound: Bound) -> str:
    if 0 < bound.lower < 1e-4:
        return "a trifle"
    return say.at_least(bound.lower)


def _sure(result: AugmentResult, bound: Bound) -> str:
    """Return the confidence of a check and, where it differs, of the run."""
    own = f"{say.percent(bound.confidence)} confidence"
    run = setting(result, "augment", "commit", "confidence")
    if run is None or math.isclose(run, bound.confidence):
        return own
    return f"{own} in this check ({say.percent(run)} for the run as a whole)"


def _cheaper(result: AugmentResult) -> list[str]:
    """Say what is not shown to do worse and needs no new rows."""
    ways = [
        f"{option.words[:1].lower()}{option.words[1:].rstrip('.')} "
        f"({figure_name(option.figure)} {measured_text(option.value)})"
        for option in cheaper_ways(result)
    ]
    if not ways:
        return []
    first, with_rows = first_enough(result), with_rows_option(result)
    can = "You may do as well"
    if (
        with_rows is not None
        and not with_rows.is_enough
        and _is_ahead(first, with_rows)
    ):
        can = "You can do better still"
    return [f"{can} without new rows: {', or '.join(ways)}."]


def _is_ahead(one: Alternative | None, other: Alternative) -> bool:
    if one is None or one.score is None or other.score is None:
        return False
    return one.score.value > other.score.value


def _copies(check: Certificate) -> list[str]:
    words = copies_words(check)
    return [f"{say.capital(with_page_signs(words))}."] if words else []


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
    nearest = _nearest(result, _decided(result))
    return (
        "Do not augment: your table is returned as it was",
        (*_advice(result), f"{said} {nearest}"),
        "plain",
    )


def _too_small(result: AugmentResult) -> Story:
    check = _decided(result)
    bound = bound_of(check)
    least = setting(result, "augment", "commit", "min_gain")
    asked = "less than was asked for"
    if least:
        asked = f"it is worth having only if {worth_words(result, least)}"
    said = (
        f"{_tried(result, check)}: an estimated gain of {say.size(bound.gain)}, with "
        f"{_sure(result, bound)} at least {_at_least(bound)}, and {asked}."
    )
    return (
        "A gain, too small to matter: your table is returned as it was",
        (*_advice(result), said, *_copies(check)),
        "plain",
    )


def _harmful(result: AugmentResult) -> Story:
    check = _decided(result)
    said = (
        f"{_tried(result, check)}, with {_sure(result, bound_of(check))} by at least "
        f"{_at_least(bound_of(check))}. But {with_page_signs(harm_words(check))}."
    )
    return (
        "A gain that a group would pay for: your table is returned as it was",
        (*_advice(result), said, *_no_harm(check)),
        "caution",
    )


def _no_harm(check: Certificate) -> list[str]:
    words = no_harm_words(check)
    return [f"{say.capital(with_page_signs(words))}."] if words else []


def _advice(result: AugmentResult) -> list[str]:
    """Say what to do instead: the cheapest thing that nothing is shown to beat."""
    first = first_enough(result)
    return [] if first is None else [advice_sentence(first, task_name(result))]


def _nearest(result: AugmentResult, check: Certificate) -> str:
    bound = bound_of(check)
    if math.isnan(bound.gain):
        return "The gain could not be measured: the scores are not numbers."
    if check.over_real is None:
        return (
            f"{_which(result)} is estimated to change the loss of {check.scorer} by "
            f"{say.gain(-bound.gain)}, with an error bar of {say.size(bound.margin)}."
        )
    change, sure = _tried(result, check), _sure(result, bound)
    least = _at_least(bound)
    if bound.lower > 0 and check.figures and check.figures[0].gain < 0:
        return (
            f"{change}: with {sure} the score gains at least {least}, but rows that "
            f"are estimated to make the {figure_name(check.figures[0].name)} worse are "
            "not let in."
        )
    if bound.lower > 0:
        return f"{change}, with {sure} by {least}: less than was asked for."
    if bound.gain <= 0:
        return f"{change}: no better than your real rows alone."
    return (
        f"{change}, which may be chance: with {sure} all that is known is that they do "
        f"not lose more than {say.size(-bound.lower)}."
    )


def _which(result: AugmentResult) -> str:
    if len(result.certificates) == 1:
        return "It"
    return "The best" if case_of(result) is Case.TOO_SMALL else "The nearest"


def _tried(result: AugmentResult, check: Certificate) -> str:
    """Say what the set that came nearest did, in a plain figure and by the score."""
    who, (real, after) = who_judged(result, check), _scores(check)
    which = _which(result)
    if not check.figures:
        return f"{which} changes the score of {who} from {real} to {after}"
    plain = check.figures[0]
    before, step = plain.best_alone.value, plain.change.value
    start, end = value_text(before, step), value_text(plain.with_rows.value, step)
    name = figure_name(plain.name)
    change = f"changes the {name} of {who} from {start} to {end}"
    if check.learner != check.best_alone:
        other = say.learner_words(check.best_alone, task_name(result))
        change = (
            f"brings {who} to {name} {end}, where the best without new rows, {other}, "
            f"has {start}"
        )
    rows = say.count_of(check.n_rows, "row")
    which = "The set" if which == "It" else which
    return f"{which}, {rows}, {change}. The score goes from {real} to {after}"


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
    return (
        "Do not augment: your table is returned as it was",
        (*_advice(result), said),
        "plain",
    )


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
    Case.TOO_SMALL: _too_small,
    Case.HARMFUL: _harmful,
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
    return tuple(cards)


def _rows_card(result: AugmentResult) -> Card:
    n_new, n_real = len(result.delivered), len(result.real)
    note = f"beside {say.count_of(n_real, 'real row')}"
    if not n_new:
        note = f"the table keeps its {say.count_of(n_real, 'row')}"
    checks = result.certificates
    if checks:
        passed = sum(check.committed for check in checks)
        noun = "set" if len(checks) == 1 else "sets"
        note += f"; {passed} of {len(checks)} {noun} passed"
    return Card("Rows added", say.count(n_new), note)


def _measured(result: AugmentResult, check: Certificate) -> list[Card]:
    if check.over_real is None:
        return [_loss(check.over_incumbent)]
    least = _least(result, check)
    if not check.figures:
        real, after = _scores(check)
        kind = "with the rows added" if check.committed else "best set, not added"
        change = f"{real} \u2192 {after}"
        return [Card(f"{_score_name(result)} on unseen real rows", change, kind), least]
    return [*_plain_cards(result, check), least]


def _plain_cards(result: AugmentResult, check: Certificate) -> list[Card]:
    """Return the plain figure without new rows and with them, and its change."""
    plain, task = check.figures[0], task_name(result)
    name = say.capital(figure_name(plain.name))
    who = learner_name(check.learner, task)
    note = f"{who} without and with new rows"
    if check.learner != check.best_alone:
        best = learner_name(check.best_alone, task)
        note = f"without: {best}; with: {who}"
    if not check.committed:
        note += "; not added"
    better = "more" if plain.larger_is_better else "less"
    return [
        Card(
            f"{name} on unseen real rows",
            from_to(plain.best_alone, plain.with_rows),
            note,
        ),
        Card(
            f"Change in {figure_name(plain.name)}",
            change_text(plain),
            f"{better} is better; {say.percent(INTERVAL)} interval",
        ),
    ]


def _least(result: AugmentResult, check: Certificate) -> Card:
    bound = bound_of(check)
    if not bound.lower > 0:  # NaN too
        return Card(
            f"Gain of the {_score_name(result).lower()}",
            "none shown",
            f"at {_sure(result, bound)}; estimate {say.gain(bound.gain)}",
        )
    named = "Promised gain" if check.committed else "Shown gain"
    value = f"+{say.at_least(bound.lower)}" if bound.lower >= 1e-4 else "> 0"
    return Card(
        f"{named} of the {_score_name(result).lower()}, at least",
        value,
        f"with {_sure(result, bound)}; estimate {say.gain(bound.gain)}",
    )


def _score_name(result: AugmentResult) -> str:
    metric = metric_name(result)
    return "Score" if metric == OWN else f"Score ({metric})"


def _loss(bound: Bound) -> Card:
    note = f"error bar {say.size(bound.margin)}, not on unseen rows"
    return Card("Loss, estimated change", say.gain(-bound.gain), note)


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
        "real rows, another learner or another budget may change the answer.",
    ),
)

_SMALL_GAIN = (
    Point(
        _MEANS,
        "New rows were made and put to the test, and shown to help by so little that "
        "they are not worth what they cost: rows that nobody observed, in every later "
        "use of the table. A smaller min_gain would let them in.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that new rows are useless to every learner, or that more real "
        "rows would not help.",
    ),
)


_HARM = (
    Point(
        _MEANS,
        "New rows were made and shown to help on the whole, but a group that you named "
        "in no_harm is estimated to be predicted worse with them. So they were not let "
        "in.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that the group is harmed for sure: its bar tells how much is "
        "known of it. More real rows of that group would help most.",
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
    return {Case.TOO_SMALL: _SMALL_GAIN, Case.HARMFUL: _HARM}.get(case, _NO_GAIN)


def score_meaning(result: AugmentResult) -> str:
    """Say once what a score is."""
    metric = metric_name(result)
    if metric == OWN:
        return _own_score(result)
    if metric in _KNOWN:
        return f"The score is {metric}: {_KNOWN[metric]}; larger is better."
    return (
        f"The score is {metric}, as scikit-learn computes it for all real rows "
        "together. Each row has its share in it, found by leaving the row out; larger "
        "is better."
    )


def _own_score(result: AugmentResult) -> str:
    if any(c.protocol == "crossfit" and not c.learner for c in result.certificates):
        return (
            "The score is that of an earlier version of tabtap, which made this "
            "result: 1 is perfect, and larger is better."
        )
    mean = " Each learner is scored and the mean is taken."
    more = mean if is_mean(result) else ""
    if task_name(result) == "regression":
        return (
            "The score that decides is 1 less the squared error in variances of the "
            "target: 1 if the prediction is exact, 0 if it is one standard deviation "
            "off, less if it is further off. Its mean is R\u00b2, so it rises only if "
            f"RMSE falls. Larger is better.{more}"
        )
    return (
        "The score that decides is the mean of accuracy and of 1 less half the Brier "
        "score. Each label was given a probability; how far these are from the truth "
        "(1 for the right label, 0 for the others) is squared, added up and halved. 1 "
        "is sure and right, 0 is sure and wrong, and nobody gains by overstating. "
        f"Larger is better.{more}"
    )


def _how(result: AugmentResult) -> str:
    folds = setting(result, "augment", "utility", "n_folds")
    cut = "in parts" if folds is None else f"in {say.count(int(folds))} parts"
    most = setting(result, "augment", "utility", "n_partitions") or 1
    times = int(most) if result.folds is None else len(result.folds)
    upto = "up to " if result.folds is None else ""
    anew = "" if times < 2 else f", {upto}{say.count(times)} times anew"
    best = ""
    if result.about.referee == BEST:
        best = (
            " The best learner with the new rows, chosen for each part by the others, "
            "is held against the best without them."
        )
    return (
        f"The real rows were cut {cut}{anew}. Each part was predicted by learners "
        "trained on the other parts, once with the new rows and once without. Neither "
        "the learners nor the generator of those new rows had seen the part they were "
        "asked about, so the difference is a fair estimate of what the rows are worth "
        f"on more rows of the same kind.{best}"
    )
