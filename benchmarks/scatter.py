"""A scatter plot as SVG text: estimates against the truth, with their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

SIZE, MARGIN = 360, 52
COLORS = {True: "#1b7837", False: "#999999"}
"""Committed and refused."""


class Point(NamedTuple):
    """One check."""

    truth: float
    estimate: float
    lower: float
    committed: bool


class Panel(NamedTuple):
    """One plot beside others."""

    title: str
    unit: str
    points: Sequence[Point]


def scatter_svg(panels: Sequence[Panel]) -> str:
    """Draw panels side by side.

    Each check is a dot at (truth, estimate) with a line down to its bound; where the
    line ends above the diagonal, the bound was broken.  Bounds that would leave the
    plot are cut at its edge.
    """
    width, height = SIZE * len(panels), SIZE + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, panel in enumerate(panels):
        parts.append(f'<g transform="translate({place * SIZE},0)">')
        parts += [*_panel(panel), "</g>"]
    legend = (
        f'<text x="{MARGIN}" y="{height - 6}">green: committed; grey: refused; '
        "the line down is the bound; dashed: estimate = truth</text>"
    )
    return "\n".join([*parts, legend, "</svg>"]) + "\n"


def limits_of(points: Sequence[Point]) -> tuple[float, float]:
    """Return ends of both axes: all but the farthest hundredth of the dots, and 0."""
    values = [v for p in points for v in (p.truth, p.estimate) if np.isfinite(v)]
    if not values:
        return -1.0, 1.0
    low, high = np.quantile(values, (0.01, 0.99))
    room = 0.08 * max(high - low, 1e-3)
    return float(min(low, 0) - room), float(max(high, 0) + room)


def _panel(panel: Panel) -> list[str]:
    low, high = limits_of(panel.points)
    start, end = MARGIN, SIZE - 14

    def across(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return f"{start + share * (end - start):.1f}"

    def up(value: float) -> str:
        share = (min(max(value, low), high) - low) / (high - low)
        return f"{end - share * (end - start):.1f}"

    grey = 'stroke="#cccccc"'
    drawn = [
        f'<text x="{start}" y="20" font-weight="bold">{escape(panel.title)}</text>',
        f'<rect x="{start}" y="{start}" width="{end - start}" height="{end - start}" '
        f'fill="none" {grey}/>',
        f'<line x1="{across(0)}" x2="{across(0)}" y1="{start}" y2="{end}" {grey}/>',
        f'<line y1="{up(0)}" y2="{up(0)}" x1="{start}" x2="{end}" {grey}/>',
        f'<line x1="{across(low)}" y1="{up(low)}" x2="{across(high)}" y2="{up(high)}" '
        'stroke="black" stroke-dasharray="4 3"/>',
    ]
    for value in (low, 0.0, high):
        drawn.append(
            f'<text x="{across(value)}" y="{end + 13}" text-anchor="middle">'
            f"{value:.2f}</text>"
        )
        drawn.append(
            f'<text x="{start - 4}" y="{up(value)}" text-anchor="end">'
            f"{value:.2f}</text>"
        )
    drawn.append(f'<text x="{start}" y="36">estimate (up) against {panel.unit}</text>')
    for point in panel.points:
        if np.isfinite(point.estimate):
            color, x = COLORS[point.committed], across(point.truth)
            drawn.append(
                f'<path d="M{x} {up(point.estimate)}V{up(point.lower)}" '
                f'stroke="{color}" opacity="0.4"/>'
                f'<circle cx="{x}" cy="{up(point.estimate)}" r="2.2" fill="{color}"/>'
            )
    return drawn
