"""The sections on how like the real rows the synthetic ones are, and how near.

Every figure stands beside that of real rows drawn again, with the same mix of targets:
without a scale, nobody knows whether 0.1 is much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from tabtap.fidelity import (
    LOW_SHARE,
    Closeness,
    drawn_again,
    measure_closeness,
    shape_error,
    telling_apart,
    trend_error,
)
from tabtap.report.blocks import Figure, Section, TableBlock, Text
from tabtap.report.columns import N_DRAWS, ColumnChanges, column_changes, column_remark
from tabtap.report.drawing import (
    FONT_SIZE,
    INK,
    MUTED,
    REAL,
    SYNTHETIC,
    Layout,
    draw,
    key,
    stacked,
)
from tabtap.report.words import column_values
from tabtap.result import AugmentResult
from tabtap.rng import stream
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.wording import count, percent

MAX_LISTED = 10
_TITLE = "How like the real rows they are"


def fidelity_section(result: AugmentResult) -> Section:
    """List how far synthetic rows are from real ones, overall and by column.

    Parameters
    ----------
    result : AugmentResult
        Any run.  Without synthetic rows the section has no blocks.
    """
    if not len(result.delivered):
        said = "There are no synthetic rows to be compared with the real ones."
        return Section("fidelity", _TITLE, said)
    changes = column_changes(result)
    blocks = [_overall(result)]
    if changes.order:
        blocks.append(_by_column(result, changes))
    return Section(
        "fidelity",
        _TITLE,
        "Likeness was not asked for: rows were added because they help, and rows that "
        "help may well differ. It is shown so that surprises do not stay hidden.",
        tuple(blocks),
    )


def _overall(result: AugmentResult) -> TableBlock:
    real, new = result.real, result.delivered.rows
    seed = result.about.seed
    again = drawn_again(real, new.condition, stream(seed, "report", "likeness"))
    near = measure_closeness(real, new)
    figures = [
        (
            "Shape error",
            *(f"{shape_error(real, rows):.3f}" for rows in (new, again)),
            "Distributions of columns; 0 is alike.",
        ),
        (
            "Trend error",
            *(f"{trend_error(real, rows):.3f}" for rows in (new, again)),
            "Relations of columns; 0 is alike.",
        ),
        (
            "Told from real rows",
            *(_telling(telling_apart(real, rows, seed=seed)) for rows in (new, again)),
            "By a forest; 0.5 is chance, 1 is always.",
        ),
        (
            "Exact copies",
            percent(float(near.exact.mean())),
            percent(1.0),
            "All features are those of a real row.",
        ),
        (
            "Nearly copies",
            percent(float(near.near.mean())),
            percent(1.0),
            "Within a tenth of the usual distance.",
        ),
    ]
    return TableBlock(
        title=_overall_title(figures),
        header=("Measure", "Synthetic rows", "Real rows drawn again", "Meaning"),
        rows=tuple(figures),
        caption=(
            "Real rows drawn again are as many real rows, drawn with the same mix of "
            "targets: what a generator without any fault would score, copies apart. "
            "The forest's figure is the area under its curve for rows held out."
        ),
        align_right=frozenset({1, 2}),
    )


def _overall_title(figures: Sequence[tuple[str, ...]]) -> str:
    told = figures[2][1]
    if told == "too few rows":
        return "Likeness, beside real rows drawn again"
    if float(told) < 0.6:
        return "A learner can hardly tell the synthetic rows from real ones"
    if float(told) < 0.8:
        return "A learner can often tell the synthetic rows from real ones"
    return "A learner can mostly tell the synthetic rows from real ones"


def _telling(area: float) -> str:
    return "too few rows" if np.isnan(area) else f"{area:.2f}"


def _by_column(result: AugmentResult, changes: ColumnChanges) -> TableBlock:
    rows = []
    for place in changes.order[:MAX_LISTED]:
        column = column_values(result.real, result.delivered.rows, place)
        rows.append(
            (
                f"{column.name} (target)" if place < 0 else column.name,
                f"{changes.errors[place]:.2f}",
                f"{changes.chance[place]:.2f}",
                column_remark(column),
            )
        )
    n_left = len(changes.order) - len(rows)
    more = f" {count(n_left)} more columns moved less." if n_left else ""
    return TableBlock(
        title="Columns that moved most",
        header=("Column", "Shape error", "By chance up to", "Real → synthetic"),
        rows=tuple(rows),
        caption=(
            "Kolmogorov-Smirnov distance of numbers, total variation of categories. "
            f"By chance: the largest of {N_DRAWS} draws of real rows with the same mix "
            f"of targets.{more}"
        ),
        align_right=frozenset({1, 2}),
    )


# ---- The section on how close synthetic rows come to real ones.


_N_BINS = 18
_SOME = 0.2
_LAYOUT = Layout(width=400, height=200, left=10, right=14, top=22, bottom=44)
_FILLED: dict[str, Any] = {"color": REAL, "alpha": 0.38, "linewidth": 0}
_OUTLINE: dict[str, Any] = {"color": SYNTHETIC, "linewidth": 1.8}
_PRIVACY = (
    "tabtap is not a privacy tool. A synthetic row descends from a real one and keeps "
    "cells of it; rows that are far from all others can be recognised, and distance "
    "proves nothing about what can be learned of a person. Treat the augmented table "
    "with the same care as the real one."
)


def closeness_section(result: AugmentResult) -> Section:
    """Show how close synthetic rows come to real ones, beside real rows themselves.

    Parameters
    ----------
    result : AugmentResult
        Any run.  Without synthetic rows, or with a single real one, there is nothing
        to compare, and the section says so.
    """
    near = measure_closeness(result.real, result.delivered.rows)
    title = "Closeness to real rows"
    if not len(near.distance) or not np.isfinite(near.threshold):
        said = "There are no synthetic rows that could be close to a real one."
        if len(near.distance):
            said = "One real row has no neighbour that others could be compared with."
        return Section("closeness", title, said, (Text((_PRIVACY,)),))
    return Section(
        "closeness",
        title,
        "Rows that repeat real ones teach a learner little and give away whom they "
        "were made of. So each synthetic row's distance from the closest real row is "
        "compared with that of real rows from each other.",
        (_figure(near), _table(result, near), _given_away(result), Text((_PRIVACY,))),
    )


def _given_away(result: AugmentResult) -> TableBlock:
    """Return what new rows give away of single real rows."""
    known = result.privacy
    if known is None:  # the section says so
        raise AssertionError
    of = f"of {count(known.n_cells)}"
    members = "not known: no generator was kept from any row, or none is on record"
    if known.membership is not None:
        members = (
            f"{percent(known.membership.value)} \u00b1 "
            f"{percent(known.membership.margin)}"
        )
    title = "Cells, pointers and members: what new rows give away of single real ones"
    if known.carries_cells:
        title = (
            f"A new row carries up to {count(known.cells_most)} {of} cells of one real "
            "row unchanged"
        )
    return TableBlock(
        title=title,
        header=("Figure", "Synthetic rows", "Real rows", "Meaning"),
        rows=(
            (
                "Cells of one real row, on average",
                f"{known.cells_mean:.1f} {of}",
                f"{known.real_cells_mean:.1f} {of}",
                "Values equal to those of the real row that shares most of them.",
            ),
            (
                "Cells of one real row, at most",
                f"{known.cells_most} {of}",
                f"{known.real_cells_most} {of}",
                "The same, of the row that carries most.",
            ),
            (
                "Distance ratio, middle",
                f"{known.distance_ratio:.2f}",
                f"{known.real_distance_ratio:.2f}",
                "Closest real row over the next: 1 points at nobody, 0 at one row.",
            ),
            (
                "Membership told",
                members,
                percent(0.5),
                "How often nearness tells which of two generators had seen a real row, "
                "where only one had. 50\u202f% is guessing.",
            ),
        ),
        caption=(
            "Real rows: what each has in common with another real row. For membership, "
            "the rows that a generator was kept from are held against those it learned "
            "from; \u00b1 is a 90\u202f% interval."
        ),
        align_right=frozenset({1, 2}),
    )


def _title(near: Closeness) -> str:
    copied = float(near.exact.mean())
    if copied > LOW_SHARE:
        doubles = percent(float((near.baseline == 0).mean()))
        return (
            f"{percent(copied)} of the new rows repeat a real row; of the real rows, "
            f"{doubles} repeat another"
        )
    share = float(near.nearer.mean())
    if share <= LOW_SHARE:
        return "New rows keep as much distance from real rows as real rows do"
    known = percent(share)
    if share <= _SOME:
        return f"A few new rows come closer to real rows than usual: {known} of them"
    return f"Many new rows come closer to real rows than usual: {known} of them"


def _figure(near: Closeness) -> Figure:
    title = _title(near)
    far = np.concatenate([near.distance, near.baseline]).max()
    edges = np.linspace(0, far or 1.0, _N_BINS + 1)

    def paint(axes: Axes) -> None:
        for values, style in (
            (near.baseline, {**_FILLED, "fill": True}),
            (near.distance, _OUTLINE),
        ):
            axes.stairs(np.histogram(values, edges)[0] / len(values), edges, **style)
        axes.set(xlim=(0, edges[-1]), yticks=[])
        axes.set_ylim(bottom=0)
        axes.axvline(near.threshold, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(
            f"{percent(LOW_SHARE)} of real rows are nearer",
            (near.threshold, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, 6),
            textcoords="offset points",
            color=MUTED,
            size=FONT_SIZE - 1,
        )
        axes.set_xlabel("distance to the closest real row", size=FONT_SIZE - 1)

    marks = [("real rows", {**_FILLED, "bar": True}), ("synthetic rows", _OUTLINE)]
    svg = draw(paint, name="closeness", title=title, layout=_LAYOUT)
    return Figure(
        title=title,
        svg=stacked(key(marks, name="closeness key"), svg),
        alt=(
            "Distances to the closest real row: of synthetic rows "
            f"{np.median(near.distance):.2f} in the middle, of real rows to others "
            f"{np.median(near.baseline):.2f}. {title}."
        ),
        caption=(
            "Share of the rows at each distance. A distance of 1 is one standard "
            "deviation in every number and another level in every category."
        ),
    )


def _table(result: AugmentResult, near: Closeness) -> TableBlock:
    doubles = near.baseline == 0
    low = f"Nearer than {percent(LOW_SHARE)} of real rows are"
    return TableBlock(
        title="Distances and copies",
        header=("", "Synthetic to real", "Real to other real"),
        rows=(
            ("Half are nearer than", *_middles(near.distance, near.baseline)),
            (low, _share(near.nearer), _share(near.baseline < near.threshold)),
            ("Nearly copies", _share(near.near), _share(_near_baseline(near))),
            ("Exact copies", _share(near.exact), _share(doubles)),
        ),
        caption=(
            f"Of {count(len(result.delivered))} synthetic rows. Nearly a copy is "
            "nearer than a tenth of the usual distance between real rows. Targets are "
            "not compared: a copied row with another target is a copy."
        ),
        align_right=frozenset({1, 2}),
    )


def _near_baseline(near: Closeness) -> BoolArray:
    return Closeness(near.baseline, near.row, near.baseline, near.baseline == 0).near


def _middles(*parts: FloatArray) -> tuple[str, ...]:
    return tuple(f"{np.median(part):.2f}" for part in parts)


def _share(claims: BoolArray) -> str:
    return f"{percent(float(claims.mean()))} ({count(int(claims.sum()))})"
