"""The evidence: what every check found, and before and after by learner and class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap import wording as say
from tabtap.domain import Bound, Certificate
from tabtap.domain.judgement import one_sided
from tabtap.report.blocks import Block, Figure, Section, TableBlock, Text
from tabtap.report.drawing import Interval, Pair, interval_chart, pair_chart
from tabtap.report.facts import (
    is_panel,
    is_paper,
    is_per_row,
    learner_name,
    setting,
    target_names,
)
from tabtap.report.verdict import score_meaning
from tabtap.result import AugmentResult
from tabtap.result.why import OWN, bound_of, deciding, learner_scores, metric_name

# As published in docs/results/calibration.md, table "Coverage".
CROSSFIT_HELD, CROSSFIT_PROMISED, CROSSFIT_CHECKS = 0.922, 0.919, 179
PAPER_HELD, PAPER_PROMISED, PAPER_CHECKS = 0.540, 0.975, 63


def evidence_section(result: AugmentResult) -> Section:
    """Return what the checks of a run found."""
    anchor, title = "evidence", "The evidence"
    checks = result.certificates
    if not checks:
        return Section(anchor, title, "No set of rows was checked, so there is none.")
    blocks: list[Block] = [_chart(result), Text((_bar_words(result),)), _table(result)]
    blocks += comparison_blocks(result)
    blocks.append(Text((coverage_words(result),)))
    lead = score_meaning(result)
    if is_paper(result):
        lead = (
            "The paper\u2019s rule looks at the loss of the evaluator on the hardest "
            "rows; a gain is a lower loss."
        )
    return Section(anchor, title, lead, tuple(blocks))


def coverage_words(result: AugmentResult) -> str:
    """Say how often bounds of this kind were found to hold."""
    if is_paper(result):
        return (
            "How often such bars hold: in the measurements published with tabtap "
            f"(seven tables of 50 rows, {PAPER_CHECKS} checks), the paper\u2019s rule "
            f"promised {say.percent(PAPER_PROMISED)} and held in "
            f"{say.percent(PAPER_HELD)}."
        )
    said = (
        "How often such bounds hold: in the measurements published with tabtap (seven "
        f"tables of 50 and 100 rows, {CROSSFIT_CHECKS} checks), "
        f"{say.percent(CROSSFIT_HELD)} of the bounds held on rows nobody had touched, "
        f"where {say.percent(CROSSFIT_PROMISED)} had been promised. Table by table it "
        "was between 75 % and 100 %.".replace(" %", f"{say.THIN}%")
    )
    if is_panel(result) and metric_name(result) == OWN:
        return said
    return f"{said} That was measured with the usual learners and the default score."


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
    last = result.certificates[-1]
    by = "real row by real row" if is_per_row(result, last) else "fold by fold"
    return (
        "Each set of new rows was checked once. The gain is the mean difference, "
        f"{by}, between the score with all new rows so far and the score without any. "
        "Its bar reaches down to what the gain is at least, with the confidence "
        "stated. A set is let in if its bar stays to the right of the dotted line, and "
        f"if it also adds to the sets before it.{shared}"
    )


def _chart(result: AugmentResult) -> Figure:
    checks = result.certificates
    title = _title(result)
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
    if not passed and len(checks) == 1:
        return "The only set of rows did not clear the bar"
    if not passed:
        return f"None of {len(checks)} sets of rows cleared the bar"
    if passed == len(checks):
        only = "The only set" if passed == 1 else f"All {passed} sets"
        return f"{only} of rows cleared the bar"
    clear = "1 cleared" if passed == 1 else f"{passed} cleared"
    return f"Of {len(checks)} sets of rows {clear} the bar and added to the gain"


def _table(result: AugmentResult) -> TableBlock:
    rows = tuple(_table_row(check) for check in result.certificates)
    return TableBlock(
        "Every check",
        (
            "Check",
            "Decision",
            "Rows",
            "Score before",
            "Score with them",
            "Gain over real rows",
            "At least",
            "Confidence",
            "Adds to those before",
        ),
        rows,
        align_right=frozenset(range(2, 9)),
    )


def _table_row(check: Certificate) -> tuple[str, ...]:
    over_real, shown = check.over_real, bound_of(check)
    return (
        str(check.window + 1),
        decision_words(check),
        say.count(check.n_rows),
        say.score(check.score_before, 0.001),
        say.score(check.score_after, 0.001),
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
        return "refused, adds nothing"
    bound = bound_of(check)
    return "refused, may be chance" if bound.gain > 0 else "refused, no gain"


def _bound(check: Certificate) -> Bound:
    bound = bound_of(check)
    if math.isnan(bound.gain):
        return Bound(bound.gain, float("inf"), bound.confidence)
    return bound


# ---- Before and after, learner by learner and class by class.
#
# What is certified is the mean over all real rows.  The parts are shown because people
# ask for them, and with them how little a part of a small table can tell.


INTERVAL = 0.90
"""Two-sided coverage of the bars of single classes."""

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


def comparison_blocks(result: AugmentResult) -> list[Block]:
    """Return what became of each learner and of each class."""
    check = deciding(result)
    if check is None:
        return []
    if check.over_real is None:
        said = (
            "Nothing can be said learner by learner or class by class: the "
            "paper\u2019s rule keeps no scores of single rows."
        )
        return [Text((said,))]
    return [*_learner_blocks(result, check), *_class_blocks(result, check)]


def learner_pairs(result: AugmentResult, check: Certificate) -> list[Pair]:
    """Return each learner's score on real rows alone and with the new rows."""
    return [
        Pair(learner_name(learner), alone, after, _change(alone, after))
        for learner, (alone, after) in learner_scores(result, check).items()
    ]


