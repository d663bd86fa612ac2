"""TAP: a whole run of ours, as one method among others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabtap.api.run import fit_stack, fresh_start, lineages_of, make_scene
from tabtap.compare.methods.asking import named_as_in, numbered, request_for
from tabtap.config import Preset, preset_named
from tabtap.evaluate.judging import check_metric
from tabtap.loop import Limits, augment
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import IntArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TAP:
    """Add rows where they are shown to help; it may well be none."""

    preset: str | Preset = "default"
    """Settings of the run: ``default``, ``fast``, ``paper``, or a preset of one's own.
    """

    def __post_init__(self) -> None:
        preset_named(self.preset)

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "TAP"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return at most ``n`` rows that each know the real row they descend from.

        The watch is told of the stages of a run: backbones, proposals, gates,
        evaluator and referee.
        """
        return self.make_for_groups(train, n, rng, watch, None)

    def make_for_groups(
        self,
        train: Table,
        n: int,
        rng: np.random.Generator,
        watch: Stopwatch,
        groups: IntArray | None,
    ) -> Table:
        """Return rows that were judged with every group on one side."""
        seed = int(rng.integers(2**31))
        preset = preset_named(self.preset)
        request = request_for(numbered(train), preset, seed, groups)
        if n == 0:
            return train.empty()
        lineages = lineages_of(request)
        check_metric(request.metric, request.real, lineages)
        with watch.running("backbones"):
            stack = fit_stack(request, lineages)
        scene = make_scene(request, lineages, stack, watch)
        outcome = augment(scene, fresh_start(request), Limits(budget=n))
        committed = outcome.progress.committed.rows
        return named_as_in(train, committed.take(lineages.delivered(committed)))
