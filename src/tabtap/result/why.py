"""What a result says and why: its case, the check that decided, the verdict in words.

Result, report and command line ask here, so that no two of them tell two stories.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tabtap.domain import (
    Alternative,
    Bound,
    Certificate,
    Figure,
    GroupEffect,
    Measured,
)
from tabtap.loop import Stop
from tabtap.loop.commit import group_name
from tabtap.result.frames import Waterfall
from tabtap.result.privacy import cells_words
from tabtap.table.schema import Task
from tabtap.wording import counted, learner_words, listed, plain_percent

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult


class Case(Enum):
    """What there is to say."""

    SHOWN = "rows were added, and shown to help"
    PAPER = "rows were added by the paper's rule"
    UNPROVEN = "there are rows, and no record of a check"
    TOO_SMALL = "a gain was shown, too small to matter"
    HARMFUL = "a gain was shown, at the cost of a group"
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
    if check is None:
        return Case.BARREN
    if is_harmful(check):
        return Case.HARMFUL
    return Case.TOO_SMALL if is_too_small(check) else Case.REFUSED


_AS_GIVEN = "nothing was added, and your rows are as you gave them."
_HEADLINES = {
    "harmful": f"A gain that a group would pay for: {_AS_GIVEN}",
    "augment": "Augmented: {n_new} rows added to your {n_real}.",
    "gain_too_small": f"A gain, too small to matter: {_AS_GIVEN}",
    "no_gain": f"No gain: {_AS_GIVEN}",
}


def headline(result: AugmentResult) -> str:
    """Return the verdict as a sentence."""
    is_harmful = case_of(result) is Case.HARMFUL
    said = _HEADLINES["harmful" if is_harmful else result.verdict]
    said = said.format(n_new=len(result.delivered), n_real=len(result.real))
    if column := result.about.likely_groups:
        said = f"{said} No new {column!r} was tested."
    return said


def is_harmful(check: Certificate) -> bool:
    """Tell whether a gain was shown that a named group would pay for."""
    return bool(check.shown and not check.committed and check.harmed)


def is_too_small(check: Certificate) -> bool:
    """Tell whether a gain was shown that is not worth having."""
    plain = check.figures[0].gain if check.figures else 0.0
    return bool(
        check.protocol == "crossfit"
        and check.shown
        and not check.committed
        and not any_committed_before(check)
        and not check.harmed
        and plain >= 0.0
    )


def any_committed_before(check: Certificate) -> bool:
    """Tell whether rows of earlier windows stood beside the pool of a check."""
    return bool(np.any(check.evidence["before"] != check.evidence["real"]))


def deciding(result: AugmentResult) -> Certificate | None:
    """Return the check that the verdict rests on.

    The last that was passed, which is about all rows delivered; if none was, the one
    that came nearest, a gain that was shown before others.  None if no pool had a row
    to deliver.
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
    effects = check.effects
    return {
        name: (alone[name], alone[name] + effects[name].gain)
        if name in effects
        else (alone[name], after)
        for name, after in check.learners_after.items()
        if name in alone
    }


def strictest_gate(counts: Waterfall) -> str | None:
    """Return the gate that refused most rows; None if none was refused."""
    if not any(counts.refused.values()):
        return None
    return max(counts.refused, key=lambda name: counts.refused[name])


def _promise(certificate: Certificate) -> tuple[bool, float]:
    lower = bound_of(certificate).lower
    return certificate.shown, -np.inf if np.isnan(lower) else lower


# ---- The verdict in one sentence, with its figures, for someone who was not there.


def why_sentence(result: AugmentResult) -> str:
    """Say what was added and on what evidence, or why nothing was."""
    said = _sentence(result)
    if result.forgotten:
        said = f"{said}; {_forgotten_clause(result)}"
    cells = cells_words(result)
    more = f" {cells}" if cells else ""
    rest = f"{_condition(result)}{untested_groups(result)}{more}"
    return f"{said}.{_figures_sentence(result)}{rest}"


def _figures_sentence(result: AugmentResult) -> str:
    """Tell the figures that people read, without rows and with those that decided."""
    check = deciding(result)
    if check is None or not check.figures:
        return ""
    told = [
        f"{one.name} {figure_text(one.best_alone.value)}{bar_text(one.best_alone)} -> "
        f"{figure_text(one.with_rows.value)}{bar_text(one.with_rows)}"
        for one in check.figures
    ]
    who = "Without rows" if check.learner == check.best_alone else "The best without"
    return f" {who} -> with the rows: {'; '.join(told)}."


