"""TabDiff: our diffusion with the label as one more column, rows drawn at large.

Shi et al., "TabDiff: a mixed-type diffusion model for tabular data generation", ICLR
2025.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tabtap.compare.methods.joint import joined, parted
from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.errors import bad_setting
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import Table

CONFIGS = {"default": DiffusionConfig, "paper": DiffusionConfig.paper}


@dataclass(frozen=True, slots=True, kw_only=True)
class TabDiff:
    """Learn rows and labels jointly by diffusion; labels come as often as they do.

    Holes are drawn as the real column has them.
    """

    size: Literal["default", "paper"] = "default"
    """Our compact network and training, or the published one: ten minutes or more."""

    n_steps: int | None = None
    """Training steps, if other than the size's own."""

    def __post_init__(self) -> None:
        if self.size not in CONFIGS:
            must = "be 'default' or 'paper'"
            raise bad_setting("size", self.size, must, "Try 'default'.")

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "TabDiff"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows, the target drawn jointly with the rest."""
        config = CONFIGS[self.size]()
        if self.n_steps is not None:
            config = replace(config, n_steps=self.n_steps)
        with watch.running("fit"):
            backbone = fit_backbone(joined(train), rng=rng, config=config)
        with watch.running("sample"):
            return parted(backbone.sample(n, rng), train)
