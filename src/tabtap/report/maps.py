"""The section on where the rows lie: a map, the columns, and how they go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tabtap.fidelity import Closeness, associations, drawn_again, measure_closeness
from tabtap.report.blocks import Block, Figure, Section, TableBlock, Text
from tabtap.report.columns import column_changes, shapes_block
from tabtap.report.drawing import (
    FONT_SIZE,
    GRID,
    INK,
    MUTED,
    REAL,
    SYNTHETIC,
    Layout,
    clean,
    draw,
    key,
    label,
    panels,
    stacked,
)
from tabtap.report.words import column_title, column_values, short_name
from tabtap.result import AugmentResult
from tabtap.result.frames import condition_names
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NumberScale, Table, concat
from tabtap.wording import MINUS, count, percent


def where_section(result: AugmentResult) -> Section:
    """Show where real and synthetic rows lie.

    Parameters
    ----------
    result : AugmentResult
        Any run.  Without synthetic rows the section is about the real ones.
    """
    near = measure_closeness(result.real, result.delivered.rows)
    blocks: list[Block] = [map_block(result, near)]
    order = _columns(result)
    has_new = len(result.delivered) > 0
    if has_new and order:
        changes = column_changes(result)
        blocks.append(shapes_block(result, changes))
        order = changes.order
    relations = measure_relations(result, order)
    blocks.extend(relation_blocks(relations, has_new=has_new))
    lead = (
        "Synthetic rows should lie where real ones could: in the same region, with the "
        "same shapes of columns, and with columns that go together in the same way."
        if has_new
        else "No rows were added, so this is how the real rows lie."
    )
    return Section("rows", "Where the rows lie", lead, tuple(blocks))


def _columns(result: AugmentResult) -> list[int]:
    """Return the places of the generated columns, the target last."""
    schema = result.real.schema
    places = np.sort(np.concatenate([schema.numeric, schema.categorical]))
    target = [] if schema.target is None else [-1]
    return [*(int(place) for place in places), *target]


# ---- Real and synthetic rows as points in a plane, class by class.
#
# The plane is spanned by the two directions in which the real rows spread most.  Every
# column counts the same: a number in standard deviations, a category as its levels.


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
    title = _rows_title(near, plane)
    return Figure(
        title=title,
        svg=stacked(key(marks, name="map key"), panels(drawn)),
        alt=(
            f"Maps of {count(len(result.real))} real and "
            f"{count(len(result.delivered))} synthetic rows, one per target. {title}."
        ),
        caption=_rows_caption(result, plane, near),
    )


def usual_share(near: Closeness) -> float:
    """Return how many synthetic rows are no farther off than most real rows are."""
    return float((near.distance <= np.quantile(near.baseline, _USUAL)).mean())


def _rows_title(near: Closeness, plane: Plane) -> str:
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


def _rows_caption(result: AugmentResult, plane: Plane, near: Closeness) -> str:
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
        title = short_name(f"{prefix}{names[number]}")
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


# ---- How columns go together before and after the synthetic rows were added.


MAX_MEASURED = 120
"""Columns whose relations are measured: pairs grow with the square."""

MAX_SHOWN = 12
MAX_LISTED = 6
N_DRAWS = 4
"""Times that real rows are drawn again, to learn what chance changes."""

_CELL = 26
_NAME_WIDTH = 15


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """Relations of some columns, and how far they moved."""

    names: tuple[str, ...]

    before: FloatArray
    after: FloatArray
    """Shape (n_columns, n_columns): as ``fidelity.associations``."""

    chance: float
    """Largest change when real rows are drawn again and added; NaN if not asked."""

    n_left: int
    """Columns that were not measured."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of columns, the relation that changed most first.

        Without synthetic rows nothing changed, and the strongest one comes first.
        """
        change = np.abs(self.after - self.before)
        size = change if change.any() else np.abs(self.before)
        upper = np.triu_indices(len(self.names), k=1)
        order = np.argsort(-size[upper], kind="stable")
        return [(int(upper[0][k]), int(upper[1][k])) for k in order]


def measure_relations(result: AugmentResult, order: Sequence[int]) -> Relations:
    """Measure relations in the real rows, and in all rows.

    Parameters
    ----------
    result : AugmentResult
        The run.
    order : sequence of int
        Columns, those to measure first; -1 is the target.
    """
    real, new = result.real, result.delivered.rows
    chosen = sorted(order[:MAX_MEASURED], key=lambda place: (place < 0, place))
    names = [column_values(real.empty(), real.empty(), i).name for i in chosen]
    before = associations(real, chosen)
    after, chance = before, float("nan")
    if len(new):
        after = associations(concat([real, new]), chosen)
        rng = stream(result.about.seed, "report", "relations")
        draws = [drawn_again(real, new.condition, rng) for _ in range(N_DRAWS)]
        changed = [associations(concat([real, draw]), chosen) for draw in draws]
        chance = float(np.abs(np.array(changed) - before).max(initial=0.0))
    return Relations(tuple(names), before, after, chance, len(order) - len(chosen))


def relation_blocks(relations: Relations, *, has_new: bool) -> tuple[Block, ...]:
    """Draw the relations and list those that changed most; nothing for one column."""
    pairs = relations.pairs
    if not pairs:
        return ()
    figure = _figure(relations, has_new=has_new)
    if not has_new:
        return (figure,)
    rows = [
        (
            " and ".join(clean(relations.names[k], 40) for k in (i, j)),
            _signed(relations.before[i, j]),
            _signed(relations.after[i, j]),
            _signed(relations.after[i, j] - relations.before[i, j]),
        )
        for i, j in pairs[:MAX_LISTED]
    ]
    table = TableBlock(
        title="Relations that changed most",
        header=("Columns", "Real rows", "With the new rows", "Change"),
        rows=tuple(rows),
        caption=(
            "1 or \u22121: one column tells the other exactly; 0: they are unrelated. "
            "When as many real rows are drawn again and added instead, "
            f"{N_DRAWS} times, the largest change is {relations.chance:.2f}."
        ),
        align_right=frozenset({1, 2, 3}),
    )
    return figure, table


def _figure(relations: Relations, *, has_new: bool) -> Figure:
    chosen = _chosen(relations.pairs)
    title = _relations_title(relations, has_new=has_new)
    side = len(chosen) * _CELL
    longest = max(len(clean(relations.names[k], _NAME_WIDTH)) for k in chosen)
    room = 12 + round(6.4 * longest)
    layout = Layout(
        width=side + room + 8,
        height=side + room + 8,
        left=room,
        right=8,
        top=room,
        bottom=8,
    )
    svg = draw(
        lambda axes: _paint(axes, relations, chosen, has_new=has_new),
        name="relations",
        title=title,
        layout=layout,
    )
    marks = _marks(has_new=has_new)
    return Figure(
        title=title,
        svg=stacked(key(marks, name="relations key"), svg),
        alt=f"Strength of the relation of each two of {len(chosen)} columns. {title}.",
        caption=_relations_caption(relations, len(chosen), has_new=has_new),
    )


def _marks(*, has_new: bool) -> list[tuple[str, dict[str, Any]]]:
    marks: list[tuple[str, dict[str, Any]]] = []
    for text, colour in (("real rows", REAL), ("with the new rows", SYNTHETIC)):
        if has_new or colour == REAL:
            marks.append((text, {"bar": True, "color": colour, "linewidth": 0}))
    hollow = {"bar": True, "facecolor": "none", "edgecolor": INK, "linewidth": 1.4}
    marks.append(("hollow: one rises as the other falls", hollow))
    return marks


def _relations_title(relations: Relations, *, has_new: bool) -> str:
    i, j = relations.pairs[0]
    first, second = (column_title(relations.names[k]) for k in (i, j))
    before, after = relations.before[i, j], relations.after[i, j]
    if not has_new and abs(before) < 0.005:
        return "No two columns go together"
    if not has_new:
        return f"{first} and {second} go together most, at {_signed(before)}"
    if np.abs(relations.after - relations.before).max() <= relations.chance:
        return "No relation between columns changed more than chance would change it"
    said = f"{first} and {second} changed most, from {_signed(before)} to "
    return said + _signed(after)


def _relations_caption(relations: Relations, n_shown: int, *, has_new: bool) -> str:
    said = "The larger a square, the stronger two columns go together."
    if has_new:
        said = (
            "Above the diagonal: real rows alone; below: with the new rows. A picture "
            f"that mirrors itself means that nothing changed. {said}"
        )
    n_left = len(relations.names) - n_shown + relations.n_left
    if n_left:
        said += f" {count(n_left)} more columns are not shown."
    if relations.n_left:
        said += f" Relations of {count(relations.n_left)} columns were not measured."
    return said


def _chosen(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the columns of the first pairs, in the order of the table."""
    found: set[int] = set()
    for pair in pairs:
        if len(found | set(pair)) > MAX_SHOWN:
            break
        found |= set(pair)
    return sorted(found)


