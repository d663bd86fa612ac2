"""The rungs below the loop: rows drawn in one go from the backbone of all rows.

The mechanism ladder of section 4.2 with label-conditioned sampling as its first rung.
Random and hard inpainting keep the anchor's target, as the paper has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tabtap.api.run import Request, lineages_of
from tabtap.compare.controls import even_rows
from tabtap.compare.methods.asking import (
    named_as_in,
    numbered,
    request_for,
    without_identifiers,
)
from tabtap.config import AugmentConfig, DiffusionConfig, Preset
from tabtap.diffusion import Backbone, fit_backbone
from tabtap.domain import Candidates, GateContext, Template
from tabtap.domain.rows import WHOLE
from tabtap.errors import bad_setting
from tabtap.evaluate.judging import FoldUtility
from tabtap.gates import Gates, standard_gates
from tabtap.proposal import (
    choose_anchors,
    draw_masks,
    free_columns,
    important_columns,
)
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.table.table import Table

HARD_EXPLORATION = 0.3
"""The paper's rho of hard inpainting (appendix D.3)."""

MOST_ROUNDS = 4
"""How often the wanted rows are drawn before fewer must do: gates may be strict."""

Rung = Literal["one shot", "random inpainting", "hard inpainting"]
_NAMES: dict[str, str] = {
    "one shot": "One shot",
    "random inpainting": "Random inpainting",
    "hard inpainting": "Hard inpainting",
}


def draw_one_shot(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Draw whole rows, classes or target bins evenly."""
    targets = real.condition[even_rows(real, n, rng)]
    return backbone.sample(n, rng, targets=targets)


def draw_random_inpainting(
    backbone: Backbone, real: Table, n: int, rng: np.random.Generator
) -> Table:
    """Redraw a random share of random cells of real rows, each equally likely."""
    anchors = real.take(rng.integers(len(real), size=n))
    unimportant = np.zeros(len(real.schema.features), dtype=np.bool_)
    free = free_columns(real.schema, Template.EXPLORE, unimportant)
    masks = [draw_masks(free, share, 1, rng) for share in rng.random(n)]
    return backbone.inpaint(anchors, np.concatenate(masks), rng)


def draw_hard_inpainting(
    backbone: Backbone, request: Request, n: int, rng: np.random.Generator
) -> Table:
    """Redraw little of the rows that the evaluator finds hardest; the paper's gates.

    Returns
    -------
    Table
        Fewer rows than wanted where the gates admit fewer.
    """
    config, lineages, real = request.config, lineages_of(request), request.real
    utility = FoldUtility(real, lineages, request.evaluator.evaluator, config.utility)
    hardness = utility.baseline(real.empty()).hardness
    important = important_columns(real, config.proposal, rng)
    free = free_columns(real.schema, Template.CONSERVATIVE, important)
    gates = Gates(standard_gates(config.gates))
    kept = Candidates.none(real)
    for _ in range(MOST_ROUNDS):
        drawn = _drawn_from_hard(backbone, real, (hardness, free), n, rng)
        seen = utility.foresee(drawn.rows)
        context = GateContext(real, kept.rows, seen, hardness)
        admitted = gates.admit(drawn, context).admitted
        kept = Candidates.joined([kept, admitted])
        if len(kept) >= n:
            break
    return kept.rows.take(np.arange(min(n, len(kept))))


def paper_preset(n_steps: int = 60) -> Preset:
    """Return Table 4 of the paper, with fewer steps than its 200."""
    return Preset(augment=replace(AugmentConfig.paper(), n_steps=n_steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """Rows of our diffusion in one go, without a policy and without commitment."""

    rung: Rung = "one shot"
    """Whole rows by label; random cells of any rows; few cells of the hardest."""

    diffusion: DiffusionConfig = field(default_factory=DiffusionConfig)
    """How the backbone is built and trained."""

    def __post_init__(self) -> None:
        if self.rung not in _NAMES:
            must = f"be one of {', '.join(map(repr, _NAMES))}"
            raise bad_setting("rung", self.rung, must, "Try 'one shot'.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return _NAMES[self.rung]

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows; of hard inpainting fewer where its gates are strict.

        Inpainted rows know the real row they were made from.
        """
        real = numbered(train)
        if n == 0:
            return train.empty()
        with watch.running("fit"):
            backbone = fit_backbone(real, rng=rng, config=self.diffusion)
        with watch.running("sample"):
            rows = without_identifiers(self._drawn(backbone, real, n, rng))
        return named_as_in(train, rows)

    def _drawn(
        self, backbone: Backbone, real: Table, n: int, rng: np.random.Generator
    ) -> Table:
        if self.rung == "one shot":
            return draw_one_shot(backbone, real, n, rng)
        if self.rung == "random inpainting":
            return draw_random_inpainting(backbone, real, n, rng)
        request = request_for(real, paper_preset(), int(rng.integers(2**31)))
        return draw_hard_inpainting(backbone, request, n, rng)


def _drawn_from_hard(
    backbone: Backbone,
    real: Table,
    where: tuple[FloatArray, BoolArray],
    n: int,
    rng: np.random.Generator,
) -> Candidates:
    hardness, free = where
    anchors = choose_anchors(hardness, n, 1.0, rng)
    masks = draw_masks(free, HARD_EXPLORATION, n, rng)
    rows = backbone.inpaint(real.take(anchors), masks, rng)
    rows = replace(rows, unseen_fold=np.full(n, WHOLE, dtype=np.int64))
    return Candidates(rows, masks, np.zeros(n, dtype=np.int64))
