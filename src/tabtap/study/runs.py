"""Runs of the loop on one backbone, with a part of it changed, for several studies.

Every run of a cell has the same rows, folds, backbones and random streams, so that two
runs differ by what was changed and by nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tabtap.api.choices import task_of
from tabtap.api.run import Request, fit_stack, fresh_start, lineages_of, make_context
from tabtap.compare.store import Cell, Terms
from tabtap.config import SECTIONS, Preset, changed_preset, preset_named
from tabtap.diffusion import Backbone, BackboneStack
from tabtap.diffusion.backbone import fit_fold_backbones
from tabtap.domain import Lineages
from tabtap.domain.judgement import table_sha256
from tabtap.domain.rows import WHOLE
from tabtap.evaluate.teachers import choose_teacher
from tabtap.loop import Limits, Outcome, Progress, RunContext, augment
from tabtap.rivals.ladder import TASKS, request_for
from tabtap.rng import stream
from tabtap.stages import Observer
from tabtap.stopwatch import Stopwatch
from tabtap.study.cell import repetition_of
from tabtap.study.protocol import Repetition
from tabtap.study.sources import SOURCES
from tabtap.study.studies import BUDGET, QUICK_BUDGET, StudyOptions
from tabtap.table.table import Table

CLASSIFICATION = tuple(n for n, s in SOURCES.items() if s.task == "classification")
QUICK_TABLES = ("steel-plates-fault", "insurance")
QUICK_PREDICTORS = ("KNN", "RF")
"""Of both tasks, and quick."""

Settings = Mapping[str, Any]

_QUICK: Mapping[str, Settings] = {
    "ours": {
        "augment": {
            "n_steps": 64,
            "utility": {"n_partitions": 1},
            "commit": {"window_length": 16, "patience": 4},
        },
        "diffusion": {"n_steps": 150},
        "learner": "linear",
    },
    "paper": {
        "augment": {
            "n_steps": 40,
            "commit": {"window_length": 10, "patience": 4},
        },
        "diffusion": {"n_steps": 150},
        "evaluator": "linear",
    },
}
"""What a quick look changes, by protocol."""


def base_settings(options: StudyOptions) -> dict[str, Any]:
    """Return the settings of every cell: the protocol, and what a quick look changes.

    ``protocol`` is "ours" or "paper", ``preset`` that of ours; ``augment``,
    ``diffusion``, ``teaching`` and ``evaluator`` change it as they do that of TAP.
    """
    quick = _QUICK[options.protocol] if options.quick else {}
    of_ours = {"preset": "fast"} if _is_fast(options) else {}
    asked = {} if options.evaluator is None else {"evaluator": options.evaluator}
    return {"protocol": options.protocol, **of_ours, **quick, **asked}


def _is_fast(options: StudyOptions) -> bool:
    return options.preset == "fast" and options.protocol == "ours"


def merged(settings: Settings, changes: Settings) -> dict[str, Any]:
    """Return settings with others laid over them, section by section.

    Examples
    --------
    >>> merged({"augment": {"n_steps": 64}}, {"augment": {"commit": {"patience": 1}}})
    {'augment': {'n_steps': 64, 'commit': {'patience': 1}}}
    """
    made = dict(settings)
    for name, value in changes.items():
        within = made.get(name)
        if isinstance(within, Mapping) and isinstance(value, Mapping):
            made[name] = merged(within, value)
        else:
            made[name] = value
    return made


def plan_cells(
    study: str,
    options: StudyOptions,
    configurations: Mapping[str, Settings],
    *,
    n_real: tuple[int, ...] = (50,),
    tables: tuple[str, ...] = tuple(SOURCES),
    splits: int = 5,
) -> Iterator[Cell]:
    """Yield a cell for each configuration, table, size and split.

    ``configurations`` are settings by the name that a cell has as its method.
    """
    if options.quick:
        kept = tuple(name for name in QUICK_TABLES if name in tables)
        tables, n_real, splits = kept or tables[:1], n_real[:1], 1
    terms = Terms(
        seed=options.seed,
        budget=QUICK_BUDGET if options.quick else BUDGET,
        predictors=QUICK_PREDICTORS if options.quick else (),
    )
    for split, size, table in options.repetitions(tables, n_real, splits):
        for name, settings in configurations.items():
            yield Cell(
                dataset=table,
                n_real=size,
                split=split,
                method=name,
                settings=merged(base_settings(options), settings),
                terms=terms,
                study=study,
            )


def preset_of(settings: Settings) -> Preset:
    """Return the preset of a cell: its protocol's, with the cell's own changes.

    The paper's loop is run on our compact backbones, as all other runs are; give
    ``diffusion = {preset = "paper"}`` to change that.
    """
    base = preset_named(settings.get("preset", "default"))
    if settings["protocol"] == "paper":
        compact = {"diffusion": {"preset": "default"}}
        base = changed_preset(preset_named("paper"), compact)
    changes = {name: settings[name] for name in SECTIONS if name in settings}
    preset = changed_preset(base, changes)
    evaluator = settings.get("evaluator")
    if evaluator is None:
        return preset
    return replace(preset, evaluators={task: str(evaluator) for task in TASKS})


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What all runs of a cell stand on."""

    cell: Cell
    part: Repetition
    request: Request
    lineages: Lineages
    members: BackboneStack
    """One backbone for each lineage."""

    whole: Backbone
    """The one that has seen every real row."""

    seconds: float
    """CPU time of fitting them."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The predictors that are trained; None: all of the task's."""
        return self.cell.terms.predictors or None

    def rng(self, purpose: str) -> np.random.Generator:
        """Return the random stream of this cell for a purpose."""
        return _stream(self.cell, purpose)


