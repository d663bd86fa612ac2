"""The evidence: plain figures, each learner, every check, copies, and each class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap import domain
from tabtap import wording as say
from tabtap.domain import Bound, Certificate, Measured
from tabtap.domain.judgement import cross_fitted, one_sided
from tabtap.evaluate.figures import FIGURE_WORDS
from tabtap.report.blocks import Block, Figure, Section, TableBlock, Text
from tabtap.report.drawing import Interval, interval_chart
from tabtap.report.facts import (
    is_mean,
    is_paper,
    learner_name,
    setting,
    target_names,
    who_judged,
    worth_words,
)
from tabtap.report.plain import INTERVAL, change_text, figure_name, measured_text
from tabtap.report.verdict import score_meaning
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.set_aside import learned_places
from tabtap.result.why import (
    Case,
    bound_of,
    case_of,
    deciding,
    group_verdict,
    is_too_small,
    learner_scores,
    n_given,
    task_name,
)
from tabtap.table.schema import FloatArray, IntArray


def evidence_section(result: AugmentResult) -> Section:
    """Return what the checks of a run found."""
    anchor, title = "evidence", "The evidence"
    checks = result.certificates
    if not checks:
        return Section(anchor, title, "No set of rows was checked, so there is none.")
    blocks: list[Block] = [*figure_blocks(result), *effect_blocks(result)]
    lead = score_meaning(result)
    if is_paper(result):
        lead = (
            "The paper\u2019s rule looks at the loss of the evaluator on the hardest "
            "rows; a gain is a lower loss."
        )
    elif blocks:
        blocks.append(Text((lead,)))
        lead = (
            "First the check that decided, in figures that people use; then every "
            "check by the score that decides."
        )
    blocks += [_chart(result), Text((_bar_words(result),)), _table(result)]
    blocks += [*copies_blocks(result), *class_blocks(result)]
    blocks += group_blocks(result)
    blocks.append(Text((coverage_words(result),)))
    return Section(anchor, title, lead, tuple(blocks))


def coverage_words(result: AugmentResult) -> str:
    """Say where it is written how often bounds of this kind were found to hold."""
    where = "docs/results/answers.md in the repository of tabtap"
    if is_paper(result):
        return (
            "How often such bars hold was measured on rows that nobody had touched; "
            "where rows are few the paper\u2019s rule promises too much. See "
            f"{where}."
        )
    return (
        "How often such bounds hold, and whether who follows the verdict is better "
        f"off, was measured on rows that nobody had touched: see {where}."
    )


def _bar_words(result: AugmentResult) -> str:
    if is_paper(result):
        return (
            "A set of rows is let in if its estimated gain exceeds its error bar, a "
            "two-sided interval over folds."
        )
    run = setting(result, "augment", "commit", "confidence")
    shared = ""
    if run is not None:
        shared = (
            " Sets that fail use up confidence, so that a run on a table that no new "
            f"rows can help adds some in at most {say.percent(1 - run)} of cases. Of "
            "several sets the luckiest tends to be kept: a gain found after several "
            "attempts is on the high side."
        )
    least = setting(result, "augment", "commit", "min_gain")
    worth = ""
    if least:
        worth = f" {worth_words(result, least)},"
    return (
        "Each set of new rows was checked once. The gain is the mean difference, "
        "real row by real row, between the score with all new rows so far and the "
        "score without any. Its bar reaches down to what the gain is at least, with "
        "the confidence stated. A set is let in if its bar stays to the right of the "
        f"dotted line at 0,{worth} and it adds to the sets before it.{shared}"
    )


def _chart(result: AugmentResult) -> Figure:
    checks = result.certificates
    title = _title(result)
    bar = 0.0
    if is_paper(result):
        bar = setting(result, "augment", "commit", "min_gain") or 0.0
    rows = [_interval(check) for check in checks]
    svg = interval_chart(rows, name="checks", title=title, bar=float(bar))
    alt = "One line per check. " + "; ".join(
        f"{row.name}: gain {row.text}, bar down to {say.at_least(row.low)}"
        for row in rows
    )
    over = "over the rows held before" if is_paper(result) else "over real rows alone"
    return Figure(
        title,
        svg,
        alt,
        f"Gain {over}, with its error bar. A dot was let in, a cross was refused.",
    )


def _interval(check: Certificate) -> Interval:
    bound = _bound(check)
    return Interval(
        name=f"Check {check.window + 1}: {decision_words(check)}",
        gain=bound.gain,
        low=bound.lower,
        high=bound.gain,
        text=say.gain(bound.gain),
        mark="good" if check.committed else "open",
    )


def _title(result: AugmentResult) -> str:
    checks = result.certificates
    passed = sum(check.committed for check in checks)
    if case_of(result) is Case.TOO_SMALL:
        which = (
            "The only set" if len(checks) == 1 else f"The best of {len(checks)} sets"
        )
        return f"{which} of rows gains too little to matter"
    if case_of(result) is Case.HARMFUL:
        return "A set of rows gains on the whole, and a group would pay for it"
    if not passed and len(checks) == 1:
        return "The only set of rows did not clear the bar"
    if not passed:
        return f"None of {len(checks)} sets of rows cleared the bar"
    if passed == len(checks):
        whole = {1: "The only set", 2: "Both sets"}.get(passed, f"All {passed} sets")
        return f"{whole} of rows cleared the bar"
    clear = "1 cleared" if passed == 1 else f"{passed} cleared"
    return f"Of {len(checks)} sets of rows {clear} the bar and added to the gain"


def _table(result: AugmentResult) -> TableBlock:
    checks = result.certificates
    who = any(check.learner for check in checks) and not is_mean(result)
    header = (
        "Check",
        "Decision",
        *(["Learner"] if who else []),
        "Rows",
        "Score before",
        "Score with them",
        "Gain over real rows",
        "At least",
        "Confidence",
        "Adds to those before",
    )
    rows = []
    for check in checks:
        number, decision, *figures = _table_row(check)
        named = [learner_name(check.learner, task_name(result))] if who else []
        rows.append((number, decision, *named, *figures))
    first = 3 if who else 2
    return TableBlock(
        "Every check",
        header,
        tuple(rows),
        align_right=frozenset(range(first, len(header))),
    )


def _table_row(check: Certificate) -> tuple[str, ...]:
    over_real, shown = check.over_real, bound_of(check)
    return (
        str(check.window + 1),
        decision_words(check),
        say.count(check.n_rows),
        say.score(check.score_before, 0.001),
        say.score(check.expected, 0.001),
        "not asked" if over_real is None else say.gain(over_real.gain),
        say.at_least(shown.lower),
        say.percent(shown.confidence),
        say.gain(check.over_incumbent.gain),
    )


def decision_words(check: Certificate) -> str:
    """Return the decision of a check with its reason, in a few words."""
    if check.committed:
        return "let in"
    if not check.n_rows:
        return "refused, no rows left"
    if check.shown:
        return _shown_and_refused(check)
    bound = bound_of(check)
    return "refused, may be chance" if bound.gain > 0 else "refused, no gain"


def _shown_and_refused(check: Certificate) -> str:
    if check.figures and check.figures[0].gain < 0:
        return f"refused, {figure_name(check.figures[0].name)} gets worse"
    if check.harmed:
        return "refused, harms a group"
    if is_too_small(check):
        return "refused, too small to matter"
    return "refused, adds nothing"


def _bound(check: Certificate) -> Bound:
    bound = bound_of(check)
    if math.isnan(bound.gain):
        return Bound(bound.gain, float("inf"), bound.confidence)
    return bound


# ---- The check that decided, in the figures that people use.


def figure_blocks(result: AugmentResult) -> list[Block]:
    """Return accuracy or RMSE and their like, without new rows and with them."""
    check = deciding(result)
    if check is None or not check.figures:
        return []
    task = task_name(result)
    who, best = (learner_name(n, task) for n in (check.learner, check.best_alone))
    differs = check.learner != check.best_alone
    header: tuple[str, ...] = ("Figure", "Without new rows", "With them", "Change")
    asked = f"Learner: {who}."
    if differs:
        header = ("Figure", "Best without", "Learner without", "Learner with", "Change")
        asked = (
            f"Best without new rows: {best}. Learner to train: {who}. The change is "
            "from the best without to the learner with new rows."
        )
    rows = tuple(_figure_row(figure, differs=differs) for figure in check.figures)
    kind = "" if check.committed else " This set of rows was not added."
    told = " ".join(_figure_words(figure) for figure in check.figures)
    return [
        TableBlock(
            "In the figures people use",
            header,
            rows,
            f"{asked}{kind} On real rows that the learner had not seen; \u00b1 is a "
            f"{say.percent(INTERVAL)} interval of each figure by itself. {told}",
            align_right=frozenset(range(1, len(header))),
        )
    ]


def _figure_row(figure: domain.Figure, *, differs: bool) -> tuple[str, ...]:
    return (
        say.capital(figure_name(figure.name)),
        *([measured_text(figure.best_alone)] if differs else []),
        measured_text(figure.without),
        measured_text(figure.with_rows),
        change_text(figure),
    )


def _figure_words(figure: domain.Figure) -> str:
    better = "larger is better" if figure.larger_is_better else "smaller is better"
    told = FIGURE_WORDS.get(figure.name)
    name = say.capital(figure_name(figure.name))
    return f"{name}: {told}; {better}." if told else f"{name}: {better}."


# ---- What the rows do to each learner, whoever the promise is about.


def effect_blocks(result: AugmentResult) -> list[Block]:
    """Return whom the new rows help, whom they harm, and of whom it cannot be told."""
    check = deciding(result)
    if check is None or check.over_real is None:
        return []
    task = task_name(result)
    table = _learner_table(result, check)
    # With a single learner the checks say the same.
    if len(check.effects) < 2:
        return [table] if len(table.rows) > 1 else []
    rows = [
        Interval(
            learner_name(name, task),
            bound.gain,
            bound.lower,
            bound.gain + bound.margin,
            f"{say.gain(bound.gain)}, {_EFFECTS[_mark(bound)]}",
            _mark(bound),
        )
        for name, bound in check.effects.items()
    ]
    title = effects_title(result, check)
    alt = "What new rows do to each learner. " + "; ".join(
        f"{row.name}: {row.text}" for row in rows
    )
    kind = "" if check.committed else " The set was not added."
    figure = Figure(
        title,
        interval_chart(rows, name="learners", title=title),
        alt,
        "Score of each learner with the new rows less its own score without them, with "
        f"a {say.percent(INTERVAL)} interval. Dot: helped; triangle: harmed; cross: "
        "cannot be told. The check asks for more: that the learner to train beats the "
        f"best one without new rows.{kind}",
    )
    return [figure, table]


_EFFECTS = {"good": "helped", "bad": "harmed", "open": "cannot be told"}


def effects_title(result: AugmentResult, check: Certificate) -> str:
    """Say whom the rows help, in words that agree with the verdict."""
    told = _tally([_mark(bound) for bound in check.effects.values()])
    if check.committed and is_mean(result):
        return f"The learners gain on average; one by one, {told}"
    who = say.capital(who_judged(result, check))
    own = check.effects.get(check.learner)
    if check.committed and own is not None and _mark(own) == "good":
        return f"{who} gains from the new rows; {told}"
    if check.committed:
        return (
            f"{who} beats the best without new rows, by the check; by the bars of "
            f"single learners, {told}"
        )
    if case_of(result) is Case.TOO_SMALL:
        return f"{say.capital(told)}; the gain is too small to matter"
    if case_of(result) is Case.HARMFUL:
        return f"{say.capital(told)}, and a group that may not be harmed would lose"
    if not told.startswith("none"):
        best = "the mean of them" if is_mean(result) else "the best without new rows"
        shown = "rises" if is_mean(result) else "is beaten"
        return f"{say.capital(told)}, yet it is not shown that {best} {shown}"
    return say.capital(told)


def _tally(marks: Sequence[str]) -> str:
    n_helped, n_harmed = marks.count("good"), marks.count("bad")
    verb = "is" if n_helped == 1 else "are"
    told = f"{n_helped} of {len(marks)} learners {verb} shown to gain"
    if not n_helped:
        told = f"none of {len(marks)} learners is shown to gain"
    if not n_harmed:
        return told
    if n_helped:
        return f"{told} and {n_harmed} to lose"
    return f"{told}, {n_harmed} {'is' if n_harmed == 1 else 'are'} shown to lose"


def _learner_table(result: AugmentResult, check: Certificate) -> TableBlock:
    rows = []
    for name, (alone, after) in learner_scores(result, check).items():
        bound = check.effects.get(name)
        change = say.gain(after - alone)
        if bound is not None:
            change = measured_text(_as_measured(bound), signed=True)
        scores = (say.score(score, 0.001) for score in (alone, after))
        rows.append((learner_name(name, task_name(result)), *scores, change))
    bars = "" if check.effects else "No error bars of single learners are on record."
    return TableBlock(
        "Scores by learner",
        ("Learner", "Without new rows", "With them", "Change"),
        tuple(rows),
        bars,
        align_right=frozenset({1, 2, 3}),
    )


# ---- What the rows do to the groups that may not be harmed.


def group_blocks(result: AugmentResult) -> list[Block]:
    """Return the change of every group's score, where groups were named."""
    check = deciding(result)
    if check is None or not check.groups:
        return []
    rows = tuple(
        (
            f"{short_name(group.column)}: {short_name(group.value)}",
            say.count(group.n_rows),
            measured_text(_as_measured(group.change), signed=True),
            say.size(group.allowed_loss),
            group_verdict(group),
        )
        for group in check.groups
    )
    kind = "" if check.committed else " This set of rows was not added."
    return [
        TableBlock(
            "Groups that may not be harmed",
            ("Group", "Real rows", "Change of its score", "May lose", "Found"),
            rows,
            "A set of rows is not let in if a group is estimated to lose more than it "
            "may. The estimate decides, not its bar: where a group is small the bar is "
            "wide, so \u201cno harm estimated\u201d does not show that there is none. "
            f"\u00b1 is a {say.percent(INTERVAL)} interval.{kind}",
            align_right=frozenset({1, 2, 3}),
        )
    ]


