"""The section on how like the real rows the synthetic ones are, in figures.

Every figure stands beside that of real rows drawn again, with the same mix of targets:
without a scale, nobody knows whether 0.1 is much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabtap.fidelity import (
    drawn_again,
    measure_closeness,
    shape_error,
    telling_apart,
    trend_error,
)
from tabtap.report.blocks import Section, TableBlock
from tabtap.report.column_panels import column_remark
from tabtap.report.column_shapes import N_DRAWS, ColumnChanges, column_changes
from tabtap.report.values import column_values
from tabtap.report.wording import count, percent
from tabtap.result import AugmentResult
from tabtap.rng import stream

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
