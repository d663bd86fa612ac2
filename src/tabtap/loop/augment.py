"""Algorithm 1 of the paper: propose, admit, judge, learn, and commit what is shown.

Read ``augment`` line by line beside appendix C.1; ``loop.window`` is its inner loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from tabtap.domain import Baseline, Candidates, StepRecord, Trial, WindowRecord
from tabtap.loop.progress import Keep, Progress
from tabtap.loop.window import Open, Scene, fill_window
from tabtap.stages import Observer


class Stop(str, Enum):
    """Why a run ended."""

    BUDGET = "the budget is reached"
    PATIENCE = "several windows in a row were refused"
    TIME = "the time budget is over"
    STEPS = "every step was taken"
    LEVEL = "the gain has levelled off"
    INTERRUPT = "it was interrupted"


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
    scene: Scene,
    progress: Progress,
    limits: Limits,
    *,
    observer: Observer | None = None,
    keep: Keep | None = None,
) -> Outcome:
    """Run windows until there is a reason to stop.

    Parameters
    ----------
    scene : Scene
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
    stop = _reason_to_stop(scene, progress, limits)
    while stop is None:
        baseline = scene.stages.utility.baseline(progress.committed.rows)
        window = fill_window(
            scene,
            progress,
            baseline,
            observer.on_step if observer else _ignore,
            lambda: not _is_over(limits.clock() - started, limits),
        )
        if window is None:
            return Outcome(progress, Stop.TIME)
        progress = _checked(scene, progress, baseline, window, limits)
        progress = replace(progress, seconds=limits.clock() - started)
        # Kept first: what was shown as committed must not be lost.
        if keep:
            keep(progress)
        if observer:
            left = _seconds_left(scene, progress, limits, seconds_before)
            observer.on_window(_window_record(scene, progress, limits, left))
        stop = _reason_to_stop(scene, progress, limits)
    return Outcome(progress, stop)


def _checked(
    scene: Scene, progress: Progress, baseline: Baseline, window: Open, limits: Limits
) -> Progress:
    """Let the pool in or discard it (lines 15 to 21 of algorithm 1)."""
    pool = _fitting(scene, progress.committed, window.pool, limits.budget)
    trial = Trial(
        progress.window,
        scene.lineages,
        progress.committed.rows,
        pool.rows,
        baseline,
        progress.standing,
        progress.n_failures,
    )
    certificate, standing = scene.stages.commitment.check(trial)
    committed = progress.committed
    if certificate.committed:
        committed = Candidates.joined([committed, pool])
    return replace(
        progress,
        committed=committed,
        policy=window.policy,
        sensor=window.sensor,
        critic=window.critic,
        standing=standing,
        steps=(*progress.steps, *window.steps),
        certificates=(*progress.certificates, certificate),
    )


def _fitting(
    scene: Scene, committed: Candidates, pool: Candidates, budget: int
) -> Candidates:
    """Cut every lineage to the rows there is room for, spread over the window."""
    n_kept = scene.lineages.fitting(committed.rows, pool.rows, budget)
    chosen = np.zeros(len(pool), dtype=np.bool_)
    for member, n_rows in zip(scene.lineages.members, n_kept, strict=True):
        rows = np.flatnonzero(pool.rows.unseen_fold == member)
        spread = np.linspace(0, len(rows) - 1, n_rows).round()
        chosen[rows[spread.astype(np.int64)]] = True
    return pool.take(chosen)


def _reason_to_stop(scene: Scene, progress: Progress, limits: Limits) -> Stop | None:
    config = scene.config
    failures = progress.failures_in_a_row
    succeeded = failures < progress.window
    n_taken = progress.window * config.commit.window_length
    reasons = (
        (Stop.BUDGET, _n_delivered(scene, progress.committed) >= limits.budget),
        (Stop.LEVEL, limits.until_level and succeeded and failures > 0),
        (Stop.PATIENCE, failures >= config.commit.patience),
        (Stop.STEPS, n_taken >= config.n_steps),
        (Stop.TIME, _is_over(progress.seconds, limits)),
    )
    return next((stop for stop, holds in reasons if holds), None)


def _is_over(seconds: float, limits: Limits) -> bool:
    return limits.time_budget is not None and seconds >= limits.time_budget


def _n_delivered(scene: Scene, committed: Candidates) -> int:
    return len(scene.lineages.delivered(committed.rows))


def _window_record(
    scene: Scene, progress: Progress, limits: Limits, seconds_left: float
) -> WindowRecord:
    return WindowRecord(
        progress.certificates[-1],
        _n_delivered(scene, progress.committed),
        limits.budget,
        progress.seconds,
        seconds_left,
    )


def _seconds_left(
    scene: Scene, progress: Progress, limits: Limits, begun: tuple[float, int]
) -> float:
    """Return how long the run may yet take, at the pace of this sitting's windows."""
    seconds, window = begun
    pace = (progress.seconds - seconds) / (progress.window - window)
    config = scene.config
    n_windows = config.n_steps // config.commit.window_length - progress.window
    last = progress.certificates[-1].n_rows
    missing = limits.budget - _n_delivered(scene, progress.committed)
    if last:
        n_windows = min(n_windows, -(-missing // last))
    left = pace * max(n_windows, 0)
    if limits.time_budget is not None:
        left = min(left, max(limits.time_budget - progress.seconds, 0.0))
    return left


def _ignore(record: StepRecord) -> None:
    del record  # nobody watches