# ---- Copies of real rows in the place of new ones, as a control.


def copies_blocks(result: AugmentResult) -> list[Block]:
    """Return what as many copies of real rows do, in every check."""
    checks = [c for c in result.certificates if c.copies and c.over_copies]
    if not checks:
        return []
    told = ""
    check = deciding(result)
    if check is not None and check.over_copies is not None:
        told = f" {_control_words(check, check.over_copies)}"
    return [
        TableBlock(
            "Copies of real rows as a control",
            ("Check", "New rows gain", "As many copies gain", "New rows over copies"),
            tuple(_copies_row(check) for check in checks),
            "If as many copies of real rows, which hold nothing new, do as well, the "
            "gain is one of numbers, and weights or a setting of the learner may give "
            f"it too.{told} \u00b1 is a {say.percent(INTERVAL)} interval.",
            align_right=frozenset({1, 2, 3}),
        )
    ]


def _copies_row(check: Certificate) -> tuple[str, ...]:
    gains = (check.copies, check.over_copies)
    return (
        str(check.window + 1),
        say.gain(bound_of(check).gain),
        *(measured_text(_as_measured(bound), signed=True) for bound in gains),
    )


def _control_words(check: Certificate, over: Bound) -> str:
    which = "rows that were added" if check.committed else "best set"
    start = f"In check {check.window + 1}, which is about the {which},"
    if over.lower > 0:
        return f"{start} the new rows are better than as many copies of real rows."
    if over.gain <= 0:
        return f"{start} as many copies of real rows do no worse than new ones."
    return f"{start} as many copies of real rows are not shown to do worse."