def _condition(result: AugmentResult) -> str:
    """Say what the teacher's licence asks, where rows carry its answers."""
    condition = result.about.teacher_condition
    return f" {condition}" if condition and len(result.delivered) else ""


def is_taught(result: AugmentResult) -> bool:
    """Tell whether a teacher gave the rows their targets."""
    return result.about.teacher not in ("", "none")


def untested_groups(result: AugmentResult) -> str:
    """Say that new groups were not tested, where the table seems to have groups."""
    column = result.about.likely_groups
    if not column or not result.certificates:
        return ""
    return (
        f" Rows of one {column!r} stood on both sides of the checks, so nothing is "
        f"said of a new {column!r}; with groups={column!r} it would be."
    )


def _sentence(result: AugmentResult) -> str:
    check, checks = deciding(result), result.certificates
    if check is not None and check.committed and n_added(result):
        passed = sum(c.committed for c in checks)
        first = f"{recommendation(result, check)} " if check.learner else ""
        return (
            f"{first}{_added(result, check)}{_bracketed(_details(result, check))}; "
            f"{passed} of {counted(len(checks), 'pool')} passed the check, and the run "
            f"ended because {result.stop.value}"
        )
    if result.about.budget == 0:
        return "No rows were added: the budget is 0"
    if not checks:
        stop = result.stop.value
        if result.stop is Stop.SIZE:
            return f"No rows were added: {stop}, so nothing could be promised"
        return f"No rows were added: {stop}, before any pool could be checked"
    said = f"No rows were added: {_reason_for_none(result, check)}"
    best = best_alone_sentence(result)
    return f"{best} {said}" if best else said


# ---- The promise in the figures that people read.


def task_name(result: AugmentResult) -> str:
    """Return the task of a result's table, empty if it has no target."""
    target = result.real.schema.target
    return "" if target is None else target.task


def recommendation(result: AugmentResult, check: Certificate) -> str:
    """Say which learner to train on the bigger table, and what that does."""
    who = learner_words(check.learner, task_name(result))
    said = f"Train {who} on the bigger table"
    if not check.figures:
        return f"{said}."
    plain = check.figures[0]
    before, after = figure_text(plain.without.value), figure_text(plain.with_rows.value)
    change = f"{plain.name} {before} -> {after}"
    if check.learner == check.best_alone:
        return f"{said}: {change} ({_change(plain)})."
    other = learner_words(check.best_alone, task_name(result))
    return (
        f"{said}: {change}; without new rows the best is {other} with "
        f"{figure_text(plain.best_alone.value)} (difference {_change(plain)})."
    )


def _change(figure: Figure) -> str:
    change = figure.change
    if change.value == change.margin == 0.0:
        return "no change in any row"
    return f"{signed_figure(change.value)}{bar_text(change)}"


def bar_text(measured: Measured) -> str:
    """Return what follows a figure: its error bar, or that rows do not differ in it.

    Examples
    --------
    >>> bar_text(Measured(0.861, 0.052)), bar_text(Measured(1.0, 0.0))
    (' ± 0.052', ' in every row')
    """
    # Rounding apart, which does not mean that it is known for sure.
    if measured.margin <= 1e-12 * abs(measured.value):
        return " in every row"
    return f" ± {figure_text(measured.margin)}"


def best_alone_sentence(result: AugmentResult) -> str:
    """Say what to train where no rows were added: the first thing that is enough."""
    first = next((a for a in result.advice if a.is_enough and a.value), None)
    return "" if first is None else advice_line(first)


def advice_line(option: Alternative) -> str:
    """Return a piece of advice with its figure, as a sentence or two."""
    if option.value is None:
        return f"{option.words} {option.note}".strip()
    value = option.value
    figure = f"{option.figure} {figure_text(value.value)}{bar_text(value)}"
    if not option.is_enough:
        # By the yardstick, which may tell apart what the plain figure does not.
        figure += "; another way is shown to score higher"
    note = f" {option.note}" if option.note else ""
    return f"{option.words.removesuffix('.')} ({figure}).{note}"


