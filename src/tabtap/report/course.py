"""The course of a run: what was added, what gates refused, how the policy moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tabtap import wording as say
from tabtap.domain import StepRecord, Template
from tabtap.loop import Stop
from tabtap.report.blocks import Block, Figure, Section, TableBlock
from tabtap.report.drawing import (
    FONT_SIZE,
    GOOD,
    GRID,
    INK,
    MUTED,
    REAL,
    SYNTHETIC,
    Bar,
    Layout,
    bar_chart,
    clean,
    draw,
    key,
    stacked,
)
from tabtap.report.facts import is_paper, setting, target_names, target_titles
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.frames import NO_TARGET
from tabtap.result.why import n_added, strictest_gate
from tabtap.table.schema import FloatArray

MOST_BARS = 12
"""Classes that the chart shows; the table has them all."""

_STOPS = {
    Stop.BUDGET: "the run stopped because that many rows had been let in",
    Stop.PATIENCE: "the run stopped because several sets in a row were refused",
    Stop.TIME: "the run stopped because its time was over",
    Stop.STEPS: "the run stopped because it had used all of its steps",
    Stop.LEVEL: "the run stopped because more rows no longer added to the gain",
    Stop.INTERRUPT: "the run was interrupted",
    Stop.SIZE: "no run was made because the table has more rows than can be judged",
}


@dataclass(frozen=True, slots=True)
class Share:
    """How many rows there are of one class or target range."""

    name: str
    n_real: int
    n_synthetic: int


def added_section(result: AugmentResult) -> Section:
    """Return how many rows of each class or target range were added."""
    shares = shares_of(result)
    blocks = (_chart(shares, result), _table(shares)) if len(result.delivered) else ()
    return Section("added", "What was added", _mix_lead(result), blocks)


def shares_of(result: AugmentResult) -> list[Share]:
    """Return the rows of each class or target range, in the order of the target."""
    names = target_names(result)
    real, synthetic = (
        np.bincount(rows.condition, minlength=len(names))
        for rows in (result.real, result.delivered.rows)
    )
    return [
        Share(label, int(real[k]), int(synthetic[k])) for k, label in enumerate(names)
    ]


def stop_words(result: AugmentResult) -> str:
    """Say why the run stopped, to go into a sentence."""
    if result.about.budget == 0:
        return "the run had nothing to do"
    return _STOPS[result.stop]


def _mix_lead(result: AugmentResult) -> str:
    budget = result.about.budget
    asked = "As many rows as help were asked for"
    if budget != "auto":
        asked = f"{say.count_of(int(budget), 'row')} at most were asked for"
    if not n_added(result):
        return f"Nothing. {asked}, and {stop_words(result)}."
    now = len(result.delivered)
    share = say.percent(now / (now + len(result.real)))
    verb = "was" if n_added(result) == 1 else "were"
    said = f"{say.count_of(n_added(result), 'synthetic row')} {verb} added"
    left = "" if not result.n_removed else f", of which {say.count(now)} are left"
    return (
        f"{said}{left}: {share} of the table that results. {asked}, and "
        f"{stop_words(result)}."
    )


def _chart(shares: list[Share], result: AugmentResult) -> Figure:
    most = sorted(shares, key=lambda s: -(s.n_real + s.n_synthetic))[:MOST_BARS]
    shown = [share for share in shares if share in most]
    bars = [
        Bar(
            share.name,
            share.n_real,
            say.count(share.n_real),
            share.n_synthetic,
            say.count(share.n_synthetic),
        )
        for share in shown
    ]
    title = _mix_title(shares, target_titles(result))
    alt = f"Bars of real and synthetic rows by {_target_name(result)}. " + "; ".join(
        f"{s.name}: {s.n_real} real, {s.n_synthetic} synthetic" for s in shown
    )
    hidden = len(shares) - len(shown)
    caption = f"Rows by {_target_name(result)}."
    if hidden:
        caption += f" The {MOST_BARS} largest; {hidden} more are in the table."
    return Figure(title, bar_chart(bars, name="added", title=title), alt, caption)


def _mix_title(shares: list[Share], names: list[str]) -> str:
    """Say how the mix changed: by the class whose share moved most."""
    real = np.array([share.n_real for share in shares], dtype=float)
    both = real + np.array([share.n_synthetic for share in shares])
    before, after = real / real.sum(), both / both.sum()
    moved = int(np.argmax(np.abs(after - before)))
    if abs(after[moved] - before[moved]) < 0.02:
        return "The new rows keep the mix of the real ones"
    verb = "rises" if after[moved] > before[moved] else "falls"
    return (
        f"The share of {names[moved]} {verb} from {say.percent(before[moved])} to "
        f"{say.percent(after[moved])}"
    )


def _table(shares: list[Share]) -> TableBlock:
    n_real = max(sum(share.n_real for share in shares), 1)
    n_synthetic = max(sum(share.n_synthetic for share in shares), 1)
    rows = tuple(
        (
            share.name,
            say.count(share.n_real),
            say.percent(share.n_real / n_real),
            say.count(share.n_synthetic),
            say.percent(share.n_synthetic / n_synthetic),
        )
        for share in shares
    )
    return TableBlock(
        "Rows by target",
        ("Target", "Real", "Share of real", "Synthetic", "Share of synthetic"),
        rows,
        align_right=frozenset({1, 2, 3, 4}),
    )


def _target_name(result: AugmentResult) -> str:
    target = result.real.schema.target
    return "target" if target is None else short_name(target.column.name)


# ---- The waterfall: how many rows were proposed, and where the others went.


_GATES = {
    "types": "not a value that its column can hold",
    "range": "outside the range of the real rows",
    "rules": "breaks one of your rules",
    "plausibility": "implausible to a judge that has not seen its ancestor",
    "diversity": "too near to a row that is there already",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """How many rows were left after a stage, and why the others were not."""

    name: str
    n_left: int
    why: str


def gates_section(result: AugmentResult) -> Section:
    """Return how many rows were left after each stage."""
    stages = stages_of(result)
    if not stages[0].n_left:
        lead = "No rows were proposed, so there was nothing to refuse."
        return Section("gates", "What was refused on the way", lead)
    title = _refusals_title(result)
    bars = [
        Bar(h.name, h.n_left, say.count(h.n_left), is_end=h is stages[-1])
        for h in stages
    ]
    alt = "Bars that grow shorter: " + "; ".join(f"{h.name} {h.n_left}" for h in stages)
    chart = Figure(title, bar_chart(bars, name="gates", title=title), alt)
    table = TableBlock(
        "Rows left after each stage",
        ("Stage", "Rows left", "What it takes away"),
        tuple((h.name, say.count(h.n_left), h.why) for h in stages),
        align_right=frozenset({1}),
    )
    return Section(
        "gates", "What was refused on the way", _refusals_lead(result), (chart, table)
    )


def stages_of(result: AugmentResult) -> list[Stage]:
    """Return the stages in order, from all rows proposed to those delivered."""
    counts = result.waterfall
    left = counts.proposed
    stages = [Stage("Proposed", left, "")]
    for gate, refused in counts.refused.items():
        if not refused:  # the lead names it
            continue
        left -= refused
        why = _GATES.get(gate, "refused by a gate of your own")
        stages.append(
            Stage(f"Passed the gate \u201c{short_name(gate)}\u201d", left, why)
        )
    n_judged = sum(c.n_judged for c in result.certificates)
    surplus = "more rows than the budget has room for, or a run that ended"
    stages.append(Stage("Put to the test", n_judged, surplus))
    refused_pools = "sets of rows that were not shown to help"
    stages.append(Stage("In a set that passed", counts.committed, refused_pools))
    stages.append(Stage("Delivered to you", counts.delivered, _why_fewer(result)))
    return stages


def _why_fewer(result: AugmentResult) -> str:
    if is_paper(result) or not result.waterfall.committed:
        return "rows removed since" if result.n_removed else ""
    folds = setting(result, "augment", "utility", "n_folds")
    kept = "some" if folds is None else f"one in {folds}"
    said = (
        "rows that only served the test: each part of the real rows is judged with new "
        f"rows of a generator that never saw it, and {kept} of those is delivered"
    )
    return f"{said}; and rows removed since" if result.n_removed else said


def _refusals_title(result: AugmentResult) -> str:
    counts = result.waterfall
    gate = strictest_gate(counts)
    if gate is None:
        return "No proposed row was refused by a gate"
    share = say.percent(sum(counts.refused.values()) / max(counts.proposed, 1))
    return (
        f"The gates refused {share} of the proposed rows, most by "
        f"\u201c{short_name(gate)}\u201d"
    )


def _refusals_lead(result: AugmentResult) -> str:
    counts = result.waterfall
    idle = [
        f"\u201c{short_name(gate)}\u201d" for gate, n in counts.refused.items() if not n
    ]
    more = f" Nothing was refused by the gates {say.listed(idle)}." if idle else ""
    if len(idle) == 1:
        more = f" Nothing was refused by the gate {idle[0]}."
    return (
        f"{say.count_of(counts.proposed, 'row')} were proposed by all generators "
        f"together, {say.count(counts.admitted)} passed every gate, and "
        f"{say.count(counts.delivered)} reached your table. Gates look at single rows; "
        f"the test looks at what a whole set of rows does to a learner.{more}"
    )


# ---- How the policy moved: what it asked for, step by step, and whether it learned.


MOST_TARGETS = 10

_MARKS = (
    ("all columns free", {"marker": "o", "color": SYNTHETIC}),
    ("important columns kept", {"marker": "s", "color": REAL}),
)


def movement_section(result: AugmentResult) -> Section:
    """Return what the policy asked for over time."""
    anchor, title = "policy", "How the search moved"
    steps = result.steps
    if not steps:
        return Section(anchor, title, "No step was taken.")
    n_windows = len({record.window for record in steps})
    lead = (
        f"{say.count_of(len(steps), 'step')} in {say.count_of(n_windows, 'window')}. "
        "Each step asks for rows of one target, says which columns may be redrawn, and "
        f"how many of these. {_learning(result)}"
    )
    blocks: list[Block] = [_targets(result), _exploration(result)]
    return Section(anchor, title, lead, tuple(blocks))


def window_shares(steps: Sequence[StepRecord], n_targets: int) -> FloatArray:
    """Return the share of each target among the steps of each window, in order."""
    windows = sorted({record.window for record in steps})
    shares = np.zeros((len(windows), n_targets))
    for place, window in enumerate(windows):
        asked = [r.action.target for r in steps if r.window == window]
        known = [target for target in asked if target != NO_TARGET]
        shares[place] = np.bincount(known, minlength=n_targets) / max(len(asked), 1)
    return shares


def window_means(steps: Sequence[StepRecord]) -> FloatArray:
    """Return the mean exploration of each window, in order."""
    windows = sorted({record.window for record in steps})
    return np.array(
        [
            np.mean([r.action.exploration for r in steps if r.window == window])
            for window in windows
        ]
    )


def _learning(result: AugmentResult) -> str:
    updates = setting(result, "augment", "policy", "updates_per_step")
    if updates == 0:
        return (
            "This preset learns nothing on the way: what was asked for differs from "
            "step to step by chance and by what was short of rows, and the check alone "
            "decides."
        )
    if updates is None:
        return "Whether it learned on the way is not on record."
    return "It learns from what each step was estimated to bring."


def _targets(result: AugmentResult) -> Figure:
    names = target_names(result)
    shares = window_shares(result.steps, len(names))
    counts = np.bincount(
        [r.action.target for r in result.steps if r.action.target != NO_TARGET],
        minlength=len(names),
    )
    shown = sorted(np.argsort(-counts, kind="stable")[:MOST_TARGETS].tolist())
    title = _target_title(target_titles(result), shares)
    layout = Layout(
        width=360, height=len(shown) * 32 + 44, left=2, top=4, bottom=40, stretch=1.2
    )

    def paint(axes: Axes) -> None:
        _windows(axes, result)
        axes.set(ylim=(len(shown), 0), yticks=[])
        for place, target in enumerate(shown):
            axes.text(
                0,
                place + 0.34,
                clean(names[target], 46),
                transform=axes.get_yaxis_transform(),
                color=INK,
                size=FONT_SIZE - 1,
            )
            for template, (_, style) in zip(Template, _MARKS, strict=True):
                own = _steps_of(result.steps, target, template)
                axes.plot(own, [place + 0.68] * len(own), **_dots(style))

    svg = draw(paint, name="targets", title=title, layout=layout)
    said = "; ".join(
        f"{names[k]}: {say.percent(counts[k] / max(counts.sum(), 1))}" for k in shown
    )
    hidden = len(names) - len(shown)
    more = f" The {MOST_TARGETS} most asked for; {hidden} more are not drawn."
    return Figure(
        title,
        stacked(_key("targets key"), svg),
        f"One mark for each step, by target. Shares of the steps: {said}.",
        "A mark is a step; lines part the windows, each of which ends in a check, and "
        f"a green ground means that the set was let in.{more if hidden else ''}",
    )


def _exploration(result: AugmentResult) -> Figure:
    means = window_means(result.steps)
    title = _exploration_title(means)
    layout = Layout(width=360, height=210, left=36, top=8, bottom=40, stretch=1.2)

    def paint(axes: Axes) -> None:
        _windows(axes, result)
        axes.set(ylim=(-0.04, 1.04), yticks=[0, 0.25, 0.5, 0.75, 1])
        axes.set_yticklabels(["0", "\u00bc", "\u00bd", "\u00be", "all"])
        axes.grid(axis="y", color=GRID)
        for template, (_, style) in zip(Template, _MARKS, strict=True):
            own = [r for r in result.steps if r.action.template is template]
            places = [r.step + 1 for r in own]
            axes.plot(places, [r.action.exploration for r in own], **_dots(style))
        for mean, (first, last) in zip(means, _spans(result.steps), strict=True):
            axes.plot([first, last], [mean] * 2, color=INK, linewidth=2)

    svg = draw(paint, name="exploration", title=title, layout=layout)
    said = ", ".join(say.score(mean) for mean in means)
    return Figure(
        title,
        stacked(_key("exploration key"), svg),
        f"Share of the free columns redrawn at each step. Means by window: {said}.",
        "Share of the free columns that each step redrew; the lines are the means of "
        "the windows. The further up, the less a row keeps of its real ancestor.",
    )


def _target_title(names: list[str], shares: FloatArray) -> str:
    if len(shares) > 1:
        moved = int(np.argmax(np.abs(shares[-1] - shares[0])))
        first, last = shares[0, moved], shares[-1, moved]
        if abs(last - first) >= 0.15:
            verb = "rose" if last > first else "fell"
            return (
                f"Steps for {names[moved]} {verb} from {say.percent(round(first, 2))} "
                f"in the first window to {say.percent(round(last, 2))} in the last"
            )
    top = int(np.argmax(shares.mean(axis=0)))
    share = say.percent(round(float(shares.mean(axis=0)[top]), 2))
    asked = say.capital(names[top])
    return f"{asked} were asked for most often, in {share} of the steps"


def _exploration_title(means: FloatArray) -> str:
    first, last = float(means[0]), float(means[-1])
    if len(means) > 1 and abs(last - first) >= 0.1:
        verb = "more" if last > first else "fewer"
        return (
            f"Later steps redrew {verb} columns: {say.percent(round(last, 2))} of the "
            f"free ones, after {say.percent(round(first, 2))}"
        )
    share = say.percent(round(float(means.mean()), 2))
    return f"On average {share} of the free columns were redrawn, throughout"


def _windows(axes: Axes, result: AugmentResult) -> None:
    """Mark the windows and those whose rows were let in."""
    passed = {c.window for c in result.certificates if c.committed}
    windows = sorted({record.window for record in result.steps})
    spans = _spans(result.steps)
    for window, (first, last) in zip(windows, spans, strict=True):
        if window in passed:
            axes.axvspan(first, last, color=GOOD, alpha=0.10, linewidth=0)
        axes.axvline(last, color=GRID, linewidth=1)
    axes.set(xlim=(spans[0][0], spans[-1][1]))
    axes.set_xlabel("step", color=MUTED, size=FONT_SIZE - 1)


def _spans(steps: Sequence[StepRecord]) -> list[tuple[float, float]]:
    found: dict[int, list[int]] = {}
    for record in steps:
        found.setdefault(record.window, []).append(record.step + 1)
    return [(min(own) - 0.5, max(own) + 0.5) for _, own in sorted(found.items())]


def _steps_of(
    steps: Sequence[StepRecord], target: int, template: Template
) -> list[int]:
    return [
        r.step + 1
        for r in steps
        if r.action.target == target and r.action.template is template
    ]


def _dots(style: dict[str, str]) -> dict[str, Any]:
    return {**style, "linestyle": "none", "markersize": 4, "alpha": 0.75, "mew": 0}


def _key(name: str) -> str:
    style = {"linestyle": "none", "markersize": 6}
    return key([(text, {**mark, **style}) for text, mark in _MARKS], name=name)
