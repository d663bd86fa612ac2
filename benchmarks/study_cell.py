"""The parts of a cell of the study: rungs, whole runs and poisoned pools.

All stand on the same backbones, fitted in one batch.  Each has not seen one fold of one
partition, but for the last, which has seen every real row; the crossfit runs use as
many of the former as they have partitions, everything else the last.  The referee is
the mean of the panel, as the paper averages its predictors; it is asked on untouched
test rows what a part's rows are really worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from cells import Cell, Settings
from records import Record

from tabtap.api.choices import choose_referee, task_of
from tabtap.api.run import Request, fresh_start, lineages_of, make_context
from tabtap.config import PRESETS, DiffusionConfig, Preset
from tabtap.diffusion import (
    Backbone,
    BackboneStack,
    fit_fold_backbones,
    load_stack,
)
from tabtap.domain import (
    Baseline,
    Bound,
    Certificate,
    CommitRequest,
    Decision,
    Lineages,
    ScoresToBeat,
)
from tabtap.domain.judgement import table_sha256, worth_of
from tabtap.domain.rows import WHOLE
from tabtap.evaluate.evaluators import PanelEvaluator
from tabtap.evaluate.metric import metric_of
from tabtap.loop import Limits, augment
from tabtap.rivals.ladder import (
    draw_hard_inpainting,
    draw_one_shot,
    draw_random_inpainting,
    paper_preset,
    request_for,
)
from tabtap.rivals.simple import independent_columns
from tabtap.stages import Commitment
from tabtap.stopwatch import Stopwatch
from tabtap.study.protocol import Repetition
from tabtap.table import Table
from tabtap.table.table import concat


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What all parts of a cell stand on."""

    cell: Cell
    repetition: Repetition
    stack: BackboneStack
    """The fold members in the order of their folds, then the one that saw all rows."""

    fit_seconds: float
    """CPU seconds of fitting them all, now or when they were kept."""

    @property
    def real(self) -> Table:
        """The real training rows."""
        return self.repetition.real

    def request(self, preset: Preset) -> Request:
        """Return a run on this cell's rows, as TabularAugmenter would ask for it."""
        return request_of(self.cell, self.real, preset)

    @property
    def whole(self) -> Backbone:
        """The backbone that saw every real row."""
        return self.stack[self.stack.unseen_folds.index(WHOLE)]

    def members(self, lineages: Lineages) -> BackboneStack:
        """Return the backbones of some lineages, in their order."""
        return self.stack.of_folds(lineages.members)


def request_of(cell: Cell, real: Table, preset: Preset) -> Request:
    """Return a run on some rows; the folds are the same for every preset."""
    request = request_for(real, preset, int(cell.stream("run").integers(2**31)))
    mean_of_panel = choose_referee(
        "panel",
        task_of(real),
        license_policy="open",
        n_jobs=1,
        n_folds=preset.augment.utility.n_folds,
    )
    return replace(request, referee=mean_of_panel)


def prepare(
    cell: Cell, repetition: Repetition, settings: Settings, kept: Path | None = None
) -> Ground:
    """Fit the backbones of a cell, or bring back those of a run that was stopped.

    Parameters
    ----------
    cell : Cell
        Which repetition.
    repetition : Repetition
        Its rows, as ``Cell.repetition`` gives them.
    settings : mapping
        Settings of the backbones that differ from the default.
    kept : Path, optional
        Where the backbones are kept, and looked for first.
    """
    seconds = None if kept is None else kept.with_suffix(".seconds")
    if kept is not None and seconds is not None and seconds.is_file():
        spent = float(seconds.read_text(encoding="utf-8"))
        return Ground(cell, repetition, load_stack(kept), spent)
    real = repetition.real
    # Of all runs it has the most partitions, and the others have the first of these.
    lineages = lineages_of(request_of(cell, real, RUNS["default"]))
    started = time.process_time()
    stack = fit_fold_backbones(
        real,
        lineages.partitions,
        rng=cell.stream("backbone"),
        config=DiffusionConfig(**settings),
        and_whole=True,
    )
    spent = time.process_time() - started
    if kept is not None and seconds is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        stack.save(kept)
        # Last: it says that the other file is whole.
        seconds.write_text(str(spent), encoding="utf-8")
    return Ground(cell, repetition, stack, spent)


def forget(kept: Path) -> None:
    """Remove the backbones of a cell that is done."""
    for file in (kept.with_suffix(".seconds"), kept):
        file.unlink(missing_ok=True)


# ---- What rows are really worth to the referee: its scores on untouched test rows.


