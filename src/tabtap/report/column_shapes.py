"""Each column's distribution in real and in synthetic rows, those that moved first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.fidelity import drawn_again, shape_errors
from tabtap.report.blocks import Figure
from tabtap.report.column_panels import column_key, column_panel
from tabtap.report.drawing import panels, stacked
from tabtap.report.values import column_title, column_values
from tabtap.report.wording import count, listed
from tabtap.result import AugmentResult
from tabtap.rng import stream
from tabtap.table.schema import FloatArray

MAX_PANELS = 12
N_DRAWS = 20
"""Times that real rows are drawn again, to learn how far chance moves a column."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnChanges:
    """How far every column moved, and how far chance would move it."""

    errors: FloatArray
    """Shape (n_features + 1,): as ``fidelity.shape_errors``."""

    chance: FloatArray
    """Shape (n_features + 1,): the largest of ``N_DRAWS`` draws of real rows."""

    @property
    def order(self) -> list[int]:
        """Places of the columns, the one that moved most first; the target is -1."""
        places = np.flatnonzero(~np.isnan(self.errors))
        ranked = places[np.argsort(-self.errors[places], kind="stable")]
        last = len(self.errors) - 1
        return [-1 if place == last else int(place) for place in ranked]

    @property
    def moved(self) -> list[int]:
        """Those of them that moved farther than chance did in any draw."""
        return [i for i in self.order if self.errors[i] > self.chance[i] + 1e-12]


def column_changes(result: AugmentResult) -> ColumnChanges:
    """Measure how far the columns of the synthetic rows moved."""
    real, new = result.real, result.delivered.rows
    rng = stream(result.about.seed, "report", "columns")
    draws = [
        shape_errors(real, drawn_again(real, new.condition, rng))
        for _ in range(N_DRAWS)
    ]
    return ColumnChanges(shape_errors(real, new), np.max(draws, axis=0))


def shapes_block(result: AugmentResult, changes: ColumnChanges) -> Figure:
    """Draw the columns that moved most."""
    columns = [
        column_values(result.real, result.delivered.rows, place)
        for place in changes.order[:MAX_PANELS]
    ]
    title = _title(result, changes)
    drawn = [
        column_panel(column, name=f"column {number}")
        for number, column in enumerate(columns)
    ]
    names = listed([column.name for column in columns])
    return Figure(
        title=title,
        svg=stacked(column_key("columns key"), panels(drawn)),
        alt=f"Distributions of {names} in real and in synthetic rows. {title}.",
        caption=_caption(changes),
    )


def _title(result: AugmentResult, changes: ColumnChanges) -> str:
    n_all, moved = len(changes.order), changes.moved
    if not moved:
        return "No column moved farther than chance would move it"
    names = [
        column_title(column_values(result.real, result.delivered.rows, place).name)
        for place in moved[:3]
    ]
    if len(moved) <= 3:
        them = "it" if len(moved) == 1 else "them"
        return f"{listed(names)} moved farther than chance would move {them}"
    return (
        f"{count(len(moved))} of {count(n_all)} columns moved farther than chance "
        f"would move them, most of all {listed(names)}"
    )


def _caption(changes: ColumnChanges) -> str:
    said = (
        "Shares of the rows; the columns that moved most come first. What chance does "
        f"was seen by drawing real rows again {N_DRAWS} times, with the same mix of "
        "targets."
    )
    n_left = len(changes.order) - MAX_PANELS
    if n_left > 0:
        said += f" {count(n_left)} more columns moved less and are not shown."
    return said