def class_parts(result: AugmentResult, check: Certificate) -> list[Part]:
    """Return the scores of each class or target range that has real rows."""
    rows = result.real.origin  # of those that are left: their places in the evidence
    before, after = (check.evidence[name][rows] for name in ("real", "after"))
    clusters = check.evidence.get("clusters")
    parts = []
    for code, label in enumerate(target_names(result)):
        own = result.real.condition == code
        if not own.any():
            continue
        whole = None if clusters is None else clusters[rows][own].astype(np.int64)
        difference = np.asarray(after[own] - before[own])
        bound = one_sided(difference, (1 + INTERVAL) / 2, whole)
        scores = float(before[own].mean()), float(after[own].mean())
        parts.append(Part(label, int(own.sum()), *scores, bound))
    return parts


def _learner_blocks(result: AugmentResult, check: Certificate) -> list[Block]:
    pairs = learner_pairs(result, check)
    if not pairs:
        return []
    better = [pair.name for pair in pairs if pair.after > pair.before]
    title = _counted_title(len(better), len(pairs), "learner")
    alt = "Scores before and after. " + "; ".join(f"{p.name}: {p.text}" for p in pairs)
    kind = "" if check.committed else ", with the nearest set, which was not added"
    figure = Figure(
        title,
        pair_chart(pairs, name="learners", title=title),
        alt,
        f"Mean score on real rows that the learner had not seen{kind}. The check is "
        "about the mean of the learners; a single one has no bar of its own.",
    )
    return [figure]


def _class_blocks(result: AugmentResult, check: Certificate) -> list[Block]:
    if not is_per_row(result, check):
        return [Text((_why_no_classes(result),))]
    parts = class_parts(result, check)
    better = [part for part in parts if part.after > part.before]
    noun = "class" if _is_classes(result) else "target range"
    title = _counted_title(len(better), len(parts), noun)
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


def _change(before: float, after: float) -> str:
    step = after - before
    return f"{say.score(before, step)} \u2192 {say.score(after, step)}"


def _margin(bound: Bound) -> str:
    if not np.isfinite(bound.margin):
        return "too few rows"
    return say.size(bound.margin)


def _counted_title(n_better: int, n_all: int, noun: str) -> str:
    nouns = noun if n_all == 1 else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    if n_all == 1:
        return f"The {noun} scores {'higher' if n_better else 'no higher'} than before"
    if n_better == n_all:
        return f"All {n_all} {nouns} score higher with the new rows"
    if not n_better:
        return f"None of {n_all} {nouns} scores higher with the new rows"
    verb = "scores" if n_better == 1 else "score"
    return f"{n_better} of {n_all} {nouns} {verb} higher with the new rows"


def _is_classes(result: AugmentResult) -> bool:
    target = result.real.schema.target
    return target is None or target.task == "classification"


def _why_no_classes(result: AugmentResult) -> str:
    return (
        f"Nothing can be said class by class: {metric_name(result)} gives one figure "
        "for a fold and none for single rows."
    )