def _as_measured(bound: Bound | None) -> Measured | None:
    return None if bound is None else Measured(bound.gain, bound.margin)


# ---- Before and after, class by class.
#
# What is certified is the mean over all real rows.  The parts are shown because people
# ask for them, and with them how little a part of a small table can tell.


MOST_CLASSES = 12


@dataclass(frozen=True, slots=True)
class Part:
    """The scores of the real rows of one class or target range."""

    name: str
    n_rows: int
    before: float
    after: float
    bound: Bound
    """Of the mean difference; its margin is one half of the interval."""


def class_parts(result: AugmentResult, check: Certificate) -> list[Part]:
    """Return the scores of each class or target range that has real rows."""
    # Of those that are left: their places in the evidence.
    rows = learned_places(result.real.origin, result.set_aside)
    before, after = (check.evidence[name][rows] for name in ("real", "after"))
    clusters = check.evidence.get("clusters")
    weights = check.evidence.get("weights", np.ones(len(check.evidence["real"])))[rows]
    parts = []
    for code, label in enumerate(target_names(result)):
        own = result.real.condition == code
        share = float(weights[own].mean()) if own.any() else 0.0
        if not share:
            continue
        whole = None if clusters is None else clusters[rows][own].astype(np.int64)
        difference = np.asarray(after[own] - before[own]) / share
        bound = _class_bound(check, difference, whole)
        first, then = (_unweighed(s[own], share) for s in (before, after))
        parts.append(Part(label, int(own.sum()), first, then, bound))
    return parts