Scores = dict[str, float]
"""The panel's mean ``score`` and mean ``loss``; the loss is in the unit of the paper's
estimates, cross-entropy or squared error of the standardised target."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Trains the panel on real and synthetic rows and asks it about the test rows."""

    repetition: Repetition

    known: dict[str, Scores] = field(default_factory=dict)
    """By the digest of the synthetic rows: an incumbent is scored once."""

    def scores(self, synthetic: Table) -> Scores:
        """Score the panel trained on the real rows and some synthetic ones."""
        digest = table_sha256(synthetic)
        if digest not in self.known:
            self.known[digest] = self._scores(synthetic)
        return self.known[digest]

    def gains(self, before: Table, after: Table) -> dict[str, Scores]:
        """Return what rows gain over real rows only and over an incumbent.

        Larger is better, of the loss too: it is the reduction that is stated.
        """
        new = self.scores(after)
        rivals = {
            "over_real": self.scores(after.empty()),
            "over_incumbent": self.scores(before),
        }
        return {
            name: {
                "score": round(new["score"] - old["score"], 6),
                "loss": round(old["loss"] - new["loss"], 6),
            }
            for name, old in rivals.items()
        }

    def _scores(self, synthetic: Table) -> Scores:
        real, test = self.repetition.real, self.repetition.test
        context = concat([real, synthetic])
        answer = PanelEvaluator().predict([context], [test])[0].in_unit_of(real)
        return {
            "score": float(np.mean(metric_of("score").score(answer, test))),
            "loss": float(np.mean(answer.losses(test))),
        }


# ---- The rungs below the loop, drawn from the backbone that a cell's parts share.


RUNGS: Mapping[str, Callable[[Ground, int, np.random.Generator], Table]] = {
    "one shot": lambda ground, n, rng: draw_one_shot(ground.whole, ground.real, n, rng),
    "random inpainting": lambda ground, n, rng: draw_random_inpainting(
        ground.whole, ground.real, n, rng
    ),
    "hard inpainting": lambda ground, n, rng: draw_hard_inpainting(
        ground.whole, ground.request(paper_preset()), n, rng
    ),
}
"""By name: whole rows, classes or target bins evenly; a random share of random cells of
real rows, each equally likely; little of the rows that the evaluator finds hardest,
through the paper's gates."""


# ---- Whole runs of the loop, every commitment check on record.
#
# The presets differ in their loop and judges only: all use the backbones of the cell,
# so that a difference between them is not one of generators.


PAPER_LOOP = "paper loop"
"""The paper's loop with 60 steps on our compact backbones: not its whole method."""

RUNS: Mapping[str, Preset] = {
    PAPER_LOOP: paper_preset(),
    "default": PRESETS["default"],
    "fast": PRESETS["fast"],
}
"""Presets by the name of their rung."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCommitment:
    """Decides as the commitment it wraps, and keeps what was decided about what."""

    inner: Commitment
    seen: list[tuple[CommitRequest, Decision]] = field(default_factory=list)

    def check(self, trial: CommitRequest) -> Decision:
        """Let the commitment decide, and remember."""
        decision = self.inner.check(trial)
        self.seen.append((trial, decision))
        return decision


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: its rows, its checks and what it took."""

    rows: Table
    checks: tuple[tuple[CommitRequest, Decision], ...]
    min_gain: float
    """Smallest gain that its rule lets in."""

    stop: str
    evaluator: str
    seconds: Mapping[str, float]
    """CPU seconds: ``run``, everything but the backbones, and its stages."""


def run_loop(ground: Ground, preset: Preset, budget: int) -> Run:
    """Run the loop of a preset on the cell's backbones."""
    request, watch = ground.request(preset), Stopwatch()
    lineages = lineages_of(request)
    started = time.process_time()
    context = make_context(request, lineages, ground.members(lineages), watch)
    watched = WatchedCommitment(context.stages.commitment)
    context = replace(context, stages=replace(context.stages, commitment=watched))
    outcome = augment(context, fresh_start(request), Limits(budget=budget))
    spent = time.process_time() - started
    committed = outcome.progress.committed.rows
    return Run(
        rows=committed.take(lineages.delivered(committed)),
        checks=tuple(watched.seen),
        min_gain=preset.augment.commit.min_gain,
        stop=outcome.stop.value,
        evaluator=request.evaluator.evaluator.name,
        seconds={"run": spent, **watch.cpu_seconds},
    )


def check_records(run: Run, truth: Truth) -> list[Record]:
    """Return one record per commitment check, with the true gain of its pool."""
    return [
        checked(trial, decision, truth, run.min_gain)
        for trial, decision in run.checks
        if len(trial.pool)
    ]


def checked(
    trial: CommitRequest, decision: Decision, truth: Truth, min_gain: float
) -> Record:
    """Return what was estimated and decided about a pool, and what was true.

    The truth is that of the part of the pool that the certificate is about.
    """
    certificate = decision.certificate
    everything = concat([trial.committed, trial.pool.take(decision.kept)])
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
        "n_folds": certificate.n_folds,
        "min_gain": min_gain,
        "worth": None
        if over_real is None
        else worth_of(certificate.scorer, over_real, certificate.figures),
        "plain_falls": _plain_falls(certificate),
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


