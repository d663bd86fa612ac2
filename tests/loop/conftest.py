"""Stages whose answers are known in advance, so that a run takes milliseconds.

A synthetic row says itself what it is worth: the number in its only column.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from stand_ins import (
    BestCritic,
    CountingPolicy,
    CountingSensor,
    CountingSteering,
    EvenPolicy,
    LineageRows,
    ToldGates,
    WorthReferee,
    WorthUtility,
)

from tabtap.config import AugmentConfig, CommitConfig
from tabtap.domain import Candidates, Lineages
from tabtap.loop import (
    CrossfitCommitment,
    Limits,
    PaperCommitment,
    Progress,
    RunContext,
    Stages,
    augment,
)

N_TARGETS = 3


def worth_of(rows):
    return rows.cells[0]


def rows_worth(worth, n_rows):
    """Make rows of a worth that is asked for."""

    def make(action, real, seen, rng):
        rows = real.take(rng.choice(seen, n_rows))
        cells = np.asarray(worth(action, rng, n_rows), np.float64)
        return replace(rows, cells=(cells,)), np.ones((n_rows, 1), bool)

    return make


def gates(admits):
    """Admit rows by their worth."""
    return ToldGates(
        passes=lambda shown: [bool(admits(worth)) for worth in worth_of(shown.rows)],
        scores=lambda admitted: {"worth": worth_of(admitted.rows)},
    )


@dataclass
class World:
    """A scene of stand-ins, and how to run it."""

    scene: RunContext
    start: Progress

    def run(self, budget=10_000, *, progress=None, observer=None, keep=None, **limits):
        return augment(
            self.scene,
            self.start if progress is None else progress,
            Limits(budget=budget, **limits),
            observer=observer,
            keep=keep,
        )

    def delivered(self, outcome):
        rows = outcome.progress.committed.rows
        return rows.take(self.scene.lineages.delivered(rows))


@pytest.fixture
def make_world(build_table):
    def make(worth=1.0, *, admits=None, policy=None, seed=0, n_rows=2, **settings):
        fold = np.arange(12) % settings.pop("n_folds", 3)
        real = build_table(np.arange(12) % N_TARGETS, np.linspace(0.0, 1.0, 12))
        protocol = settings.pop("protocol", "crossfit")
        lineages = Lineages(fold, protocol == "crossfit")
        shared = {k: settings.pop(k) for k in ("n_steps", "actions_per_batch")
                  if k in settings}  # fmt: skip
        commit = CommitConfig(
            **{
                "window_length": 4,
                "patience": 3,
                "protocol": protocol,
                "confidence": 0.9,
                "min_gain": 0.0,
                **settings,
            }
        )
        config = AugmentConfig(
            **{"n_steps": 16, "actions_per_batch": 1, **shared}, commit=commit
        )
        given = worth if callable(worth) else lambda _a, _r, n: np.full(n, worth)
        utility = WorthUtility(real, lineages, lambda rows: worth_of(rows).sum())
        if lineages.crossfit:
            hundredth = WorthReferee(
                real, lineages, lambda rows: 0.01 * worth_of(rows).sum()
            )
            rule = CrossfitCommitment(real, hundredth, commit)
        else:
            rule = PaperCommitment(utility, commit, "stand-in: worth")
        stages = Stages(
            proposer=LineageRows(lineages, rows_worth(given, n_rows)),
            gatekeeper=gates(admits or (lambda _: True)),
            utility=utility,
            commitment=rule,
        )
        start = Progress(
            committed=Candidates.none(real),
            steering=CountingSteering(
                policy or CountingPolicy(), CountingSensor(N_TARGETS), BestCritic()
            ),
        )
        return World(RunContext(real, lineages, stages, config, seed), start)

    return make


@pytest.fixture
def content():
    """Return everything of some candidates, as bytes."""

    def read(candidates):
        rows = candidates.rows
        arrays = (*rows.cells, rows.missing, rows.target, rows.origin, rows.unseen_fold)
        arrays += (candidates.regenerate, candidates.step)
        arrays += tuple(candidates.scores[name] for name in sorted(candidates.scores))
        return [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]

    return read


@pytest.fixture
def steady_policy():
    """Return a policy that does not learn."""
    return EvenPolicy()
