"""Before and after, learner by learner and class by class.

What is certified is the mean over all real rows.  The parts are shown because people
ask for them, and with them how little a part of a small table can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tabtap.domain import Bound, Certificate
from tabtap.domain.judgement import one_sided
from tabtap.report import wording as say
from tabtap.report.blocks import Block, Figure, TableBlock, Text
from tabtap.report.charts import Interval, Pair, interval_chart, pair_chart
from tabtap.report.reading import (
    deciding,
    is_per_row,
    learner_name,
    metric_name,
    target_names,
)
from tabtap.result import AugmentResult

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
    alone = result.certificates[0].learners_before  # nothing was committed then
    return [
        Pair(
            learner_name(learner),
            alone[learner],
            after,
            _change(alone[learner], after),
        )
        for learner, after in check.learners_after.items()
        if learner in alone
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
            f"{part.name} ({say.counted(part.n_rows, 'row')})",
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
