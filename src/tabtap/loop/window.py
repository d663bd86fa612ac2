"""One window: actions, candidates, gates and feedback, until the pool is full.

Every draw has a stream named after its step, or after the first step of its batch, so
it does not depend on what was drawn before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from tabtap.config import AugmentConfig
from tabtap.domain import (
    Action,
    Admission,
    Baseline,
    Candidates,
    Experience,
    GateContext,
    LearnerState,
    Lineages,
    StepRecord,
)
from tabtap.loop.progress import Progress, Stages
from tabtap.rng import stream
from tabtap.stages import ActionPolicy, Critic, Sensor, SpreadingPolicy
from tabtap.table.table import Table, concat


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What does not change during a run."""

    real: Table
    lineages: Lineages
    stages: Stages
    config: AugmentConfig
    seed: int

    seen: Mapping[int, Table] = field(init=False)
    """The real rows that each lineage has seen: one table for the whole run, so that
    what gates compute of it is computed once."""

    def __post_init__(self) -> None:
        seen = {m: self.real.take(self.lineages.seen(m)) for m in self.lineages.members}
        object.__setattr__(self, "seen", MappingProxyType(seen))


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """A window that is being filled."""

    pool: Candidates
    policy: ActionPolicy
    sensor: Sensor
    critic: Critic
    steps: tuple[StepRecord, ...]


OnStep = Callable[[StepRecord], None]


def fill_window(
    scene: Scene,
    progress: Progress,
    baseline: Baseline,
    on_step: OnStep,
    in_time: Callable[[], bool],
) -> Open | None:
    """Take a window's actions (lines 4 to 14 of algorithm 1); None if time ran out."""
    config = scene.config
    first = progress.window * config.commit.window_length
    now = Open(
        Candidates.none(scene.real), progress.policy, progress.sensor, progress.critic,
        (),
    )  # fmt: skip
    last = first + config.commit.window_length
    for start in range(first, last, config.actions_per_batch):
        if not in_time():
            return None
        numbers = range(start, min(start + config.actions_per_batch, last))
        now = _take_actions(scene, progress, baseline, now, numbers)
        for record in now.steps[-len(numbers) :]:
            on_step(record)
    return now


def _take_actions(
    scene: Scene, progress: Progress, baseline: Baseline, now: Open, numbers: range
) -> Open:
    committed = progress.committed
    state = now.sensor.read(
        scene.real,
        _delivered(scene, committed),
        _delivered(scene, now.pool),
        baseline.uncertainty,
    )
    actions = _draw_actions(scene, now.policy, state, numbers)
    proposed = scene.stages.proposer.propose(
        scene.real,
        committed.rows,
        baseline.hardness,
        actions,
        [stream(scene.seed, "proposal", step) for step in numbers],
    )
    pool = now.pool
    admissions = []
    for step, candidates in zip(numbers, proposed, strict=True):
        numbered = replace(candidates, step=np.full(len(candidates), step, np.int64))
        admission = _admit(scene, baseline, committed, pool, numbered)
        admissions.append(admission)
        pool = Candidates.joined([pool, admission.admitted])
    gains = _gains(scene, baseline, admissions)
    told = _learn(now, state, actions, proposed, admissions, gains)
    records = [
        replace(record, step=step, window=progress.window)
        for step, record in zip(numbers, told.steps, strict=True)
    ]
    return replace(told, pool=pool, steps=(*now.steps, *records))


def _draw_actions(
    scene: Scene, policy: ActionPolicy, state: LearnerState, numbers: range
) -> list[Action]:
    if len(numbers) > 1 and isinstance(policy, SpreadingPolicy):
        rng = stream(scene.seed, "action", numbers[0])
        return policy.spread(state, len(numbers), rng)
    return [policy.sample(state, stream(scene.seed, "action", t)) for t in numbers]


def _gains(
    scene: Scene, baseline: Baseline, admissions: Sequence[Admission]
) -> list[float]:
    if not scene.config.policy.updates_per_step:
        # A policy that does not learn has no use for the answer, which is dear.
        return [float("nan")] * len(admissions)
    added = [admission.admitted.rows for admission in admissions]
    estimates = scene.stages.utility.gains(baseline, added)
    return [
        estimate.gain if len(rows) else float("nan")
        for estimate, rows in zip(estimates, added, strict=True)
    ]


def _delivered(scene: Scene, candidates: Candidates) -> Table:
    return candidates.rows.take(scene.lineages.delivered(candidates.rows))


def _admit(
    scene: Scene,
    baseline: Baseline,
    committed: Candidates,
    pool: Candidates,
    candidates: Candidates,
) -> Admission:
    """Apply the gates lineage by lineage: none may look at what another has seen."""
    parts = []
    for member in scene.lineages.members:
        mine = candidates.of_lineage(member)
        if not len(mine):
            continue
        keeper = scene.stages.gatekeeper
        kept = [scene.lineages.held_by(member, t.rows) for t in (committed, pool)]
        ask = keeper.needs_prediction
        context = GateContext(
            scene.seen[member],
            concat(kept),
            scene.stages.utility.foresee(mine.rows) if ask else None,
            baseline.hardness[scene.lineages.seen(member)] if ask else None,
        )
        parts.append(keeper.admit(mine, context))
    if not parts:
        return Admission(Candidates.none(scene.real), {})
    names = [name for part in parts for name in part.refused]
    refused = {
        name: sum(part.refused.get(name, 0) for part in parts)
        for name in dict.fromkeys(names)
    }
    return Admission(Candidates.joined([part.admitted for part in parts]), refused)


def _learn(
    now: Open,
    state: LearnerState,
    actions: Sequence[Action],
    proposed: Sequence[Candidates],
    admissions: Sequence[Admission],
    gains: Sequence[float],
) -> Open:
    sensor, critic = now.sensor, now.critic
    records, experience = [], []
    for action, candidates, admission, gain in zip(
        actions, proposed, admissions, gains, strict=True
    ):
        n_passed, n_proposed = len(admission.admitted), len(candidates)
        sensor = sensor.noted(action.template, n_passed, n_proposed)
        feedback, advantage, critic = critic.judged(gain, n_passed)
        experience.append(Experience(state, action, feedback))
        records.append(
            StepRecord(
                step=0,
                window=0,
                state=state,
                action=action,
                n_proposed=n_proposed,
                refused=admission.refused,
                n_admitted=n_passed,
                gain=gain,
                advantage=advantage,
                feedback=feedback,
            )
        )
    return Open(
        now.pool, now.policy.improved(experience), sensor, critic, tuple(records)
    )