def effect_words(check: Certificate) -> str:
    """Say whom the new rows help, whom they harm, and of whom nothing is shown."""
    helped = [name for name, bound in check.effects.items() if bound.lower > 0]
    harmed = [
        name for name, bound in check.effects.items() if bound.gain + bound.margin < 0
    ]
    rest = [name for name in check.effects if name not in (*helped, *harmed)]
    parts = [
        f"{verb} {', '.join(names)}"
        for verb, names in (("help", helped), ("harm", harmed))
        if names
    ]
    if rest:
        parts.append(f"show no effect on {', '.join(rest)}")
    return f"the rows {listed(parts)}" if len(check.effects) > 1 else ""


def copies_words(check: Certificate) -> str:
    """Say that copies of real rows do as well, where they do."""
    copies, over = check.copies, check.over_copies
    if copies is None or over is None or copies.gain <= 0.0 or over.lower > 0.0:
        return ""
    which = "do as well" if over.gain <= 0.0 else "are not shown to do worse"
    return (
        f"as many copies of your real rows {which} (gain {_figure(copies.gain)} ± "
        f"{_figure(copies.margin)})"
    )


def harm_words(check: Certificate) -> str:
    """Say which group would be harmed, where one would: the one that loses most."""
    losses = {-g.change.gain: g for g in check.harmed if g.change is not None}
    if not losses:
        return ""
    group = losses[max(losses)]
    margin = 0.0 if group.change is None else group.change.margin
    said = (
        f"{group_name(group)} is estimated to lose {_figure(max(losses))} ± "
        f"{_figure(margin)}, more than the {group.allowed_loss:g} allowed"
    )
    others = len(check.harmed) - 1
    return said + (f"; so {counted(others, 'other group')}" if others else "")


def no_harm_words(check: Certificate) -> str:
    """Say that no named group is estimated to be harmed, and of whom it is not told."""
    told = [group for group in check.groups if group.change is not None]
    few = [f"{g.column} ({g.value})" for g in check.groups if g.change is None]
    parts = []
    if told and not check.harmed:
        columns = listed(list(dict.fromkeys(group.column for group in told)))
        which = f"no group of {columns}"
        if few:
            which = f"of the groups of {columns} that could be told none"
        most = max(group.allowed_loss for group in told)
        parts.append(f"{which} is estimated to lose more than {most:g}")
    if few:
        parts.append(f"too few rows to tell of {listed(few)}")
    return "; ".join(parts)


def group_verdict(group: GroupEffect) -> str:
    """Return what becomes of a group, in a few words."""
    if group.change is None:
        return "too few rows to tell"
    if group.is_harmed:
        return "harmed"
    return "gains" if group.change.lower > 0.0 else "no harm estimated"


def setting_words(result: AugmentResult, learner: str) -> str:
    """Say that a setting of the learner does as well without rows, where it does."""
    with_rows = next((a for a in result.advice if "with new rows" in a.name), None)
    for option in result.advice:
        setting = option.name.removesuffix(" alone").removeprefix(f"{learner} ")
        is_setting = "=" in setting and option.name.startswith(f"{learner} ")
        is_twin = option.name == "small_leaves alone" and learner == "boosting"
        if not (is_setting or is_twin) or not option.is_enough or option.value is None:
            continue
        words = setting if "=" in setting else "min_samples_leaf=5"
        same = with_rows is None or _score_of(option) >= _score_of(with_rows)
        does = "does the same" if same else "is not shown to do worse"
        value = figure_text(option.value.value)
        return f"{words} {does} without new rows ({option.figure} {value})"
    return ""


def _score_of(option: Alternative) -> float:
    return -np.inf if option.score is None else option.score.value


def figure_text(value: float) -> str:
    """Return a figure with three digits.

    Examples
    --------
    >>> figure_text(0.90666), figure_text(12345.6)
    ('0.907', '12300')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:.0f}" if 1000 <= abs(rounded) < 1e6 else f"{rounded:.3g}"


def signed_figure(value: float) -> str:
    """Return a change with its sign and two digits.

    Examples
    --------
    >>> signed_figure(0.0512), signed_figure(-197.4)
    ('+0.051', '-200')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:+.0f}" if 100 <= abs(rounded) < 1e6 else f"{rounded:+.2g}"


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
        evidence = f"with {them} {_crossfit_evidence(result, last, last.over_real)}"
    taught = ""
    if is_taught(result):
        taught = f", their targets given by the teacher ({result.about.teacher}),"
    return (
        f"{counted(n_added(result), 'synthetic row')} {verb} added to the "
        f"{n_given(result)} real ones{taught or ','} because {evidence}"
    )


