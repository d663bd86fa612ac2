"""A generator of the user's own in the place of the backbones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabtap.api.own_parts import check_redrawn, fitted
from tabtap.domain import Lineages
from tabtap.stages import Inpainter, UnfittedInpainter
from tabtap.table.schema import BoolArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class OwnStack:
    """One fitted inpainter for each lineage; see ``proposal.batches.InpainterStack``.

    A lineage's rows are drawn in one call, from a generator that follows from the seeds
    of all of them.
    """

    inpainters: tuple[Inpainter, ...]

    unseen_folds: tuple[int, ...]
    """Fold that each has never seen; -1 if it saw all rows."""

    def inpaint_seeded(
        self,
        anchors: Sequence[Table],
        regenerate: Sequence[BoolArray],
        seeds: Sequence[NDArray[np.uint64]],
        *,
        redraw_target: bool = False,
    ) -> list[Table]:
        """Redraw chosen cells; a regression target stays the anchor's."""
        del redraw_target  # an Inpainter hands targets back as given
        requests = zip(self.inpainters, anchors, regenerate, seeds, strict=True)
        return [_drawn(*request) for request in requests]


def fit_own(
    own: UnfittedInpainter, real: Table, lineages: Lineages, rng: np.random.Generator
) -> OwnStack:
    """Let a copy of the user's object learn the rows of each lineage, and no others."""
    members = lineages.members
    seeds = rng.integers(2**63, size=len(members))
    inpainters = [
        fitted(own, real.take(lineages.seen(member)), np.random.default_rng(seed))
        for member, seed in zip(members, seeds, strict=True)
    ]
    return OwnStack(tuple(inpainters), members)


def _drawn(
    inpainter: Inpainter,
    anchors: Table,
    regenerate: BoolArray,
    seeds: NDArray[np.uint64],
) -> Table:
    if not len(anchors):
        return anchors
    rng = np.random.default_rng([int(seed) for seed in seeds])
    redrawn = inpainter.inpaint(anchors, regenerate, rng)
    check_redrawn(anchors, regenerate, redrawn)
    return redrawn
