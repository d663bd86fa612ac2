"""The rungs below the loop: rows drawn in one go from the backbone of all rows.

Reads from: study_cell, usefulness.  Read by: study.

The mechanism ladder of section 4.2 with label-conditioned sampling as its first rung.
Random and hard inpainting keep the anchor's target, as the paper has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from study_cell import Ground, paper_preset
from usefulness import all_redrawn

from tabtap.api.wiring import lineages_of
from tabtap.diffusion import Backbone
from tabtap.domain import Candidates, GateContext, Template
from tabtap.domain.lineages import WHOLE
from tabtap.evaluate.utility import FoldUtility
from tabtap.gates import Gates, standard_gates
from tabtap.proposal import (
    choose_anchors,
    draw_masks,
    free_columns,
    important_columns,
)
from tabtap.table import Table

HARD_EXPLORATION = 0.3
"""The paper's rho of hard inpainting (appendix D.3)."""

MOST_ROUNDS = 4
"""How often the wanted rows are drawn before fewer must do: gates may be strict."""


def one_shot(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Draw whole rows, classes or target bins evenly."""
    return all_redrawn(_whole(ground), ground.real, n, rng)


def random_inpainting(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Redraw a random share of random cells of real rows, each equally likely."""
    real = ground.real
    anchors = real.take(rng.integers(len(real), size=n))
    unimportant = np.zeros(len(real.schema.features), dtype=np.bool_)
    free = free_columns(real.schema, Template.EXPLORE, unimportant)
    masks = [draw_masks(free, share, 1, rng) for share in rng.random(n)]
    return _whole(ground).inpaint(anchors, np.concatenate(masks), rng)


def hard_inpainting(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Redraw little of the rows that the evaluator finds hardest; the paper's gates."""
    request = ground.request(paper_preset())
    config, lineages, real = request.config, lineages_of(request), ground.real
    utility = FoldUtility(real, lineages, request.evaluator.evaluator, config.utility)
    hardness = utility.baseline(real.empty()).hardness
    important = important_columns(real, config.proposal, rng)
    free = free_columns(real.schema, Template.CONSERVATIVE, important)
    gates = Gates(standard_gates(config.gates))
    kept = Candidates.none(real)
    for _ in range(MOST_ROUNDS):
        drawn = _drawn_from_hard(ground, hardness, free, n, rng)
        seen = utility.foresee(drawn.rows)
        context = GateContext(real, kept.rows, seen, hardness)
        admitted = gates.admit(drawn, context).admitted
        kept = Candidates.joined([kept, admitted])
        if len(kept) >= n:
            break
    return kept.rows.take(np.arange(min(n, len(kept))))


RUNGS: Mapping[str, Callable[[Ground, int, np.random.Generator], Table]] = {
    "one shot": one_shot,
    "random inpainting": random_inpainting,
    "hard inpainting": hard_inpainting,
}
"""Rungs that need a backbone, by name."""


def _drawn_from_hard(
    ground: Ground,
    hardness: np.ndarray,
    free: np.ndarray,
    n: int,
    rng: np.random.Generator,
) -> Candidates:
    anchors = choose_anchors(hardness, n, 1.0, rng)
    masks = draw_masks(free, HARD_EXPLORATION, n, rng)
    rows = _whole(ground).inpaint(ground.real.take(anchors), masks, rng)
    rows = replace(rows, unseen_fold=np.full(n, WHOLE, dtype=np.int64))
    return Candidates(rows, masks, np.zeros(n, dtype=np.int64))


def _whole(ground: Ground) -> Backbone:
    return ground.stack[ground.stack.unseen_folds.index(WHOLE)]