def _plain_falls(certificate: Certificate) -> bool:
    """Whether accuracy or RMSE is estimated to get worse, which nothing makes good."""
    figures = certificate.figures
    return bool(figures) and figures[0].gain < 0.0


def _bound(bound: Bound) -> dict[str, float]:
    return {
        "gain": float(bound.gain),
        "margin": float(bound.margin),
        "confidence": bound.confidence,
    }


# ---- Good pools and their poisoned twins, offered to both rules of commitment.
#
# A pool is offered alone, with nothing committed.  Twins share their rows; only labels
# differ, so what a rule thinks of them can be compared pair by pair.


POOL_ROWS = 250
"""Rows of a pool in each lineage, which is also how many are delivered."""

CLEAN = "clean"
NOISE = "noise"
SHUFFLED = {"30 % shuffled": 0.3, "50 % shuffled": 0.5, "100 % shuffled": 1.0}
"""Pools by the share of their rows whose labels are shuffled."""

OFFERED_TO = {"crossfit": RUNS["default"], "paper": RUNS[PAPER_LOOP]}
"""The preset whose commitment is asked, by protocol."""


def poison_records(ground: Ground, truth: Truth) -> list[Record]:
    """Offer every pool to every rule; one record for each."""
    return [
        {"pool": name, **record}
        for protocol in OFFERED_TO
        for name, record in _offered(ground, protocol, truth)
    ]


def clean_pool(
    stack: BackboneStack, real: Table, lineages: Lineages, rng: np.random.Generator
) -> Table:
    """Draw whole rows from every member, targets as frequent as in what it saw."""
    targets = [
        real.condition[rng.choice(lineages.seen(member), size=POOL_ROWS)]
        for member in lineages.members
    ]
    return concat(stack.sample(targets, rng))


def shuffled(pool: Table, share: float, rng: np.random.Generator) -> Table:
    """Permute the targets of a share of the rows, within each lineage."""
    source = np.arange(len(pool))
    for member in np.unique(pool.unseen_fold):
        rows = rng.permutation(np.flatnonzero(pool.unseen_fold == member))
        chosen = rows[: round(share * len(rows))]
        source[chosen] = rng.permutation(chosen)
    if pool.schema.target is not None and pool.schema.target.task == "regression":
        return pool.with_target(pool.target_values[source])
    return replace(pool, target=pool.target[source])


def noise_pool(real: Table, lineages: Lineages, rng: np.random.Generator) -> Table:
    """Draw every column and the target by itself, from what each lineage has seen."""
    parts = []
    for member in lineages.members:
        seen = real.take(lineages.seen(member))
        rows = independent_columns(seen, POOL_ROWS, rng)
        parts.append(rows.with_origin(unseen_fold=member))
    return concat(parts)


def _pools(
    ground: Ground, lineages: Lineages, protocol: str
) -> Iterator[tuple[str, Table]]:
    cell, real = ground.cell, ground.real
    stack = ground.members(lineages)
    clean = clean_pool(stack, real, lineages, cell.stream(f"clean {protocol}"))
    yield CLEAN, clean
    for name, share in SHUFFLED.items():
        yield name, shuffled(clean, share, cell.stream(f"{name} {protocol}"))
    yield NOISE, noise_pool(real, lineages, cell.stream(f"noise {protocol}"))


def _offered(
    ground: Ground, protocol: str, truth: Truth
) -> Iterator[tuple[str, Record]]:
    request = ground.request(OFFERED_TO[protocol])
    lineages, real = lineages_of(request), ground.real
    context = make_context(request, lineages, ground.members(lineages), Stopwatch())
    standing, baseline = ScoresToBeat(), _unasked(real)
    if not lineages.crossfit:
        baseline = context.stages.utility.baseline(real.empty())
    min_gain = request.config.commit.min_gain
    for name, pool in _pools(ground, lineages, protocol):
        trial = CommitRequest(0, lineages, real.empty(), pool, baseline, standing, 0)
        decision = context.stages.commitment.check(trial)
        # Whatever was decided, the next pool also comes first; what real rows alone
        # score is known now.
        standing = _before_any(decision.standing)
        yield name, checked(trial, decision, truth, min_gain)


def _before_any(standing: ScoresToBeat) -> ScoresToBeat:
    """Return what the first pool is compared with, once real rows were scored."""
    real = standing.real
    if real is None:  # the paper's rule asks for nothing
        return ScoresToBeat()
    ((learner, scores),) = real.choices().items()
    return ScoresToBeat(real, real, scores, learner)


def _unasked(real: Table) -> Baseline:
    """Return a baseline for a rule that does not look at it."""
    nothing = np.zeros(len(real))
    return Baseline((), (), (), nothing, nothing)
