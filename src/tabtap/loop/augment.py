"""Algorithm 1 of the paper: propose, admit, judge, learn, and commit what is shown.

Read ``augment`` line by line beside appendix C.1; ``fill_window`` is its inner loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

import numpy as np

from tabtap.config import AugmentConfig
from tabtap.domain import (
    ActionOutcome,
    Admission,
    Baseline,
    Candidates,
    Certificate,
    CommitRequest,
    GateContext,
    Lineages,
    ScoresToBeat,
    StepRecord,
    WindowRecord,
)
from tabtap.rng import stream
from tabtap.stages import (
    Commitment,
    Gatekeeper,
    Labeller,
    Observer,
    Proposer,
    Steering,
    Utility,
)
from tabtap.table.table import Table, concat


class Stop(str, Enum):
    """Why a run ended."""

    BUDGET = "the budget is reached"
    PATIENCE = "several windows in a row were refused"
    TIME = "the time budget is over"
    STEPS = "every step was taken"
    LEVEL = "the gain has levelled off"
    INTERRUPT = "it was interrupted"
    SIZE = "the table has more rows than can be judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When to stop."""

    budget: int
    """Rows to deliver."""

    time_budget: float | None = None
    """Seconds, over all sittings."""

    until_level: bool = False
    """Whether one refusal after a success means that the gain has levelled off."""

    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A finished run."""

    progress: Progress
    stop: Stop


def augment(
    context: RunContext,
    progress: Progress,
    limits: Limits,
    *,
    observer: Observer | None = None,
    keep: Keep | None = None,
) -> Outcome:
    """Run windows until there is a reason to stop.

    Parameters
    ----------
    context : RunContext
        Real rows, lineages, stages, settings and seed.
    progress : Progress
        Where to begin: a fresh start, or what ``keep`` was given.
    limits : Limits
        When to stop.
    observer : Observer, optional
        Told of every step and window.
    keep : callable, optional
        Given the progress after every window.

    Returns
    -------
    Outcome
        What was committed, the trace of all steps and certificates, and why it ended.
        A run that is continued from any kept progress ends as if never interrupted.
    """
    started = limits.clock() - progress.seconds
    seconds_before = progress.seconds, progress.window
    stop = _reason_to_stop(context, progress, limits)
    while stop is None:
        baseline = context.stages.utility.baseline(progress.committed.rows)
        window = fill_window(
            context,
            progress,
            baseline,
            observer.on_step if observer else _ignore,
            lambda: not _is_over(limits.clock() - started, limits),
        )
        if window is None:
            return Outcome(progress, Stop.TIME)
        progress = _check_pool(context, progress, baseline, window, limits)
        progress = replace(progress, seconds=limits.clock() - started)
        # Kept first: what was shown as committed must not be lost.
        if keep:
            keep(progress)
        if observer:
            left = _seconds_left(context, progress, limits, seconds_before)
            observer.on_window(_window_record(context, progress, limits, left))
        stop = _reason_to_stop(context, progress, limits)
    return Outcome(progress, stop)


def _check_pool(
    context: RunContext,
    progress: Progress,
    baseline: Baseline,
    window: WindowInProgress,
    limits: Limits,
) -> Progress:
    """Let the pool in or discard it (lines 15 to 21 of algorithm 1)."""
    pool = _cut_to_budget(context, progress.committed, window.pool, limits.budget)
    request = CommitRequest(
        progress.window,
        context.lineages,
        progress.committed.rows,
        pool.rows,
        baseline,
        progress.standing,
        progress.n_attempts_used,
    )
    decision = context.stages.commitment.check(request)
    certificate, committed = decision.certificate, progress.committed
    if certificate.committed:
        committed = Candidates.joined([committed, pool.take(decision.kept)])
    return replace(
        progress,
        committed=committed,
        steering=window.steering,
        standing=decision.standing,
        steps=(*progress.steps, *window.steps),
        certificates=(*progress.certificates, certificate),
    )


def _cut_to_budget(
    context: RunContext, committed: Candidates, pool: Candidates, budget: int
) -> Candidates:
    """Cut every lineage to the rows there is room for, spread over the window."""
    n_kept = context.lineages.fitting(committed.rows, pool.rows, budget)
    chosen = np.zeros(len(pool), dtype=np.bool_)
    for member, n_rows in zip(context.lineages.members, n_kept, strict=True):
        rows = np.flatnonzero(pool.rows.unseen_fold == member)
        spread = np.linspace(0, len(rows) - 1, n_rows).round()
        chosen[rows[spread.astype(np.int64)]] = True
    return pool.take(chosen)


def _reason_to_stop(
    context: RunContext, progress: Progress, limits: Limits
) -> Stop | None:
    config = context.config
    failures = progress.failures_in_a_row
    succeeded = failures < progress.window
    n_taken = progress.window * config.commit.window_length
    reasons = (
        (Stop.BUDGET, _n_delivered(context, progress.committed) >= limits.budget),
        (Stop.LEVEL, limits.until_level and succeeded and failures > 0),
        (Stop.PATIENCE, failures >= config.commit.patience),
        (Stop.STEPS, n_taken >= config.n_steps),
        (Stop.TIME, _is_over(progress.seconds, limits)),
    )
    return next((stop for stop, holds in reasons if holds), None)


def _is_over(seconds: float, limits: Limits) -> bool:
    return limits.time_budget is not None and seconds >= limits.time_budget


def _n_delivered(context: RunContext, committed: Candidates) -> int:
    return len(context.lineages.delivered(committed.rows))


def _window_record(
    context: RunContext, progress: Progress, limits: Limits, seconds_left: float
) -> WindowRecord:
    return WindowRecord(
        progress.certificates[-1],
        _n_delivered(context, progress.committed),
        limits.budget,
        progress.seconds,
        seconds_left,
    )


def _seconds_left(
    context: RunContext, progress: Progress, limits: Limits, begun: tuple[float, int]
) -> float:
    """Return how long the run may yet take, at the pace of this sitting's windows."""
    seconds, window = begun
    pace = (progress.seconds - seconds) / (progress.window - window)
    config = context.config
    n_windows = config.n_steps // config.commit.window_length - progress.window
    last = progress.certificates[-1].n_rows
    missing = limits.budget - _n_delivered(context, progress.committed)
    if last:
        n_windows = min(n_windows, -(-missing // last))
    left = pace * max(n_windows, 0)
    if limits.time_budget is not None:
        left = min(left, max(limits.time_budget - progress.seconds, 0.0))
    return left


def _ignore(record: StepRecord) -> None:
    del record  # nobody watches


# ---- One window: actions, candidates, gates and feedback, until the pool is full.
#
# Every draw has a stream named after its step, or after the first step of its batch, so
# it does not depend on what was drawn before.


@dataclass(frozen=True, slots=True, eq=False)
class RunContext:
    """What does not change during a run."""

    real: Table
    lineages: Lineages
    stages: Stages
    config: AugmentConfig
    seed: int
    n_judged: int | None = None
    """Rows that a referee scores, where ``real`` is a sample of them."""

    seen: Mapping[int, Table] = field(init=False)
    """The real rows that each lineage has seen: one table for the whole run, so that
    what gates compute of it is computed once."""

    def __post_init__(self) -> None:
        seen = {m: self.real.take(self.lineages.seen(m)) for m in self.lineages.members}
        object.__setattr__(self, "seen", MappingProxyType(seen))


@dataclass(frozen=True, slots=True, eq=False)
class WindowInProgress:
    """A window that is being filled."""

    pool: Candidates
    steering: Steering
    steps: tuple[StepRecord, ...] = ()


OnStep = Callable[[StepRecord], None]


def fill_window(
    context: RunContext,
    progress: Progress,
    baseline: Baseline,
    on_step: OnStep,
    in_time: Callable[[], bool],
) -> WindowInProgress | None:
    """Take a window's actions (lines 4 to 14 of algorithm 1); None if time ran out."""
    config = context.config
    first = progress.window * config.commit.window_length
    now = WindowInProgress(Candidates.none(context.real), progress.steering)
    last = first + config.commit.window_length
    for start in range(first, last, config.actions_per_batch):
        if not in_time():
            return None
        numbers = range(start, min(start + config.actions_per_batch, last))
        now = _take_actions(context, progress, baseline, now, numbers)
        for record in now.steps[-len(numbers) :]:
            on_step(record)
    return now


def _take_actions(
    context: RunContext,
    progress: Progress,
    baseline: Baseline,
    now: WindowInProgress,
    numbers: range,
) -> WindowInProgress:
    committed = progress.committed
    state, actions = now.steering.decide(
        context.real,
        _delivered_rows(context, committed),
        _delivered_rows(context, now.pool),
        baseline.uncertainty,
        [stream(context.seed, "action", step) for step in numbers],
    )
    proposed = context.stages.proposer.propose(
        context.real,
        committed.rows,
        baseline.hardness,
        actions,
        [stream(context.seed, "proposal", step) for step in numbers],
    )
    pool = now.pool
    admissions = []
    for candidates in _labelled(context, proposed, numbers):
        admission = _admit(context, baseline, committed, pool, candidates)
        admissions.append(admission)
        pool = Candidates.joined([pool, admission.admitted])
    gains = _gains(context, baseline, admissions)
    outcomes = [
        ActionOutcome(action, len(admission.admitted), len(candidates), gain)
        for action, admission, candidates, gain in zip(
            actions, admissions, proposed, gains, strict=True
        )
    ]
    judged, steering = now.steering.learn(state, outcomes)
    records = [
        StepRecord(
            step=step,
            window=progress.window,
            state=state,
            action=outcome.action,
            n_proposed=outcome.n_proposed,
            refused=admission.refused,
            n_admitted=outcome.n_passed,
            gain=outcome.gain,
            advantage=advantage,
            feedback=feedback,
        )
        for step, outcome, admission, (feedback, advantage) in zip(
            numbers, outcomes, admissions, judged, strict=True
        )
    ]
    return WindowInProgress(pool, steering, (*now.steps, *records))


def _labelled(
    context: RunContext, proposed: Sequence[Candidates], numbers: range
) -> list[Candidates]:
    """Have all candidates of a batch labelled in one call; each knows its step."""
    numbered = [
        replace(part, step=np.full(len(part), step, np.int64))
        for step, part in zip(numbers, proposed, strict=True)
    ]
    labelled = context.stages.labeller.label(Candidates.joined(numbered))
    return [labelled.take(labelled.step == step) for step in numbers]


def _gains(
    context: RunContext, baseline: Baseline, admissions: Sequence[Admission]
) -> list[float]:
    if not context.config.policy.updates_per_step:
        # A policy that does not learn needs no gains, which are costly.
        return [float("nan")] * len(admissions)
    added = [admission.admitted.rows for admission in admissions]
    estimates = context.stages.utility.gains(baseline, added)
    return [
        estimate.gain if len(rows) else float("nan")
        for estimate, rows in zip(estimates, added, strict=True)
    ]


def _delivered_rows(context: RunContext, candidates: Candidates) -> Table:
    return candidates.rows.take(context.lineages.delivered(candidates.rows))


def _admit(
    context: RunContext,
    baseline: Baseline,
    committed: Candidates,
    pool: Candidates,
    candidates: Candidates,
) -> Admission:
    """Apply the gates lineage by lineage: none may look at what another has seen."""
    parts = []
    for member in context.lineages.members:
        mine = candidates.of_lineage(member)
        if not len(mine):
            continue
        keeper = context.stages.gatekeeper
        kept = [context.lineages.held_by(member, t.rows) for t in (committed, pool)]
        ask = keeper.needs_prediction
        gate_context = GateContext(
            context.seen[member],
            concat(kept),
            context.stages.utility.foresee(mine.rows) if ask else None,
            baseline.hardness[context.lineages.seen(member)] if ask else None,
        )
        parts.append(keeper.admit(mine, gate_context))
    if not parts:
        return Admission(Candidates.none(context.real), {})
    names = [name for part in parts for name in part.refused]
    refused = {
        name: sum(part.refused.get(name, 0) for part in parts)
        for name in dict.fromkeys(names)
    }
    return Admission(Candidates.joined([part.admitted for part in parts]), refused)


# ---- Where a run stands between two windows: all that is needed to go on.


@dataclass(frozen=True, slots=True)
class AskedTargets:
    """No teacher: a row has the target that it was drawn for, as in the paper."""

    def label(self, candidates: Candidates) -> Candidates:
        """Return the candidates as they are."""
        return candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The parts that a run is made of; those that learn are in ``Progress``."""

    proposer: Proposer
    gatekeeper: Gatekeeper
    utility: Utility
    commitment: Commitment
    labeller: Labeller = field(default_factory=AskedTargets)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Progress:
    """A run between two windows."""

    committed: Candidates
    """Synthetic rows of all lineages that were let in."""

    steering: Steering
    """What has learned from the steps so far."""

    standing: ScoresToBeat = field(default_factory=ScoresToBeat)
    steps: tuple[StepRecord, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    seconds: float = 0.0
    """Time spent, over all sittings."""

    @property
    def window(self) -> int:
        """Number of the next window."""
        return len(self.certificates)

    @property
    def n_attempts_used(self) -> int:
        """Attempts that are used up; see ``attempts_used``."""
        return attempts_used(self.certificates)

    @property
    def failures_in_a_row(self) -> int:
        """Windows refused since the last one that was committed."""
        count = 0
        for certificate in reversed(self.certificates):
            if certificate.committed:
                break
            count += 1
        return count


def attempts_used(certificates: Sequence[Certificate]) -> int:
    """Count the pools that were not shown to beat the real rows.

    A pool that was, but added nothing to the incumbent, is refused and uses up no
    attempt; nor does a window without a single candidate.
    """
    return sum(not c.shown and c.n_judged > 0 for c in certificates)


Keep = Callable[[Progress], None]
"""Called after every window, to save a run that may be interrupted."""
