"""How the policy moved: what it asked for, step by step, and whether it learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tabtap.domain import StepRecord, Template
from tabtap.report import wording as say
from tabtap.report.blocks import Block, Figure, Section
from tabtap.report.drawing import (
    FONT_SIZE,
    GOOD,
    GRID,
    INK,
    MUTED,
    REAL,
    SYNTHETIC,
    Layout,
    clean,
    draw,
    key,
    stacked,
)
from tabtap.report.reading import setting, target_names, target_titles
from tabtap.result import AugmentResult
from tabtap.result.frames import NO_TARGET
from tabtap.table.schema import FloatArray

MOST_TARGETS = 10

_MARKS = (
    ("all columns free", {"marker": "o", "color": SYNTHETIC}),
    ("telling columns kept", {"marker": "s", "color": REAL}),
)


def movement_section(result: AugmentResult) -> Section:
    """Return what the policy asked for over time."""
    anchor, title = "policy", "How the search moved"
    steps = result.steps
    if not steps:
        return Section(anchor, title, "No step was taken.")
    n_windows = len({record.window for record in steps})
    lead = (
        f"{say.counted(len(steps), 'step')} in {say.counted(n_windows, 'window')}. "
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
