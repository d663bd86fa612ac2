"""Proposed rows, each with its redrawn cells and the step that asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import Table, concat


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Rows on their way into the training table."""

    rows: Table
    """``origin`` is the real row each descends from, ``unseen_fold`` its lineage."""

    regenerate: BoolArray
    """Shape (n_rows, n_features): true where a cell was redrawn, from its real
    ancestor to this row."""

    step: IntArray
    """Shape (n_rows,): number of the action that asked for the row."""

    scores: Mapping[str, FloatArray] = field(default_factory=dict)
    """What gates measured of each row, by gate; empty before they did."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: NDArray[Any]) -> Candidates:
        """Return those picked by number or by a boolean array, in that order."""
        return Candidates(
            self.rows.take(chosen),
            self.regenerate[chosen],
            self.step[chosen],
            {name: score[chosen] for name, score in self.scores.items()},
        )

    def of_lineage(self, member: int) -> Candidates:
        """Return the rows of one lineage."""
        return self.take(self.rows.unseen_fold == member)

    @classmethod
    def none(cls, like: Table) -> Candidates:
        """Return no candidates, of the schema of a table."""
        empty = like.empty()
        shape = empty.missing.shape
        return cls(empty, np.zeros(shape, np.bool_), np.zeros(0, np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of several parts, in the order given."""
        return cls(
            concat([part.rows for part in parts]),
            np.concatenate([part.regenerate for part in parts]),
            np.concatenate([part.step for part in parts]),
            _joined_scores(parts),
        )


def _joined_scores(parts: Sequence[Candidates]) -> dict[str, FloatArray]:
    names = {name for part in parts for name in part.scores}
    return {
        name: np.concatenate(
            [part.scores.get(name, np.full(len(part), np.nan)) for part in parts]
        )
        for name in sorted(names)
    }