def _unweighed(scores: FloatArray, share: float) -> float:
    """Return a class's own score; what rows lack to 1 is weighed, 1 on average."""
    mean = float(scores.mean())
    return mean if share == 1.0 else 1.0 - (1.0 - mean) / share


def class_blocks(result: AugmentResult) -> list[Block]:
    """Return what became of each class or target range."""
    check = deciding(result)
    if check is None:
        return []
    if check.over_real is None:
        said = (
            "Nothing can be said class by class: the paper\u2019s rule keeps no scores "
            "of single rows."
        )
        return [Text((said,))]
    if len(check.evidence["after"]) != n_given(result):
        return []  # an older result, which may hold one score per fold
    parts = class_parts(result, check)
    noun = "class" if _is_classes(result) else "target range"
    title = _classes_title(parts, noun)
    if not check.committed:  # or it would read as advice to add them
        title = _refused_title(parts, noun)
    shown = parts[:MOST_CLASSES]
    rows = [
        Interval(
            f"{part.name} ({say.count_of(part.n_rows, 'row')})",
            part.bound.gain,
            part.bound.lower,
            part.bound.gain + part.bound.margin,
            say.gain(part.bound.gain),
            _mark(part.bound),
        )
        for part in shown
    ]
    alt = f"Gains by {noun}. " + "; ".join(f"{row.name}: {row.text}" for row in rows)
    more = ""
    if len(parts) > len(shown):
        more = f" The first {MOST_CLASSES} of {len(parts)}; the table has them all."
    figure = Figure(
        title,
        interval_chart(rows, name="classes", title=title),
        alt,
        f"Gain over real rows alone, with a {say.percent(INTERVAL)} interval of each "
        f"{noun} by itself. Dot: all of it above 0; triangle: all of it below; cross: "
        f"cannot be told. One in ten such intervals misses by chance.{more}",
    )
    return [figure, _class_table(parts, noun)]


