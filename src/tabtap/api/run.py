"""One run from a request to a result, which can be interrupted and taken up again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from numpy.typing import NDArray

from tabtap.api.checkpoint import Checkpoint
from tabtap.api.narrator import Narrator
from tabtap.api.own_parts import check_gates, check_inpainter, check_own_judge
from tabtap.api.watching import RunPlan, Watchers
from tabtap.api.wiring import Request, fresh_start, lineages_of, make_scene
from tabtap.domain import Lineages
from tabtap.errors import RunInterrupted
from tabtap.evaluate.judging import check_judge, check_metric
from tabtap.evaluate.weights import CHECKPOINTS
from tabtap.loop import Limits, Outcome, Progress, Stop, augment
from tabtap.result import AugmentResult, RunAbout, installed_versions
from tabtap.stages import Observer
from tabtap.stopwatch import Stopwatch

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

    group_labels: NDArray[Any] | None = None
    """Whose row each real row is, in the user's words."""


def run(request: Request, terms: Terms) -> AugmentResult:
    """Learn the table, run the loop, and say what came of it."""
    watch = Stopwatch()
    lineages = lineages_of(request)
    if terms.budget == 0:
        outcome = Outcome(fresh_start(request), Stop.BUDGET)
        return _result(request, terms, lineages, outcome, watch)
    check_metric(request.metric, request.real, lineages)
    _check_judges(request, lineages, watch)
    check_gates(request.own.gates, request.real, lineages)
    if request.own.inpainter is not None:
        check_inpainter(request.own.inpainter, request.real, lineages)
    n_members = len(lineages.members)
    terms.narrator.say(f"learning {len(request.real)} rows, {n_members} backbone(s)")
    watchers = _watchers(terms)
    kept = Checkpoint(terms.checkpoint, request, lineages, terms.budget)
    with watch.running("backbones"):
        stack = kept.stack(watchers)
    scene = make_scene(request, lineages, stack, watch)
    progress = kept.progress(scene)
    # What learning the table took counts against the time budget as well.
    learning = watch.seconds["backbones"]
    progress = replace(progress, seconds=progress.seconds or learning)
    latest = [progress]

    def keep(progress: Progress) -> None:
        latest[:] = [progress]
        kept.keep(scene, progress)

    limits = _limits(terms)
    try:
        watchers.on_plan(_plan(request, lineages, progress, limits))
        outcome = augment(scene, progress, limits, observer=watchers, keep=keep)
    except KeyboardInterrupt as interrupt:
        outcome = Outcome(latest[0], Stop.INTERRUPT)
        result = _result(request, terms, lineages, outcome, watch)
        raise RunInterrupted(_farewell(result, terms), result) from interrupt
    terms.narrator.say(outcome.stop.value)
    return _result(request, terms, lineages, outcome, watch)


def _check_judges(request: Request, lineages: Lineages, watch: Stopwatch) -> None:
    """Let those who will judge fail now rather than after minutes of learning."""
    real, fold, carried = request.real, lineages.fold, request.carried
    if lineages.crossfit:  # under the paper's protocol no referee is asked
        with watch.running("referee"):
            check_judge(request.referee.evaluator, real, fold, "referee", carried)
            if "referee" in request.own.described:
                check_own_judge(request.referee.evaluator, real, lineages, "referee")
    with watch.running("evaluator"):
        check_judge(request.evaluator.evaluator, real, fold, "evaluator", carried)
        if "evaluator" in request.own.described:
            check_own_judge(request.evaluator.evaluator, real, lineages, "evaluator")


def _farewell(result: AugmentResult, terms: Terms) -> str:
    kept = "Nothing was committed yet."
    if n_rows := len(result.delivered):
        kept = f"The {n_rows} rows committed until then are in result_."
    if terms.checkpoint is None:
        again = "With checkpoint= a later call can go on from there."
    else:
        again = f"The same call goes on from {str(terms.checkpoint)!r}."
    n_windows = len(result.certificates)
    return f"The run was interrupted after {n_windows} windows. {kept} {again}"


def _watchers(terms: Terms) -> Watchers:
    own = () if terms.observer is None else (terms.observer,)
    return Watchers((terms.narrator, *own))


def _plan(
    request: Request, lineages: Lineages, progress: Progress, limits: Limits
) -> RunPlan:
    return RunPlan(
        n_steps=request.config.n_steps,
        window_length=request.config.commit.window_length,
        budget=limits.budget,
        n_windows=progress.window,
        n_committed=len(lineages.delivered(progress.committed.rows)),
    )


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
            **_own_parts(request),
        },
        evaluator=request.evaluator.evaluator.name,
        evaluator_why=request.evaluator.why,
        referee=request.referee.evaluator.name,
        referee_why=request.referee.why,
        versions=installed_versions(),
        seconds=watch.seconds,
        groups=terms.group_labels,
        rules=_rule_names(request),
        licences=_licences(request),
        notes=terms.notes,
    )
    return AugmentResult.of(request.real, outcome, lineages, about, index=terms.index)


def _own_parts(request: Request) -> dict[str, object]:
    """Return the gates and the generator that are the user's own, by name."""
    own = request.own
    named: dict[str, object] = {}
    if own.gates:
        named["gates"] = [gate.name for gate in own.gates]
    if own.inpainter is not None:
        named["inpainter"] = type(own.inpainter).__name__
    return {"own_parts": named} if named else {}


def _rule_names(request: Request) -> tuple[str, ...]:
    rules = () if request.rules is None else request.rules.rules
    return tuple(rule.name for rule in rules)


def _licences(request: Request) -> dict[str, str]:
    """Return the licence of every set of weights that judged."""
    judges = {request.evaluator.evaluator.name, request.referee.evaluator.name}
    known = CHECKPOINTS.values()
    return {w.name: w.licence for w in known if w.name in judges}