def _paint(
    axes: Axes, relations: Relations, chosen: list[int], *, has_new: bool
) -> None:
    size = len(chosen)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
    names = [clean(relations.names[k], _NAME_WIDTH) for k in chosen]
    axes.set_xticks(range(size), names, rotation=90)
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0, labelsize=FONT_SIZE - 1, top=True, bottom=False)
    axes.tick_params(labeltop=True, labelbottom=False)
    axes.spines["bottom"].set_visible(False)
    for edge in np.arange(size + 1) - 0.5:
        axes.axhline(edge, color=GRID, linewidth=0.6)
        axes.axvline(edge, color=GRID, linewidth=0.6)
    for row, i in enumerate(chosen):
        for column, j in enumerate(chosen):
            if column > row:
                _square(axes, (column, row), relations.before[i, j], REAL)
            elif column < row and has_new:
                _square(axes, (column, row), relations.after[i, j], SYNTHETIC)
        axes.plot(row, row, "o", color=MUTED, markersize=2, markeredgewidth=0)


def _square(axes: Axes, center: tuple[int, int], value: float, colour: str) -> None:
    side = 0.86 * np.sqrt(abs(value))
    if side < 0.08:  # too small to be seen
        return
    corner = (center[0] - side / 2, center[1] - side / 2)
    fill = {"facecolor": colour, "linewidth": 0}
    if value < 0:
        fill = {"facecolor": "none", "edgecolor": colour, "linewidth": 1.4}
    axes.add_patch(Rectangle(corner, side, side, **fill))  # type: ignore[arg-type]


def _signed(value: float) -> str:
    text = f"{value:.2f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", MINUS)
