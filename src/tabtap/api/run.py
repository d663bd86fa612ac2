"""One run from a request to a result, which can be interrupted and taken up again."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.api.choices import task_of
from tabtap.api.large import Whole
from tabtap.api.own_parts import (
    OwnParts,
    check_gates,
    check_inpainter,
    check_own_judge,
    describe_function,
    fit_own,
)
from tabtap.api.progress import Narrator, NotebookProgress, RunPlan, Watchers
from tabtap.config import AugmentConfig, Preset, settings_of
from tabtap.diffusion import BackboneStack, fit_backbone, fit_fold_backbones
from tabtap.diffusion.backbone import load_stack
from tabtap.diffusion.train import TrainingObserver
from tabtap.domain import Alternative, Candidates, Lineages
from tabtap.domain.judgement import BEST, PANEL_MEAN, table_sha256
from tabtap.errors import FileFormatError, LongRunWarning, RunInterrupted
from tabtap.evaluate.alternatives import TeacherAlone, Tried, alternatives
from tabtap.evaluate.choose import ChosenEvaluator
from tabtap.evaluate.evaluators import weighted
from tabtap.evaluate.judging import (
    FoldReferee,
    FoldUtility,
    check_evaluator,
    check_metric,
    mean_one,
)
from tabtap.evaluate.metric import Metric
from tabtap.evaluate.teachers import (
    N_INNER_FOLDS,
    ChosenTeacher,
    TeacherLabeller,
    time_answers,
)
from tabtap.evaluate.weights import CHECKPOINTS
from tabtap.gates import Gates, Rules, standard_gates
from tabtap.gates.rules import Rule
from tabtap.loop import (
    CrossfitCommitment,
    Limits,
    Outcome,
    PaperCommitment,
    Progress,
    RunContext,
    Stages,
    Stop,
    augment,
)
from tabtap.loop.augment import AskedTargets
from tabtap.loop.resume import load_progress, save_progress
from tabtap.policy.sensor import Wish
from tabtap.policy.steering import PolicySteering
from tabtap.proposal import InpainterStack, LineageProposer, important_by_lineage
from tabtap.result import AugmentResult, RunAbout, installed_versions
from tabtap.result.set_aside import SetAside
from tabtap.rng import stream
from tabtap.stages import Commitment, Evaluator, Labeller, Observer
from tabtap.stopwatch import Stopwatch
from tabtap.table.computed import Formula
from tabtap.table.saved_schema import schema_to_json
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.split import cut_rows
from tabtap.table.table import Table
from tabtap.wording import learner_words, time_words

# ---- Pick the concrete stages of a run and connect them.


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Request:
    """A run as the user asked for it, with every choice made."""

    real: Table
    preset: Preset
    seed: int
    evaluator: ChosenEvaluator
    referee: ChosenEvaluator
    metric: Metric
    teacher: ChosenTeacher = field(default_factory=lambda: ChosenTeacher(None, ""))
    rules: Rules | None = None
    groups: IntArray | None = None
    """Rows that count as one: the user's groups, or exact copies."""

    weights: FloatArray | None = None
    """Of every row of the table given, where they are not all the same."""

    mixture: Wish = "real"
    carried: tuple[Hashable, ...] = ()
    """Identifiers that descendants keep, such as the column of groups."""

    no_harm: Mapping[str, float] = field(default_factory=dict)
    """Columns whose groups may not be harmed, and what a group may lose."""

    computed: tuple[Formula, ...] = ()
    """Columns that follow from others, in new rows too."""

    own: OwnParts = field(default_factory=OwnParts)
    whole: Whole | None = None
    """All rows, where ``real``, which is learned, is a sample of them."""

    @property
    def all_rows(self) -> Table:
        """The rows that the user gave, learned or not."""
        return self.real if self.whole is None else self.whole.real

    @property
    def all_groups(self) -> IntArray | None:
        """Their groups."""
        return self.groups if self.whole is None else self.whole.groups

    @property
    def config(self) -> AugmentConfig:
        """Settings of the loop."""
        return self.preset.augment