def prepare(cell: Cell) -> Ground:
    """Split the table and fit the backbones of a cell.

    ``cell.settings`` are those of ``preset_of``; ``teacher`` and ``learner`` beside
    them as ``TabularAugmenter`` takes them, by default nobody and the mean of a panel.
    """
    part = repetition_of(cell)
    seed = int(_stream(cell, "run").integers(2**31))
    learner = cell.settings.get("learner", "panel")
    request = request_for(part.real, preset_of(cell.settings), seed, learner=learner)
    name = cell.settings.get("teacher", "none")
    teacher = choose_teacher(name, part.real, task_of(part.real))
    request = replace(request, teacher=teacher)
    lineages = lineages_of(request)
    stack, spent = _fitted(request, lineages)
    whole = stack[stack.unseen_folds.index(WHOLE)]
    members = stack.of_folds(lineages.members)
    return Ground(cell, part, request, lineages, members, whole, spent)


_LAST: dict[object, tuple[BackboneStack, float]] = {}
"""The backbones of the cell before: the next one often differs in the loop alone."""


def _fitted(request: Request, lineages: Lineages) -> tuple[BackboneStack, float]:
    """Return the backbones of a run, and the CPU seconds that they took."""
    rows, cut = table_sha256(request.real), lineages.partitions.tobytes()
    what = (rows, cut, lineages.crossfit, request.seed, repr(request.preset.diffusion))
    if what not in _LAST:
        started = time.process_time()
        stack = _fit(request, lineages)
        _LAST.clear()
        _LAST[what] = stack, time.process_time() - started
    return _LAST[what]


def _fit(request: Request, lineages: Lineages) -> BackboneStack:
    """Fit the backbones of all lineages, and the one of all rows, in one batch."""
    if not lineages.crossfit:  # which has seen all rows
        stack = fit_stack(request, lineages)
        if not isinstance(stack, BackboneStack):  # no generator of one's own here
            raise AssertionError
        return stack
    return fit_fold_backbones(
        request.real,
        lineages.partitions,
        rng=stream(request.seed, "backbone"),
        config=request.preset.diffusion,
        and_whole=True,
    )


def _stream(cell: Cell, purpose: str) -> np.random.Generator:
    return stream(cell.terms.seed, purpose, cell.dataset, cell.n_real, cell.split)


Change = Callable[[RunContext, Progress], tuple[RunContext, Progress]]
"""Puts other stages, or another steering, in the place of a run's own."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run of the loop."""

    rows: Table
    """Those that are delivered; there may be none."""

    outcome: Outcome
    seconds: float
    """CPU time, without the backbones."""

    stages: Mapping[str, float]
    """The same by stage."""

    @property
    def about(self) -> dict[str, Any]:
        """What a record says of a run."""
        progress = self.outcome.progress
        return {
            "n_rows": len(self.rows),
            "stop": self.outcome.stop.value,
            "n_steps": len(progress.steps),
            "n_windows": len(progress.certificates),
            "n_committed": sum(c.committed for c in progress.certificates),
            "n_proposed": sum(step.n_proposed for step in progress.steps),
            "n_admitted": sum(step.n_admitted for step in progress.steps),
        }


def run_tap(
    ground: Ground,
    change: Change | None = None,
    *,
    budget: int | None = None,
    observer: Observer | None = None,
) -> Run:
    """Run the loop on the backbones of a cell; budget as the cell's, if not given."""
    watch = Stopwatch()
    started = time.process_time()
    context = make_context(ground.request, ground.lineages, ground.members, watch)
    progress = fresh_start(ground.request)
    if change is not None:
        context, progress = change(context, progress)
    limits = Limits(budget=ground.cell.terms.budget if budget is None else budget)
    outcome = augment(context, progress, limits, observer=observer)
    spent = time.process_time() - started
    committed = outcome.progress.committed.rows
    rows = committed.take(ground.lineages.delivered(committed))
    return Run(rows, outcome, spent, watch.cpu_seconds)


def scores_with(ground: Ground, rows: Table | None) -> dict[str, dict[str, float]]:
    """Return the scores on the test rows of predictors that were given some rows."""
    none = rows is None or not len(rows)
    return ground.part.score(None if none else rows, ground.names)
