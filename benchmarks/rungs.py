"""The rungs below the loop, drawn from the backbone that a cell's parts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from study_cell import Ground

from tabtap.diffusion import Backbone
from tabtap.domain.rows import WHOLE
from tabtap.rivals.ladder import (
    draw_hard_inpainting,
    draw_one_shot,
    draw_random_inpainting,
    paper_preset,
)
from tabtap.table import Table


def one_shot(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Draw whole rows, classes or target bins evenly."""
    return draw_one_shot(_whole(ground), ground.real, n, rng)


def random_inpainting(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Redraw a random share of random cells of real rows, each equally likely."""
    return draw_random_inpainting(_whole(ground), ground.real, n, rng)


def hard_inpainting(ground: Ground, n: int, rng: np.random.Generator) -> Table:
    """Redraw little of the rows that the evaluator finds hardest; the paper's gates."""
    request = ground.request(paper_preset())
    return draw_hard_inpainting(_whole(ground), request, n, rng)


RUNGS: Mapping[str, Callable[[Ground, int, np.random.Generator], Table]] = {
    "one shot": one_shot,
    "random inpainting": random_inpainting,
    "hard inpainting": hard_inpainting,
}
"""Rungs that need a backbone, by name."""


def _whole(ground: Ground) -> Backbone:
    return ground.stack[ground.stack.unseen_folds.index(WHOLE)]
