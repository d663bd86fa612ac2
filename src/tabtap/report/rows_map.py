"""Real and synthetic rows as points in a plane, class by class.

The plane is spanned by the two directions in which the real rows spread most.  Every
column counts the same: a number in standard deviations, a category as its levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tabtap.fidelity import Closeness
from tabtap.report.blocks import Figure, Text
from tabtap.report.drawing import (
    MUTED,
    REAL,
    SYNTHETIC,
    Layout,
    draw,
    key,
    label,
    panels,
    stacked,
)
from tabtap.report.wording import count, name, percent
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NumberScale, Table

MAX_PANELS = 8
MAX_POINTS = 240
"""Points of one sort in one panel; evenly chosen ones where there are more."""

MAX_BACKGROUND = 120
MAX_FIT_ROWS = 2000
MAX_LEVELS = 30
"""Levels of a category that count, the most frequent ones."""

_CLIP = 6.0
_USUAL = 0.95
_LAYOUT = Layout(width=250, height=212, left=6, right=6, top=42, bottom=6)
_REAL_MARK: dict[str, Any] = {
    "marker": "o",
    "color": REAL,
    "markersize": 4.6,
    "markeredgewidth": 0,
    "linestyle": "none",
}
_SYNTHETIC_MARK: dict[str, Any] = {
    "marker": "D",
    "color": SYNTHETIC,
    "markersize": 3.6,
    "markerfacecolor": "none",
    "markeredgewidth": 1.1,
    "linestyle": "none",
}


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Where rows lie in two directions."""

    real: FloatArray
    synthetic: FloatArray
    """Shape (n_rows, 2)."""

    share: float
    """Share of the real rows' spread that the two directions hold."""


def plane_of(real: Table, synthetic: Table) -> Plane | None:
    """Return rows in the plane in which the real ones spread most; None for a line."""
    scale = NumberScale.of(real.numeric)
    levels = _common_levels(real)
    points = [_encoded(table, scale, levels) for table in (real, synthetic)]
    if points[0].shape[1] < 2 or len(real) < 3:
        return None
    chosen = _evenly(np.arange(len(real)), MAX_FIT_ROWS)
    center = points[0][chosen].mean(axis=0)
    _, spread, axes = np.linalg.svd(points[0][chosen] - center, full_matrices=False)
    if len(spread) < 2 or spread[1] < 1e-6 * max(spread[0], 1e-9):
        return None
    axes = axes[:2]
    # A direction has no sign of its own: its largest part points to the right.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[[0, 1], largest])[:, None]
    flat = [(part - center) @ axes.T for part in points]
    share = float((spread[:2] ** 2).sum() / (spread**2).sum())
    return Plane(flat[0], flat[1], share)


def map_block(result: AugmentResult, near: Closeness) -> Figure | Text:
    """Draw where the rows lie, one panel per class or target bin."""
    plane = plane_of(result.real, result.delivered.rows)
    if plane is None:
        return Text(
            ("The features span no plane, so there is no map: see the columns.",)
        )
    drawn = _panels(result, plane)
    marks: list[tuple[str, dict[str, Any]]] = [("real", _REAL_MARK)]
    if len(result.delivered):
        marks.append(("synthetic", _SYNTHETIC_MARK))
    marks.append(("real, of other targets", _background()))
    title = _title(near, plane)
    return Figure(
        title=title,
        svg=stacked(key(marks, name="map key"), panels(drawn)),
        alt=(
            f"Maps of {count(len(result.real))} real and "
            f"{count(len(result.delivered))} synthetic rows, one per target. {title}."
        ),
        caption=_caption(result, plane, near),
    )


def usual_share(near: Closeness) -> float:
    """Return how many synthetic rows are no farther off than most real rows are."""
    return float((near.distance <= np.quantile(near.baseline, _USUAL)).mean())


def _title(near: Closeness, plane: Plane) -> str:
    if not len(near.distance):
        shown = percent(plane.share)
        return f"Two directions hold {shown} of what tells the real rows apart"
    share = usual_share(near)
    if share >= 0.9:
        return "The new rows lie among the real ones"
    if share >= 0.5:
        outside = percent(1 - share)
        return f"Most new rows lie among the real ones, {outside} lie farther out"
    return "Most new rows lie farther out than real ones do"


