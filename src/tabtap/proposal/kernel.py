"""The proposal kernel: from actions to candidate rows, for every lineage at once.

A lineage starts from rows it has seen or made and is redrawn by its own backbone.  Of
its unseen fold only two things know: the hardness of anchors and the policy that all
lineages share (DECISIONS.md, 26).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.config import ProposalConfig
from tabtap.domain import Action, Candidates, Lineages
from tabtap.errors import UserInputError
from tabtap.proposal.anchors import AnchorPool, choose_anchors
from tabtap.proposal.batches import Batches, InpainterStack, SeedArray
from tabtap.proposal.masks import draw_masks, free_columns
from tabtap.table.schema import BoolArray, FloatArray, IntArray, Kind, Schema
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What one lineage is to draw for one action."""

    anchors: IntArray
    """Row numbers in the pool."""

    regenerate: BoolArray
    seeds: SeedArray


class LineageProposer:
    """Draws each action's candidates from every lineage, in one batch.

    Parameters
    ----------
    stack : InpainterStack
        One backbone for each lineage, in the order of ``lineages.members``.
    lineages : Lineages
        Who has seen what.
    config : ProposalConfig
        Candidates per action and lineage, and how their anchors are chosen.
    important : mapping from lineage to bool array of shape (n_features,)
        The columns that the conservative template keeps, of each lineage.
    carried : collection of column names, default=()
        Identifiers that a row passes on to its descendants, such as whose row it is;
        the others are emptied.

    Raises
    ------
    UserInputError
        If the backbones are not those of the lineages.
    """

    def __init__(
        self,
        stack: InpainterStack,
        lineages: Lineages,
        config: ProposalConfig,
        important: Mapping[int, BoolArray],
        carried: Collection[Hashable] = (),
    ) -> None:
        if tuple(stack.unseen_folds) != lineages.members:
            # A backbone that has seen the fold it is to be judged by proves nothing.
            raise UserInputError(
                f"The backbones have not seen folds {list(stack.unseen_folds)}, the "
                f"lineages need {list(lineages.members)}. Fit one backbone for each "
                "lineage, in that order; -1 is the one that has seen all rows."
            )
        self._batches = Batches(stack)
        self._lineages = lineages
        self._config = config
        self._important = important
        self._carried = carried

    def propose(
        self,
        real: Table,
        committed: Table,
        hardness: FloatArray,
        actions: Sequence[Action],
        rngs: Sequence[np.random.Generator],
    ) -> list[Candidates]:
        """Draw the candidates of each action.

        Parameters
        ----------
        real : Table
            The real rows, in the order of ``lineages.fold``.
        committed : Table
            Synthetic rows of all lineages that were committed.
        hardness : array of shape (n_real,)
            Of the real rows; NaN where it is not known.
        actions : sequence of Action
            What to generate.
        rngs : sequence of numpy.random.Generator
            One for each action.

        Returns
        -------
        list of Candidates
            One for each action: ``candidates_per_step`` rows of each lineage, lineage
            after lineage; ``step`` is the action's place in the list.  A lineage that
            knows no row of the target contributes none.

        Notes
        -----
        Equation 12, with anchors and masks drawn independently (equation 11).  What an
        action draws does not depend on the actions beside it, nor one lineage's rows
        on another's.
        """
        pool = AnchorPool.of(real, committed, hardness, self._lineages)
        plans = [
            self._plans(pool, action, rng)
            for action, rng in zip(actions, rngs, strict=True)
        ]
        return self._drawn(pool, plans) if plans else []

    def _plans(
        self, pool: AnchorPool, action: Action, rng: np.random.Generator
    ) -> list[_Plan]:
        members = self._lineages.members
        seeds = rng.integers(2**63, size=len(members))
        return [
            self._plan(pool, action, member, np.random.default_rng(seed))
            for member, seed in zip(members, seeds, strict=True)
        ]

    def _plan(
        self, pool: AnchorPool, action: Action, member: int, rng: np.random.Generator
    ) -> _Plan:
        rows = pool.eligible(member, action.target)
        n_rows = self._config.candidates_per_step if len(rows) else 0
        if n_rows:
            share = self._config.hard_share
            rows = rows[choose_anchors(pool.hardness[rows], n_rows, share, rng)]
        schema, important = pool.rows.schema, self._important[member]
        free = free_columns(schema, action.template, important)
        masks = draw_masks(free, action.exploration, n_rows, rng)
        masks[:, self._emptied(schema)] = True
        return _Plan(rows, masks, rng.integers(2**64, size=n_rows, dtype=np.uint64))

    def _emptied(self, schema: Schema) -> IntArray:
        """Return the identifiers: nobody's name may pass from a parent to a child."""
        places = [
            place
            for place, column in enumerate(schema.features)
            if column.kind is Kind.IDENTIFIER and column.name not in self._carried
        ]
        return np.asarray(places, dtype=np.int64)

    def _drawn(
        self, pool: AnchorPool, plans: Sequence[Sequence[_Plan]]
    ) -> list[Candidates]:
        """Draw all plans, one row of them per action, one column per lineage."""
        by_member = [*zip(*plans, strict=True)]
        made = self._batches.draw(
            [pool.rows.take(_end_to_end(p.anchors for p in own)) for own in by_member],
            [_end_to_end(p.regenerate for p in own) for own in by_member],
            [_end_to_end(p.seeds for p in own) for own in by_member],
            redraw_target=self._config.redraw_target,
        )
        members = self._lineages.members
        sizes = [[len(plan.anchors) for plan in own] for own in by_member]
        shares = [
            _cut(rows.with_origin(unseen_fold=member), own)
            for member, rows, own in zip(members, made, sizes, strict=True)
        ]
        return [
            Candidates.joined(
                [
                    Candidates(
                        rows[place],
                        plan.regenerate | pool.redrawn_before(plan.anchors),
                        _repeat(place, plan),
                    )
                    for rows, plan in zip(shares, row, strict=True)
                ]
            )
            for place, row in enumerate(plans)
        ]


def _end_to_end(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))


def _repeat(place: int, plan: _Plan) -> IntArray:
    return np.full(len(plan.anchors), place, dtype=np.int64)


def _cut(rows: Table, sizes: Sequence[int]) -> list[Table]:
    """Return consecutive parts of a table, of the sizes given."""
    parts = np.split(np.arange(len(rows)), np.cumsum(sizes)[:-1])
    return [rows.take(part) for part in parts]
