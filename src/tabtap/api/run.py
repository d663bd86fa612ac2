"""One run from a request to a result, which can be interrupted and taken up again.

Reads from: domain, loop, result, stages, api.narrator, stopwatch, wiring.
Read by: api.augmenter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from tabtap.api.checkpoint import Checkpoint
from tabtap.api.narrator import Narrator
from tabtap.api.stopwatch import Stopwatch
from tabtap.api.wiring import Request, fresh_start, lineages_of, make_scene
from tabtap.domain import Lineages, StepRecord, WindowRecord
from tabtap.loop import Limits, Outcome, Stop, augment
from tabtap.result import AugmentResult, RunAbout, installed_versions
from tabtap.stages import Observer

AUTO_BUDGET = 2000
"""Most rows of ``budget="auto"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How far a run may go, who watches, and where it is kept."""

    budget: int | Literal["auto"]
    time_budget: float | None = None
    observer: Observer | None = None
    narrator: Narrator = field(default_factory=lambda: Narrator(verbose=0))
    checkpoint: Path | None = None
    notes: tuple[str, ...] = ()
    index: pd.Index | None = None
    """Labels of the real rows, if they came in pandas."""


def run(request: Request, terms: Terms) -> AugmentResult:
    """Learn the table, run the loop, and say what came of it."""
    watch = Stopwatch()
    lineages = lineages_of(request)
    if terms.budget == 0:
        outcome = Outcome(fresh_start(request), Stop.BUDGET)
        return _result(request, terms, lineages, outcome, watch)
    n_members = len(lineages.members)
    terms.narrator.say(f"learning {len(request.real)} rows, {n_members} backbone(s)")
    kept = Checkpoint(terms.checkpoint, request, lineages, terms.budget)
    with watch.running("backbones"):
        stack = kept.stack()
    scene = make_scene(request, lineages, stack, watch)
    progress = kept.progress(scene)
    # What learning the table took counts against the time budget as well.
    learning = watch.seconds["backbones"]
    progress = replace(progress, seconds=progress.seconds or learning)
    outcome = augment(
        scene,
        progress,
        _limits(terms),
        observer=_Both(terms.narrator, terms.observer),
        keep=lambda progress: kept.keep(scene, progress),
    )
    terms.narrator.say(outcome.stop.value)
    return _result(request, terms, lineages, outcome, watch)


@dataclass(frozen=True, slots=True)
class _Both:
    """Two observers as one."""

    first: Observer
    second: Observer | None

    def on_step(self, record: StepRecord) -> None:
        self.first.on_step(record)
        if self.second:
            self.second.on_step(record)

    def on_window(self, record: WindowRecord) -> None:
        self.first.on_window(record)
        if self.second:
            self.second.on_window(record)


def _limits(terms: Terms) -> Limits:
    return Limits(
        budget=AUTO_BUDGET if terms.budget == "auto" else int(terms.budget),
        time_budget=terms.time_budget,
        until_level=terms.budget == "auto",
    )


def _result(
    request: Request,
    terms: Terms,
    lineages: Lineages,
    outcome: Outcome,
    watch: Stopwatch,
) -> AugmentResult:
    about = RunAbout(
        seed=request.seed,
        budget=terms.budget,
        settings={
            "augment": asdict(request.preset.augment),
            "diffusion": asdict(request.preset.diffusion),
        },
        evaluator=request.evaluator.evaluator.name,
        evaluator_why=request.evaluator.why,
        referee=request.referee.evaluator.name,
        referee_why=request.referee.why,
        versions=installed_versions(),
        seconds=watch.seconds,
        groups=request.groups,
        rules=()
        if request.rules is None
        else tuple(rule.name for rule in request.rules.rules),
        notes=terms.notes,
    )
    return AugmentResult.of(request.real, outcome, lineages, about, index=terms.index)


def _rule_names(request: Request) -> tuple[str, ...]:
    rules = () if request.rules is None else request.rules.rules
    return tuple(rule.name for rule in rules)