def _caption(result: AugmentResult, plane: Plane, near: Closeness) -> str:
    parts = ["Each panel shows the plane in which the real rows spread most."]
    if plane.share < 0.999:
        parts.append(
            f"It holds {percent(plane.share)} of their spread: rows that seem close "
            "may differ in what is not shown."
        )
    if len(near.distance):
        parts.append(
            f"Counting all columns, {percent(usual_share(near))} of the new rows are "
            f"no farther from a real row than {percent(_USUAL)} of the real rows are "
            "from each other."
        )
    n_left = len(_conditions(result)) - len(_shown(result))
    if n_left:
        parts.append(f"{count(n_left)} more targets are not shown.")
    if len(result.real) > MAX_POINTS or len(result.delivered) > MAX_POINTS:
        parts.append(f"A panel shows at most {MAX_POINTS} rows of a sort.")
    return " ".join(parts)


def _panels(result: AugmentResult, plane: Plane) -> list[str]:
    names = condition_names(result.real.schema)
    limits = _limits(plane)
    target = result.real.schema.target
    is_range = target is not None and target.task == "regression"
    prefix = f"{target.column.name} " if target is not None and is_range else ""
    drawn = []
    for number in _shown(result):
        own = result.real.condition == number
        new = result.delivered.rows.condition == number
        remark = f"{count(int(own.sum()))} real"
        if len(new):
            remark += f", {count(int(new.sum()))} synthetic"
        title = name(f"{prefix}{names[number]}")
        svg = draw(
            _painter(plane, (own, new), limits, (title, remark)),
            name=f"map {number}",
            title=f"{title}: {remark}",
            layout=_LAYOUT,
        )
        drawn.append(svg)
    return drawn


def _painter(
    plane: Plane,
    chosen: tuple[BoolArray, BoolArray],
    limits: FloatArray,
    texts: tuple[str, str],
) -> Any:  # noqa: ANN401 - a function
    own, new = chosen

    def paint(axes: Axes) -> None:
        axes.set(xlim=limits[:, 0], ylim=limits[:, 1], xticks=[], yticks=[])
        for side in ("left", "right", "top", "bottom"):
            axes.spines[side].set_visible(True)
        others = _evenly(np.flatnonzero(~own), MAX_BACKGROUND)
        axes.plot(*plane.real[others].T, **_background())
        made = _evenly(np.flatnonzero(new), MAX_POINTS)
        axes.plot(*plane.synthetic[made].T, **_SYNTHETIC_MARK)
        given = _evenly(np.flatnonzero(own), MAX_POINTS)
        axes.plot(*plane.real[given].T, **_REAL_MARK)
        label(axes, texts, _LAYOUT)

    return paint


def _background() -> dict[str, Any]:
    return {**_REAL_MARK, "color": MUTED, "markersize": 2.4, "alpha": 0.55}


def _limits(plane: Plane) -> FloatArray:
    """Return the corners of all panels, with room for the marks."""
    points = np.concatenate([plane.real, plane.synthetic])
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.maximum(0.06 * (high - low), 1e-9)
    return np.array([low - room, high + room])


def _conditions(result: AugmentResult) -> IntArray:
    both = [result.real.condition, result.delivered.rows.condition]
    return np.unique(np.concatenate(both))


def _shown(result: AugmentResult) -> list[int]:
    """Return the targets to show: those with most new rows, in their own order."""
    everyone = _conditions(result)
    new = result.delivered.rows.condition
    sizes = [
        (int((new == k).sum()), int((result.real.condition == k).sum()))
        for k in everyone
    ]
    order = sorted(range(len(everyone)), key=lambda i: sizes[i], reverse=True)
    return sorted(int(everyone[i]) for i in order[:MAX_PANELS])


def _evenly(rows: IntArray, most: int) -> IntArray:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def _common_levels(real: Table) -> list[tuple[IntArray, float]]:
    """Return each category's frequent levels and the spread of all of them."""
    found = []
    for codes in real.categorical.T:
        levels, counts = np.unique(codes, return_counts=True)
        shares = counts / len(codes)
        kept = np.argsort(-counts, kind="stable")[:MAX_LEVELS]
        found.append((levels[kept], float((shares * (1 - shares)).sum())))
    return found


def _encoded(
    table: Table, scale: NumberScale, levels: list[tuple[IntArray, float]]
) -> FloatArray:
    numbers = np.nan_to_num(scale.standardise(table.numeric), nan=0.0)
    parts = [np.clip(numbers, -_CLIP, _CLIP)]
    for codes, (kept, spread) in zip(table.categorical.T, levels, strict=True):
        if spread > 0:
            parts.append((codes[:, None] == kept) / np.sqrt(spread))
    return np.hstack(parts)
