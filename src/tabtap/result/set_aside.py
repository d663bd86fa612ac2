"""Rows that came without a label: not learned, kept as given, and put back in place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.table.frame import write_as_given
from tabtap.table.schema import IntArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetAside:
    """The rows of the table given that have no label."""

    rows: Table
    """As they were given, the target among the features; those that were not forgotten
    since.  Their ``origin`` is their place in the table given."""

    position: int
    """Place of the target among the columns of ``rows``."""

    places: IntArray
    """Places of all of them in the table given, forgotten or not, ascending."""

    groups: NDArray[Any] | None = None
    """Who each of ``rows`` belongs to, where real rows have groups."""

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, places: NDArray[Any]) -> SetAside:
        """Return those that are not at some places of the table given."""
        stays = ~np.isin(self.rows.origin, places)
        groups = None if self.groups is None else self.groups[stays]
        return replace(self, rows=self.rows.take(stays), groups=groups)


def in_order(real: IntArray, aside: SetAside | None) -> IntArray:
    """Return the order that puts real rows, then those set aside, where they stood."""
    if aside is None:
        return np.arange(len(real), dtype=np.int64)
    places = np.concatenate([real, aside.rows.origin])
    return np.argsort(places, kind="stable").astype(np.int64)


def learned_places(real: IntArray, aside: SetAside | None) -> IntArray:
    """Return places in the table given as places among the rows that were learned.

    Scores of rows are in the order of these.
    """
    return real if aside is None else real - np.searchsorted(aside.places, real)


def put_back(
    written: tuple[Any, Any], real: IntArray, aside: SetAside
) -> tuple[Any, Any]:
    """Return X and y of real and new rows with those set aside in their place."""
    n_real, n_new = len(real), len(written[1]) - len(real)
    given = in_order(real, aside)
    order = np.concatenate(
        [np.where(given < n_real, given, given + n_new), n_real + np.arange(n_new)]
    )
    frame, target = write_as_given(aside.rows, aside.position)
    return _joined(written[0], frame, order), _joined(written[1], target, order)


def _joined(first: Any, second: Any, order: IntArray) -> Any:  # noqa: ANN401
    """Return two containers end to end, and the rows of that in some order."""
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])[order]
    if isinstance(first, (pd.DataFrame, pd.Series)):
        whole = pd.concat([first, second], ignore_index=True)
        return whole.iloc[order].reset_index(drop=True)
    return _joined_polars(first, second, order)


def _joined_polars(first: Any, second: Any, order: IntArray) -> Any:  # noqa: ANN401
    import polars as pl

    if isinstance(first, pl.Series):
        frames = [part.to_frame() for part in (first, second)]
        return pl.concat(frames, how="vertical_relaxed")[order].to_series()
    return pl.concat([first, second], how="vertical_relaxed")[order]