def lineages_of(request: Request) -> Lineages:
    """Divide the real rows into folds, groups kept together."""
    n_units = len(request.real)
    if request.groups is not None:
        n_units = len(np.unique(request.groups))
    n_folds = min(request.config.utility.n_folds, n_units)
    crossfit = request.config.commit.protocol == "crossfit"
    most = request.config.utility.n_partitions if crossfit else 1
    if request.referee.evaluator.name in (BEST, PANEL_MEAN):
        most = min(most, MOST_PARTITIONS_OF_PANEL)
    n_partitions = max(1, min(most, ROWS_PER_PARTITION * most // len(request.real)))
    partitions = [
        cut_rows(request.real.condition, n_folds, request.groups, number)
        for number in range(n_partitions)
    ]
    return Lineages(np.stack(partitions), crossfit)


MOST_PARTITIONS_OF_PANEL = 2
"""A check of the whole panel is dear, and seldom adds rows."""

ROWS_PER_PARTITION = 200
"""Tables of more rows than this are cut into folds less often: it matters less there,
and costs more."""


def fit_stack(
    request: Request, lineages: Lineages, observer: TrainingObserver | None = None
) -> InpainterStack:
    """Learn the table, once for each lineage."""
    rng, config = stream(request.seed, "backbone"), request.preset.diffusion
    if request.own.inpainter is not None:
        return fit_own(request.own.inpainter, request.real, lineages, rng)
    if lineages.crossfit:
        return fit_fold_backbones(
            request.real, lineages.partitions, rng=rng, config=config, observer=observer
        )
    return fit_backbone(request.real, rng=rng, config=config, observer=observer).stack


def make_context(
    request: Request, lineages: Lineages, stack: InpainterStack, watch: Stopwatch
) -> RunContext:
    """Return everything that a run needs and that does not change."""
    real, config = request.real, request.config
    utility = FoldUtility(real, lineages, request.evaluator.evaluator, config.utility)
    referee = referee_of(request, lineages)
    labeller: Labeller = AskedTargets()
    proposal, cross_share = config.proposal, 0.0
    if request.teacher.teacher is not None:
        teaching = request.preset.teaching
        cross_share = teaching.cross_share
        proposal = replace(proposal, candidates_per_step=teaching.candidates_per_step)
        with watch.running("teacher"):
            taught = TeacherLabeller.of(
                request.teacher.teacher, real, lineages, request.groups
            )
        labeller = watch.timed("teacher", taught)
    important = important_by_lineage(
        real, lineages, proposal, stream(request.seed, "columns")
    )
    proposer = LineageProposer(
        *(stack, lineages, proposal, important, request.carried),
        cross_share=cross_share,
    ).computing(request.computed)
    counted = watch.timed("evaluator", utility)
    commitment: Commitment
    if lineages.crossfit:
        refereed = watch.timed("referee", referee)
        teacher = "" if request.teacher.teacher is None else request.teacher.name
        commitment = CrossfitCommitment(
            *(referee.real, refereed, config.commit, referee.clusters, teacher),
            lineages=referee.lineages,
            no_harm=request.no_harm,
            weights=referee.error.weights,
        )
    else:
        name = request.evaluator.evaluator.name
        commitment = PaperCommitment(counted, config.commit, name)
    every = None if request.whole is None else request.whole.real
    standard = standard_gates(config.gates, request.rules, every)
    stages = Stages(
        proposer=watch.timed("proposals", proposer),
        labeller=labeller,
        gatekeeper=watch.timed("gates", Gates((*standard, *request.own.gates))),
        utility=counted,
        commitment=commitment,
    )
    return RunContext(real, lineages, stages, config, request.seed, len(referee.real))


def referee_of(request: Request, lineages: Lineages) -> FoldReferee:
    """Return who judges whole pools, on all rows."""
    if request.whole is not None:
        lineages = request.whole.lineages(lineages, request.seed)
    judge, metric, weights = request.referee.evaluator, request.metric, request.weights
    real = request.all_rows
    if weights is not None:
        metric = metric.weighted(mean_one(weights, real))
    return FoldReferee(real, lineages, judge, metric, request.all_groups, weights)


LONG_TEACHING = 30.0
"""Seconds from which a teacher's answers are told of as a warning."""

_CALLER = 5  # whoever called the augmenter


def with_timed_teacher(request: Request, budget: int | str) -> Request:
    """Time a teacher that reads all rows for every answer, and warn if it is slow."""
    teacher = request.teacher.teacher
    too_large = request.whole is not None and request.whole.is_too_large
    if teacher is None or budget == 0 or too_large:
        return request
    n_folds = request.config.utility.n_folds
    found = time_answers(teacher, request.real, n_folds)
    request = replace(request, teacher=replace(request.teacher, answer_time=found))
    most = AUTO_BUDGET if budget == "auto" else int(budget)
    teaching = teaching_time(request, lineages_of(request), most)
    if teaching is not None and teaching.least_seconds >= LONG_TEACHING:
        quicker = "The teacher 'stack' takes seconds instead."
        said = f"{request.teacher.name} teaches. {teaching.sentence} {quicker}"
        warnings.warn(said, LongRunWarning, stacklevel=_CALLER)
    return request


@dataclass(frozen=True, slots=True)
class TeachingTime:
    """About what the answers of a run's teacher will take."""

    pool_seconds: float
    """For the rows of one window."""

    once_seconds: float
    """For weighing its members, and for the advice."""

    n_pools: tuple[int, int]
    """The fewest windows that fill the budget, and the most there can be."""

    @property
    def least_seconds(self) -> float:
        """What is spent if every pool is let in whole."""
        return self.once_seconds + self.n_pools[0] * self.pool_seconds

    @property
    def sentence(self) -> str:
        """All of it in words."""
        least, most = self.n_pools
        pools = f"{least} to {most}" if least < most else str(most)
        return (
            f"Its answers take about {time_words(self.pool_seconds)} for each pool of "
            f"new rows, of which there are {pools}, and "
            f"{time_words(self.once_seconds)} besides."
        )


def teaching_time(
    request: Request, lineages: Lineages, budget: int
) -> TeachingTime | None:
    """Reckon what answers take over a run; None if that was not worth timing."""
    teacher, answers = request.teacher.teacher, request.teacher.answer_time
    if teacher is None or answers is None:
        return None
    config, n_members = request.config, len(lineages.members)
    length = config.commit.window_length
    n_rows = length * request.preset.teaching.candidates_per_step
    n_calls = -(-length // config.actions_per_batch)
    n_weighings = 0
    if teacher.is_weighted and len(teacher.members) > 1:
        n_weighings = N_INNER_FOLDS
    n_once = (n_weighings > 0) * len(request.real) + len(lineages.asked(0))
    most = config.n_steps // length
    return TeachingTime(
        answers.seconds(n_members * n_calls, n_members * n_rows),
        answers.seconds(n_members * (n_weighings + 1), n_members * n_once),
        (min(-(-budget // n_rows), most), most),
    )


def fresh_start(request: Request) -> Progress:
    """Return a run before its first window."""
    rng, config = stream(request.seed, "policy"), request.config.policy
    return Progress(
        committed=Candidates.none(request.real),
        steering=PolicySteering.start(request.real, request.mixture, config, rng),
    )


# ---- A folder in which an interrupted run is kept, so that the next call goes on with
# it.
#
# Files are named after what decides a run's result: rows, folds, settings, seed,
# judges, rules, parts of the user's own; code that was passed in counts as it is
# written. A folder may hold several runs.


_N_DIGITS = 16
"""Of the fingerprint, in file names."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Where one run is kept; without a folder nothing is."""

    folder: Path | None
    request: Request
    lineages: Lineages

    budget: int | str
    """Part of what a run is: its last window is cut to the budget."""

    def stack(self, observer: TrainingObserver | None = None) -> InpainterStack:
        """Return the backbones of this run: kept ones, or newly learned and kept.

        An inpainter of the user's own is fitted anew, from the same rows and seeds.
        """
        path = self._path("backbones", self._learned_from())
        is_own = self.request.own.inpainter is not None
        if path is not None and path.exists() and not is_own:
            kept = load_stack(path, device=self.request.preset.diffusion.device)
            self._check_stack(kept, path)
            return kept
        stack = fit_stack(self.request, self.lineages, observer)
        if path is not None and isinstance(stack, BackboneStack):
            stack.save(path)
        return stack

    def _check_stack(self, stack: BackboneStack, path: Path) -> None:
        """Raise unless the backbones are what the name of their file says."""
        wanted = schema_to_json(self.request.real.schema)
        if (
            stack.config != self.request.preset.diffusion
            or stack.unseen_folds != self.lineages.members
            or schema_to_json(stack.schema) != wanted
        ):
            raise FileFormatError(
                f"{str(path)!r} holds backbones of another table, of other folds or "
                "settings. Remove the file to learn the table anew."
            )

    def progress(self, context: RunContext) -> Progress:
        """Return where this run stands: at its beginning, or where it was left."""
        start = fresh_start(self.request)
        path = self._progress_path()
        if path is None or not path.exists():
            return start
        return load_progress(path, context=context, start=start.steering)

    def keep(self, context: RunContext, progress: Progress) -> None:
        """Write down where the run stands."""
        if (path := self._progress_path()) is not None:
            save_progress(progress, path, context=context)

    def _progress_path(self) -> Path | None:
        request = self.request
        rules = () if request.rules is None else request.rules.rules
        decides = {
            **self._learned_from(),
            "augment": settings_of(request.config),
            "budget": self.budget,
            "evaluator": _described(request.evaluator.evaluator),
            "referee": _described(request.referee.evaluator),
            "metric": [request.metric.name, describe_function(request.metric.judge)],
            "mixture": repr(request.mixture),
            "rules": [_rule(rule) for rule in rules],
        }
        if request.no_harm:
            decides["no harm"] = dict(request.no_harm)
        if request.weights is not None:
            weights = request.weights.astype("<f8").tobytes()
            decides["weights"] = hashlib.sha256(weights).hexdigest()
        if request.whole is not None:
            decides["whole"] = table_sha256(request.whole.real)
        own = {part: text for part, text in request.own.described.items() if text}
        if own:
            decides["own parts"] = own
        kept_to = [column.support for column in request.real.schema.features]
        if request.computed or any(kept_to):
            decides["computed"] = [repr(request.computed), kept_to]
        if request.teacher.teacher is not None:
            teaching = asdict(request.preset.teaching)
            decides["teacher"] = [_taught_by(request.teacher), teaching]
        return self._path("progress", decides)

    def _learned_from(self) -> dict[str, object]:
        fold = self.lineages.partitions.tobytes()
        return {
            "real": table_sha256(self.request.real),
            "schema": repr(self.request.real.schema),
            "folds": hashlib.sha256(fold).hexdigest(),
            "crossfit": self.lineages.crossfit,
            "seed": self.request.seed,
            "diffusion": asdict(self.request.preset.diffusion),
        }

    def _path(self, what: str, decides: dict[str, object]) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(decides, sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:_N_DIGITS]
        return self.folder / f"{what}-{digest}.tap"


def _described(judge: Evaluator) -> str:
    """Return a judge's name, and a learner's settings with it."""
    return f"{judge.name} {getattr(judge, 'estimator', '')!r}"


def _taught_by(chosen: ChosenTeacher) -> dict[str, str]:
    return {} if chosen.teacher is None else chosen.teacher.described


def _rule(rule: Rule) -> list[str]:
    """Return a rule's name and what it says; of a function, its code."""
    code = describe_function(getattr(rule, "function", None))
    return [rule.name, getattr(rule, "text", code)]


# ---- One run from a request to a result, which can be interrupted and taken up again.


AUTO_BUDGET = 2000
"""Most rows of ``budget="auto"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How far a run may go, who watches, and where it is kept."""

    budget: int | Literal["auto"]
    time_budget: float | None = None
    observer: Observer | None = None
    narrator: Narrator | NotebookProgress = field(default_factory=lambda: Narrator(0))
    checkpoint: Path | None = None
    notes: tuple[str, ...] = ()
    index: pd.Index | None = None
    """Labels of the rows given, if they came in pandas."""

    set_aside: SetAside | None = None
    """Rows given that have no label."""

    group_labels: NDArray[Any] | None = None
    """Whose row each real row is, in the user's words."""

    likely_groups: str = ""
    """A column that looks like groups, where none were named."""


def run(request: Request, terms: RunOptions) -> AugmentResult:
    """Learn the table, run the loop, and say what came of it."""
    watch = Stopwatch()
    lineages = lineages_of(request)
    too_large = request.whole is not None and request.whole.is_too_large
    if terms.budget == 0 or too_large:
        stop = Stop.BUDGET if terms.budget == 0 else Stop.SIZE
        outcome = Outcome(fresh_start(request), stop)
        return _result(request, terms, lineages, outcome, watch, AskedTargets())
    check_metric(referee_of(request, lineages).metric, request.real)
    _check_judges(request, lineages, watch)
    check_gates(request.own.gates, request.real, lineages)
    if request.own.inpainter is not None:
        check_inpainter(request.own.inpainter, request.real, lineages)
    n_members = len(lineages.members)
    terms.narrator.say(f"learning {len(request.real)} rows, {n_members} backbone(s)")
    watchers = Watchers((terms.narrator, *filter(None, [terms.observer])))
    kept = Checkpoint(terms.checkpoint, request, lineages, terms.budget)
    with watch.running("backbones"):
        stack = kept.stack(watchers)
    context = make_context(request, lineages, stack, watch)
    progress = kept.progress(context)
    # What learning the table took counts against the time budget as well.
    learning = watch.seconds["backbones"]
    progress = replace(progress, seconds=progress.seconds or learning)
    latest = [progress]

    def keep(progress: Progress) -> None:
        latest[:] = [progress]
        kept.keep(context, progress)

    limits, labeller = _limits(terms, request.whole), context.stages.labeller
    try:
        watchers.on_plan(_plan(request, lineages, progress, limits))
        outcome = augment(context, progress, limits, observer=watchers, keep=keep)
    except KeyboardInterrupt as interrupt:
        outcome = Outcome(latest[0], Stop.INTERRUPT)
        result = _result(request, terms, lineages, outcome, watch, labeller)
        raise RunInterrupted(_farewell(result, terms), result) from interrupt
    terms.narrator.say(f"the run is over: {outcome.stop.value}")
    return _result(request, terms, lineages, outcome, watch, labeller)


def _check_judges(request: Request, lineages: Lineages, watch: Stopwatch) -> None:
    """Let those who will judge fail now rather than after minutes of learning."""
    real, fold, carried = request.real, lineages.partitions[0], request.carried
    if lineages.crossfit:  # under the paper's protocol no referee is asked
        with watch.running("referee"):
            judge = weighted(request.referee.evaluator, request.weights)
            check_evaluator(judge, real, fold, "referee", carried)
            if "referee" in request.own.described:
                check_own_judge(request.referee.evaluator, real, lineages, "referee")
    with watch.running("evaluator"):
        check_evaluator(request.evaluator.evaluator, real, fold, "evaluator", carried)
        if "evaluator" in request.own.described:
            check_own_judge(request.evaluator.evaluator, real, lineages, "evaluator")


def _farewell(result: AugmentResult, terms: RunOptions) -> str:
    kept = "Nothing was committed yet."
    if n_rows := len(result.delivered):
        kept = f"The {n_rows} rows committed until then are in result_."
    if terms.checkpoint is None:
        again = "With checkpoint= a later call can go on from there."
    else:
        again = f"The same call goes on from {str(terms.checkpoint)!r}."
    n_windows = len(result.certificates)
    return f"The run was interrupted after {n_windows} windows. {kept} {again}"


def _plan(
    request: Request, lineages: Lineages, progress: Progress, limits: Limits
) -> RunPlan:
    teacher = "" if request.teacher.teacher is None else request.teacher.why
    if (teaching := teaching_time(request, lineages, limits.budget)) is not None:
        teacher = f"{teacher} {teaching.sentence}"
    return RunPlan(
        n_steps=request.config.n_steps,
        window_length=request.config.commit.window_length,
        budget=limits.budget,
        n_windows=progress.window,
        n_committed=len(lineages.delivered(progress.committed.rows)),
        teacher=teacher,
    )


def _limits(terms: RunOptions, whole: Whole | None) -> Limits:
    return Limits(
        budget=AUTO_BUDGET if terms.budget == "auto" else int(terms.budget),
        time_budget=terms.time_budget if whole is None else whole.seconds_to_begin,
        until_level=terms.budget == "auto",
    )


def _result(
    request: Request,
    terms: RunOptions,
    lineages: Lineages,
    outcome: Outcome,
    watch: Stopwatch,
    labeller: Labeller,
) -> AugmentResult:
    with watch.running("advice"):
        advice = _advice(request, lineages, outcome, labeller)
    teacher, teaching = request.teacher.teacher, request.preset.teaching
    about = RunAbout(
        seed=request.seed,
        budget=terms.budget,
        settings={
            "augment": asdict(request.preset.augment),
            "diffusion": asdict(request.preset.diffusion),
            **({} if teacher is None else {"teaching": asdict(teaching)}),
            **({"no_harm": dict(request.no_harm)} if request.no_harm else {}),
            **_own_parts(request),
        },
        evaluator=request.evaluator.evaluator.name,
        evaluator_why=request.evaluator.why,
        referee=request.referee.evaluator.name,
        referee_why=request.referee.why,
        teacher=request.teacher.name,
        teacher_why=request.teacher.why,
        teacher_members=_taught_by(request.teacher),
        teacher_condition=request.teacher.condition,
        versions=installed_versions(),
        seconds=watch.seconds,
        groups=terms.group_labels,
        rules=_rule_names(request),
        licences=_licences(request),
        advice=advice,
        likely_groups=terms.likely_groups,
        notes=terms.notes,
    )
    more: Any = {"index": terms.index, "set_aside": terms.set_aside}
    return AugmentResult.of(request.all_rows, outcome, lineages, about, **more)


def _advice(
    request: Request, lineages: Lineages, outcome: Outcome, labeller: Labeller
) -> tuple[Alternative, ...]:
    """Score what else could be done with the rows, if the run came to its end."""
    standing = outcome.progress.standing
    real, incumbent = standing.real, standing.incumbent
    if real is None or incumbent is None or outcome.stop is Stop.INTERRUPT:
        return ()
    if request.whole is not None:  # most of them would take hours on so many rows
        return ()
    passed = [c for c in outcome.progress.certificates if c.committed]
    with_rows = None
    if passed and standing.promised is not None and not incumbent.is_mean:
        last = passed[-1]
        learner, alone = last.learner, last.evidence["real"]
        task = "" if request.real.schema.target is None else task_of(request.real)
        with_rows = Tried(
            f"{learner} with new rows",
            f"Train {learner_words(learner, task)} on the bigger table.",
            alone + last.believed * (standing.promised - alone),
            incumbent.answers[learner],
            value=last.figures[0].with_rows if last.figures else None,
        )
    taught = getattr(labeller, "cross_fitted", None)
    teacher = None
    if taught is not None and lineages.crossfit:
        teacher = TeacherAlone(request.teacher.name, taught(request.real))
    return alternatives(referee_of(request, lineages), real, with_rows, teacher)


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
    """Return the licence of every set of weights that judged or taught."""
    used = {request.evaluator.evaluator.name, request.referee.evaluator.name}
    used |= set(_taught_by(request.teacher))
    if "tabpfn-v2" in used:
        used.add("tabpfn-v2-regressor")
    known = CHECKPOINTS.values()
    return {w.name: w.licence for w in known if w.name in used}
