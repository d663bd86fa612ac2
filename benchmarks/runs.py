"""Whole runs of the loop on a cell's backbones, every commitment check on record.

The presets differ in their loop and judges only: all use the backbones of the cell, so
that a difference between them is not one of generators.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from study_cell import Ground
from truth import Truth

from tabtap.api.run import fresh_start, lineages_of, make_scene
from tabtap.config import PRESETS, Preset
from tabtap.domain import Bound, Certificate, Standing, Trial
from tabtap.loop import Limits, augment
from tabtap.rivals.ladder import paper_preset
from tabtap.stages import Commitment
from tabtap.stopwatch import Stopwatch
from tabtap.table import Table
from tabtap.table.table import concat

RUNS: Mapping[str, Preset] = {
    "paper": paper_preset(),
    "default": PRESETS["default"],
    "fast": PRESETS["fast"],
}
"""Presets by the name of their rung."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCommitment:
    """Decides as the commitment it wraps, and keeps what was decided about what."""

    inner: Commitment
    seen: list[tuple[Trial, Certificate]] = field(default_factory=list)

    def check(self, trial: Trial) -> tuple[Certificate, Standing]:
        """Let the commitment decide, and remember."""
        certificate, standing = self.inner.check(trial)
        self.seen.append((trial, certificate))
        return certificate, standing


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: its rows, its checks and what it took."""

    rows: Table
    checks: tuple[tuple[Trial, Certificate], ...]
    stop: str
    evaluator: str
    seconds: Mapping[str, float]
    """CPU seconds: ``run``, everything but the backbones, and its stages."""


def run_loop(ground: Ground, preset: Preset, budget: int) -> Run:
    """Run the loop of a preset on the cell's backbones."""
    request, watch = ground.request(preset), Stopwatch()
    lineages = lineages_of(request)
    started = time.process_time()
    scene = make_scene(request, lineages, ground.members(lineages), watch)
    watched = WatchedCommitment(scene.stages.commitment)
    scene = replace(scene, stages=replace(scene.stages, commitment=watched))
    outcome = augment(scene, fresh_start(request), Limits(budget=budget))
    spent = time.process_time() - started
    committed = outcome.progress.committed.rows
    return Run(
        rows=committed.take(lineages.delivered(committed)),
        checks=tuple(watched.seen),
        stop=outcome.stop.value,
        evaluator=request.evaluator.evaluator.name,
        seconds={"run": spent, **watch.cpu_seconds},
    )


def check_records(run: Run, truth: Truth) -> list[Record]:
    """Return one record per commitment check, with the true gain of its pool."""
    return [
        checked(trial, certificate, truth)
        for trial, certificate in run.checks
        if len(trial.pool)
    ]


def checked(trial: Trial, certificate: Certificate, truth: Truth) -> Record:
    """Return what was estimated and decided about a pool, and what was true."""
    everything = concat([trial.committed, trial.pool])
    before, after = (
        rows.take(trial.lineages.delivered(rows))
        for rows in (trial.committed, everything)
    )
    over_real = certificate.over_real
    return {
        "protocol": certificate.protocol,
        "window": certificate.window,
        "look": certificate.look,
        "first": not len(trial.committed),
        "n_rows": certificate.n_rows,
        "committed": certificate.committed,
        "over_real": None if over_real is None else _bound(over_real),
        "over_incumbent": _bound(certificate.over_incumbent),
        "truth": truth.gains(before, after),
        "evidence": {
            name: np.round(values, 6).tolist()
            for name, values in certificate.evidence.items()
        },
    }


def _bound(bound: Bound) -> dict[str, float]:
    return {
        "gain": float(bound.gain),
        "margin": float(bound.margin),
        "confidence": bound.confidence,
    }
