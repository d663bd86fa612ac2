"""Which rows candidates start from: some by hardness, the others evenly.

Anchors come from the current training table, real and committed rows alike, of which a
lineage is offered only what it has seen or made itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from tabtap.domain import Lineages
from tabtap.table.schema import BoolArray, FloatArray, IntArray
from tabtap.table.table import NO_ROW, Table, ancestor_rows, concat


@dataclass(frozen=True, slots=True, eq=False)
class AnchorPool:
    """The training table with the hardness of its rows and who may start from them."""

    rows: Table
    """Real rows, then committed ones."""

    hardness: FloatArray
    """Shape (n_rows,): a committed row has its real ancestor's."""

    condition: IntArray
    """Shape (n_rows,): class code or target bin."""

    ancestor: IntArray
    """Shape (n_rows,): number of the real row each descends from, -1 for none."""

    lineages: Lineages

    @classmethod
    def of(
        cls, real: Table, committed: Table, hardness: FloatArray, lineages: Lineages
    ) -> AnchorPool:
        """Build the pool from ``hardness`` of the real rows."""
        rows = concat([real, committed])
        ancestor = ancestor_rows(real, rows)
        passed_on = _inherited(committed, ancestor[len(real) :], hardness, lineages)
        harder = np.concatenate([hardness, passed_on])
        return cls(rows, harder, rows.condition, ancestor, lineages)

    def eligible(self, member: int, target: int) -> IntArray:
        """Return the numbers of a target's rows that a lineage may start from."""
        n_real = len(self.lineages.fold)
        made = np.flatnonzero(self.rows.unseen_fold[n_real:] == member) + n_real
        known = np.concatenate([self.lineages.seen(member), made])
        return np.asarray(known[self.condition[known] == target])

    def redrawn_before(self, anchors: IntArray) -> BoolArray:
        """Tell which cells of some anchors are not their real ancestor's any more.

        Shape (n_anchors, n_features).  All false for a real row; true all along for a
        committed one without an ancestor.
        """
        ancestor = self.ancestor[anchors]
        now, then = self.rows.take(anchors), self.rows.take(ancestor)
        differs = now.missing != then.missing
        for place, (new, old) in enumerate(zip(now.cells, then.cells, strict=True)):
            differs[:, place] |= (now.missing[:, place] == 0) & (new != old)
        return np.asarray(differs | (ancestor == NO_ROW)[:, None])


def choose_anchors(
    hardness: FloatArray, n_anchors: int, hard_share: float, rng: np.random.Generator
) -> IntArray:
    """Choose rows to start from: a mixture of hard rows and all rows.

    Parameters
    ----------
    hardness : array of shape (n_rows,)
        Larger is harder; NaN where it is not known.
    n_anchors : int
        How many to choose; rows repeat when there are fewer.
    hard_share : float
        Share that is drawn by hardness, the others evenly.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    array of shape (n_anchors,)
        Row numbers in random order.  In the even part no row is used twice before
        every row was used once.

    Notes
    -----
    p_anc in equation 11.  A row's chance in the hard part is proportional to the rank
    of its hardness: ranks have no unit, and one outlier cannot take all anchors.  A row
    of unknown hardness has the mean chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> np.bincount(choose_anchors(np.array([0.1, 0.9, 0.5]), 6, 0.0, rng))
    array([2, 2, 2])
    >>> np.bincount(choose_anchors(np.array([0.1, 0.9, 0.5]), 6, 1.0, rng))
    array([1, 3, 2])
    """
    n_hard = int(hard_share * n_anchors + rng.random())
    hard = _spread(_chance(hardness), n_hard, rng)
    even = _spread(np.ones(len(hardness)), n_anchors - n_hard, rng)
    return rng.permutation(np.concatenate([hard, even]))


def _chance(hardness: FloatArray) -> FloatArray:
    known = ~np.isnan(hardness)
    chance = np.full(len(hardness), (known.sum() + 1) / 2)
    chance[known] = rankdata(hardness[known])
    return chance


def _spread(chance: FloatArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Draw rows so that each comes as often as its chance says, to within one."""
    order = rng.permutation(len(chance))
    upto = np.cumsum(chance[order])
    ticks = (rng.random() + np.arange(n_draws)) * upto[-1] / max(n_draws, 1)
    place = np.searchsorted(upto, ticks, side="right")
    return np.asarray(order[np.minimum(place, len(chance) - 1)])


def _inherited(
    committed: Table, ancestor: IntArray, hardness: FloatArray, lineages: Lineages
) -> FloatArray:
    """Return the hardness of committed rows: their ancestor's, or the usual one."""
    orphan = ancestor == NO_ROW
    passed_on = np.where(orphan, np.nan, hardness[ancestor])
    for member in lineages.members:
        known = hardness[lineages.seen(member)]
        known = known[np.isfinite(known)]
        if len(known):
            passed_on[orphan & (committed.unseen_fold == member)] = known.mean()
    return passed_on