def _sure(result: AugmentResult, bound: Bound) -> str:
    """Return the confidence of a check and, where it differs, of the run."""
    own = f"{plain_percent(bound.confidence)} confidence"
    settings = result.about.settings.get("augment", {})
    run = settings.get("commit", {}).get("confidence")
    if run is None or np.isclose(run, bound.confidence):
        return own
    return f"{own} in this check ({plain_percent(run)} for the run as a whole)"


def _crossfit_evidence(
    result: AugmentResult, certificate: Certificate, bound: Bound
) -> str:
    gain = "a gain of"
    if certificate.believed < 1.0:
        gain = f"of which a gain of {_figure(bound.gain)} is believed,"
    return (
        "the score on real rows that neither learner nor generator had seen goes from "
        f"{_figure(certificate.score_real)} to {_figure(certificate.score_after)}, "
        f"{gain} at least {_figure(bound.lower)}{_share(certificate)} with "
        f"{_sure(result, bound)}"
    )


def _share(certificate: Certificate) -> str:
    share = certificate.share_at_least
    return f" ({100 * share:.2g} % of the loss)" if np.isfinite(share) else ""


def _paper_evidence(certificate: Certificate) -> str:
    bound = certificate.over_incumbent
    return (
        f"the last pool is estimated to lower the loss of {certificate.scorer} by "
        f"{_figure(bound.gain)}, more than its error bar of {_figure(bound.margin)} at "
        f"{plain_percent(bound.confidence)} confidence (the paper's rule, whose "
        "estimates are too high where rows are few)"
    )


def _details(result: AugmentResult, check: Certificate) -> str:
    """Say whom the rows help or harm, what does as well, and what a score is."""
    parts = [effect_words(check), no_harm_words(check), copies_words(check)]
    if check.committed and len(check.learners) == 1:
        parts.append(setting_words(result, *check.learners))
    if words := _score_words(result):
        parts.append(f"score: {words}")
    return "; ".join(part for part in parts if part)


def _bracketed(details: str) -> str:
    return f" ({details})" if details else ""


def _reason_for_none(result: AugmentResult, best: Certificate | None) -> str:
    checks = result.certificates
    if not any(c.n_judged for c in checks):
        return _all_refused(result.waterfall, len(checks))
    pools = counted(len(checks), "pool")
    if best is None:
        return f"none of {pools} held enough rows for one to be delivered"
    only = len(checks) == 1
    shortfall = f"{'it' if only else 'the best one'} {_shortfall(result, best)}"
    if metric_name(result) in _AT_MOST_ONE and best.score_real >= _NO_ROOM:
        shortfall = (
            f"there is no room for a gain, as the score with the {n_given(result)} "
            f"real rows alone is {_figure(best.score_real)} already"
        )
    if is_too_small(best) or is_harmful(best):
        which = "the only pool" if only else f"of {pools} the best"
        short = "but not everybody" if best.harmed else "by too little to matter"
        found = f"{which} was shown to help, {short}"
    elif only:
        found = "the only pool was not shown to help"
    else:
        found = f"none of {pools} was shown to help"
    end = f"and the run ended because {result.stop.value}"
    if only and result.stop is Stop.PATIENCE:
        end = "and the run ended with it"
    return f"{found}; {shortfall}, {end}"


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
    who = learner_words(certificate.learner, task_name(result))
    said = (
        f"({counted(certificate.n_rows, 'row')}, {who}) changes the score by "
        f"{_figure(bound.gain)} ± {_figure(bound.margin)} over the best without them"
    )
    details = _bracketed(_details(result, certificate))
    if bound.lower <= 0:
        why = "which may be chance" if bound.gain > 0 else "which is no gain"
        return f"{said} at {sure} confidence, {why}{details}"
    plain = certificate.figures[0] if certificate.figures else None
    if plain is not None and plain.gain < 0:
        return (
            f"{said} at {sure} confidence, but the {plain.name} is estimated to get "
            f"worse, by {_figure(-plain.gain)}{details}"
        )
    if certificate.harmed:
        return f"{said} at {sure} confidence, but {harm_words(certificate)}{details}"
    return f"{said} at {sure} confidence, a gain too small to matter{details}"


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
    "classification": "half of it accuracy, half 1 less half the Brier score",
    "regression": "1 less the squared error in variances of the target, an R2",
}
_BRIER_ALONE = "1 less half the Brier score"
"""What it was in files whose certificates do not say how wide their bars are."""

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
    is_older = not any(check.widening for check in result.certificates)
    if is_older and target.task == "classification":
        return _BRIER_ALONE
    return _WORDS[target.task]
