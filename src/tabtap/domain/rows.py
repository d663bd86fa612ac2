"""Proposed rows with their redrawn cells, and the lineages that keep folds apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NO_ROW, Table, concat


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

    asked: NDArray[Any] | None = None
    """Shape (n_rows,): the targets that rows were drawn for, where a teacher has given
    them others; None: those that they have."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: NDArray[Any]) -> Candidates:
        """Return those picked by number or by a boolean array, in that order."""
        return Candidates(
            self.rows.take(chosen),
            self.regenerate[chosen],
            self.step[chosen],
            {name: score[chosen] for name, score in self.scores.items()},
            None if self.asked is None else self.asked[chosen],
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
            _joined_asked(parts),
        )


def _joined_asked(parts: Sequence[Candidates]) -> NDArray[Any] | None:
    if all(part.asked is None for part in parts):
        return None
    return np.concatenate(
        [p.rows.target if p.asked is None else p.asked for p in parts]
    )


def _joined_scores(parts: Sequence[Candidates]) -> dict[str, FloatArray]:
    names = {name for part in parts for name in part.scores}
    return {
        name: np.concatenate(
            [part.scores.get(name, np.full(len(part), np.nan)) for part in parts]
        )
        for name in sorted(names)
    }


# ---- Who has seen what: the lineages that keep a judged fold apart from its judges.
#
# A lineage is a backbone and everything it made.  Under ``crossfit`` there is one for
# each fold, which never sees that fold, neither in training nor as an anchor nor among
# the rows that its gates compare with; with its rows alone the fold is judged.  What
# little of a fold may still reach it is in DECISIONS.md, entry 26.
#
# The rows may be cut into folds several times over: each partition has folds and
# lineages of its own, and a row's score is its mean over the partitions.  Folds and
# lineages are counted on from one partition to the next.
#
# Under the paper's protocol a single lineage has seen every real row and answers for
# all folds.


WHOLE = NO_ROW
"""The lineage that has seen every real row."""


@dataclass(frozen=True, slots=True, eq=False)
class Lineages:
    """The folds of the real rows and the lineages that follow from them."""

    fold: IntArray
    """Shape (n_real,) or (n_partitions, n_real): fold of every real row, from 0 in each
    partition."""

    crossfit: bool
    """Whether each fold has a lineage of its own."""

    @property
    def partitions(self) -> IntArray:
        """Shape (n_partitions, n_real): fold of every real row, counted on."""
        fold = np.atleast_2d(self.fold)
        return fold + (int(fold.max()) + 1) * np.arange(len(fold))[:, None]

    @property
    def n_real(self) -> int:
        """Number of real rows."""
        return int(self.fold.shape[-1])

    @property
    def n_folds(self) -> int:
        """Number of folds, over all partitions."""
        return int(self.partitions.max()) + 1

    @property
    def n_folds_each(self) -> int:
        """Number of folds of one partition."""
        return int(self.fold.max()) + 1

    @property
    def members(self) -> tuple[int, ...]:
        """Every lineage, by the fold it has never seen."""
        return tuple(range(self.n_folds)) if self.crossfit else (WHOLE,)

    def partition_of(self, member: int) -> IntArray:
        """Return the partition that a fold or lineage is of; the first for all rows."""
        partitions = self.partitions
        if member == WHOLE:
            return np.asarray(partitions[0])
        return np.asarray(partitions[member * len(partitions) // self.n_folds])

    def seen(self, member: int) -> IntArray:
        """Return the numbers of the real rows that a lineage may see."""
        return np.flatnonzero(self.partition_of(member) != member)

    def asked(self, fold: int) -> IntArray:
        """Return the numbers of the real rows of a fold."""
        return np.flatnonzero(self.partition_of(fold) == fold)

    def judging(self, fold: int) -> int:
        """Return the lineage whose rows stand beside the other folds to answer one."""
        return fold if self.crossfit else WHOLE

    def delivered(self, synthetic: Table) -> IntArray:
        """Return the numbers of the rows that are handed to the user.

        Each fold is judged with all rows of one lineage, so of M lineages every M-th
        row is delivered: together as many as stood beside each fold.  Rows that follow
        do not change which of the earlier ones are delivered.
        """
        n_members = len(self.members)
        chosen = np.zeros(len(synthetic), dtype=np.bool_)
        for index, member in enumerate(self.members):
            rows = np.flatnonzero(synthetic.unseen_fold == member)
            chosen[rows[index::n_members]] = True
        return np.flatnonzero(chosen)

    def fitting(self, held: Table, more: Table, budget: int) -> IntArray:
        """Return how many further rows of each lineage fit into a budget, in order.

        Rows are dealt round by round, one to each lineage, until with those held the
        budget is delivered; never more, and less only if there are no more rows.
        """
        members = self.members
        n_held, n_more = (
            [int(np.sum(rows.unseen_fold == member)) for member in members]
            for rows in (held, more)
        )
        n_delivered = len(self.delivered(held))
        dealt = np.zeros(len(members), dtype=np.int64)
        for number in range(max(n_more)):
            if n_delivered >= budget:
                break
            for index in range(len(members)):
                is_delivered = (n_held[index] + number) % len(members) == index
                full = is_delivered and n_delivered == budget
                if number < n_more[index] and not full:
                    dealt[index] += 1
                    n_delivered += is_delivered
        return dealt

    def held_by(self, member: int, synthetic: Table) -> Table:
        """Return the synthetic rows that belong to a lineage."""
        return synthetic.take(synthetic.unseen_fold == member)