def _class_bound(
    check: Certificate, difference: FloatArray, clusters: IntArray | None
) -> Bound:
    one_side = (1 + INTERVAL) / 2
    if check.n_folds < 2:  # an older result
        return one_sided(difference, one_side, clusters)
    return cross_fitted(difference, one_side, check.n_folds, clusters)


def _class_table(parts: list[Part], noun: str) -> TableBlock:
    rows = tuple(
        (
            part.name,
            say.count(part.n_rows),
            say.score(part.before, 0.001),
            say.score(part.after, 0.001),
            say.gain(part.bound.gain),
            _margin(part.bound),
        )
        for part in parts
    )
    return TableBlock(
        f"Scores by {noun}",
        (say.capital(noun), "Real rows", "Before", "After", "Gain", "\u00b1"),
        rows,
        align_right=frozenset(range(1, 6)),
    )


def _mark(bound: Bound) -> Literal["good", "open", "bad"]:
    if bound.lower > 0:
        return "good"
    return "bad" if bound.gain + bound.margin < 0 else "open"


def _margin(bound: Bound) -> str:
    if not np.isfinite(bound.margin):
        return "too few rows"
    return say.size(bound.margin)


def _classes_title(parts: list[Part], noun: str) -> str:
    better = [part for part in parts if part.after > part.before]
    title = _counted_title(len(better), len(parts), noun)
    n_sure = sum(_mark(part.bound) == "good" for part in better)
    return title if n_sure == len(better) else f"{title}, shown for {n_sure or 'none'}"


def _refused_title(parts: list[Part], noun: str) -> str:
    """Return a title that counts only what is shown, for rows that stay out."""
    n_sure = sum(_mark(part.bound) == "good" for part in parts)
    which = f"{n_sure} of {len(parts)}" if n_sure else f"None of {len(parts)}"
    nouns = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    verb = "are" if n_sure > 1 else "is"
    return f"{which} {nouns} {verb} shown to score higher with rows that were not added"


def _counted_title(n_better: int, n_all: int, noun: str) -> str:
    nouns = noun if n_all == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    if n_all == 1:
        how = "higher" if n_better else "no higher"
        return f"The {noun} scores {how} with the new rows"
    if n_better == n_all:
        every = "Both" if n_all == 2 else f"All {n_all}"
        return f"{every} {nouns} score higher with the new rows"
    if not n_better:
        return f"None of {n_all} {nouns} scores higher with the new rows"
    verb = "scores" if n_better == 1 else "score"
    return f"{n_better} of {n_all} {nouns} {verb} higher with the new rows"


def _is_classes(result: AugmentResult) -> bool:
    return task_name(result) != "regression"
