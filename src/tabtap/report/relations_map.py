"""How columns go together before and after the synthetic rows were added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tabtap.fidelity import associations, drawn_again
from tabtap.report.blocks import Block, Figure, TableBlock
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
    stacked,
)
from tabtap.report.values import column_title, column_values
from tabtap.report.wording import MINUS, count
from tabtap.result import AugmentResult
from tabtap.rng import stream
from tabtap.table.schema import FloatArray
from tabtap.table.table import concat

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
    title = _title(relations, has_new=has_new)
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
        caption=_caption(relations, len(chosen), has_new=has_new),
    )


def _marks(*, has_new: bool) -> list[tuple[str, dict[str, Any]]]:
    marks: list[tuple[str, dict[str, Any]]] = []
    for text, colour in (("real rows", REAL), ("with the new rows", SYNTHETIC)):
        if has_new or colour == REAL:
            marks.append((text, {"bar": True, "color": colour, "linewidth": 0}))
    hollow = {"bar": True, "facecolor": "none", "edgecolor": INK, "linewidth": 1.4}
    marks.append(("hollow: opposed", hollow))
    return marks


def _title(relations: Relations, *, has_new: bool) -> str:
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


def _caption(relations: Relations, n_shown: int, *, has_new: bool) -> str:
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
