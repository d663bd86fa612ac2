"""Three plain charts: bars, before and after, and gains with their error bars.

Names stand above their bars and not beside them, so that long ones fit on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tabtap.report.drawing import (
    BAD,
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

ROW = 44
"""Pixels of one row: its name and what stands under it."""

_MARKS = {"good": (GOOD, "o"), "open": (MUTED, "X"), "bad": (BAD, "v")}
_NAME_WIDTH = 46
_SMALL = FONT_SIZE - 1
_INDENT = 14  # half of a tick label that stands at the very left


@dataclass(frozen=True, slots=True)
class Bar:
    """One named length, or two: of real rows and of synthetic ones."""

    name: str
    length: float
    text: str
    second: float | None = None
    second_text: str = ""
    is_end: bool = False
    """Whether it is what all the others lead to."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One named score before and after."""

    name: str
    before: float
    after: float
    text: str


@dataclass(frozen=True, slots=True)
class Interval:
    """One named gain with the error bar that goes with it."""

    name: str
    gain: float
    low: float
    high: float
    text: str
    mark: Literal["good", "open", "bad"]
    """Whether it is above what it must exceed, cannot be told, or is below."""


def bar_chart(bars: Sequence[Bar], *, name: str, title: str) -> str:
    """Draw named lengths; those of real and synthetic rows in their colours."""
    two = any(bar.second is not None for bar in bars)
    longest = max([1e-12, *(max(b.length, b.second or 0.0) for b in bars)])

    def paint(axes: Axes) -> None:
        _rows(axes, [bar.name for bar in bars], left=2)
        axes.set(xlim=(0, 1.28 * longest), xticks=[])
        axes.spines["bottom"].set_visible(False)
        for place, bar in enumerate(bars):
            top = place + (0.42 if two else 0.4)
            first = REAL if two else (SYNTHETIC if bar.is_end else MUTED)
            _bar(axes, top, bar.length, bar.text, first)
            if bar.second is not None:
                _bar(axes, top + 0.27, bar.second, bar.second_text, SYNTHETIC)

    layout = _layout(len(bars), left=2, bottom=6, row=ROW + 8 if two else ROW - 4)
    svg = draw(paint, name=name, title=title, layout=layout)
    if not two:
        return svg
    marks = [("real", {"bar": True, "color": REAL, "linewidth": 0})]
    marks.append(("synthetic", {"bar": True, "color": SYNTHETIC, "linewidth": 0}))
    return stacked(key(marks, name=f"{name} key"), svg)


def pair_chart(pairs: Sequence[Pair], *, name: str, title: str) -> str:
    """Draw each score before and after, joined by a line."""
    scores = [score for pair in pairs for score in (pair.before, pair.after)]

    def paint(axes: Axes) -> None:
        _rows(axes, [pair.name for pair in pairs])
        _scale(axes, scores)
        for place, pair in enumerate(pairs):
            line = place + 0.62
            tone = GOOD if pair.after >= pair.before else BAD
            axes.plot([pair.before, pair.after], [line] * 2, color=tone, linewidth=2)
            axes.plot(pair.before, line, "o", color=REAL, markersize=7)
            axes.plot(pair.after, line, "D", color=SYNTHETIC, markersize=7)
            _note(axes, place, pair.text)

    svg = draw(paint, name=name, title=title, layout=_layout(len(pairs)))
    round_, diamond = {"marker": "o"}, {"marker": "D"}
    style = {"linestyle": "none", "markersize": 7}
    marks = [("real rows alone", {"color": REAL, **round_, **style})]
    marks.append(("with the new rows", {"color": SYNTHETIC, **diamond, **style}))
    return stacked(key(marks, name=f"{name} key"), svg)


def interval_chart(
    intervals: Sequence[Interval], *, name: str, title: str, bar: float = 0.0
) -> str:
    """Draw gains with their error bars, beside what they have to exceed."""
    ends = [end for i in intervals for end in (i.low, i.gain, i.high)]

    def paint(axes: Axes) -> None:
        _rows(axes, [interval.name for interval in intervals])
        _scale(axes, [0.0, bar, *ends])
        left, right = axes.get_xlim()
        for place, interval in enumerate(intervals):
            line, (tone, shape) = place + 0.62, _MARKS[interval.mark]
            _note(axes, place, interval.text)
            # Row by row, so that the line does not run through the names.
            beside = [place + 0.4, place + 0.86]
            axes.plot([bar, bar], beside, color=MUTED, linewidth=1.4, linestyle=":")
            if math.isnan(interval.gain):
                continue
            low, high = max(interval.low, left), min(interval.high, right)
            axes.plot([low, high], [line] * 2, color=tone, linewidth=2.5)
            for end in {interval.low, interval.high} - {interval.gain}:
                if math.isfinite(end):
                    axes.plot(end, line, "|", color=tone, markersize=12, mew=2)
            axes.plot(interval.gain, line, shape, color=tone, markersize=8)

    return draw(paint, name=name, title=title, layout=_layout(len(intervals)))


def _layout(
    n_rows: int, *, left: int = _INDENT, bottom: int = 26, row: int = ROW
) -> Layout:
    return Layout(
        width=360,
        height=n_rows * row + bottom + 8,
        left=left,
        right=14,
        top=8,
        bottom=bottom,
        stretch=1.2,
    )


def _rows(axes: Axes, names: Sequence[str], left: int = _INDENT) -> None:
    """Lay out one row per name, from top to bottom, each one unit high."""
    axes.set(ylim=(len(names), 0), yticks=[])
    for place, text in enumerate(names):
        axes.annotate(
            clean(text, _NAME_WIDTH),
            (0, place + 0.26),
            xycoords=axes.get_yaxis_transform(),
            xytext=(2 - left, 0),
            textcoords="offset points",
            color=INK,
            size=_SMALL,
        )


def _bar(axes: Axes, top: float, length: float, text: str, colour: str) -> None:
    axes.barh(top + 0.12, length, height=0.22, color=colour, linewidth=0)
    axes.annotate(
        text,
        (length, top + 0.12),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=MUTED,
        size=_SMALL,
    )


def _note(axes: Axes, place: int, text: str) -> None:
    """Write a row's figure at the right, on the line of its name."""
    axes.text(
        1,
        place + 0.26,
        text,
        transform=axes.get_yaxis_transform(),
        ha="right",
        color=MUTED,
        size=_SMALL,
    )


def _scale(axes: Axes, values: Sequence[float]) -> None:
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 0.05 * max(abs(high), 1.0)
    axes.set(xlim=(low - room, high + room))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", color=GRID)
