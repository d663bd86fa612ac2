"""Stages whose answers are known in advance, so that a run takes milliseconds.

A synthetic row says itself what it is worth: the number in its only column.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tabtap.config import AugmentConfig, CommitConfig
from tabtap.domain import (
    TEMPLATES,
    Action,
    Admission,
    Baseline,
    Candidates,
    Feedback,
    LearnerState,
    Lineages,
    RefereeScores,
    UtilityEstimate,
)
from tabtap.loop import (
    CrossfitCommitment,
    Limits,
    PaperCommitment,
    Progress,
    Scene,
    Stages,
    augment,
)

N_TARGETS = 3


def worth_of(rows):
    return rows.cells[0]


@dataclass
class WorthProposer:
    """Makes ``n_rows`` rows per action and lineage, of a worth that is asked for."""

    lineages: Lineages
    worth: object
    n_rows: int = 2

    def propose(self, real, _committed, hardness, actions, rngs):
        assert len(hardness) == len(real)
        return [self._one(real, a, rng) for a, rng in zip(actions, rngs, strict=True)]

    def _one(self, real, action, rng):
        parts = []
        for member in self.lineages.members:
            rows = real.take(rng.choice(self.lineages.seen(member), self.n_rows))
            worth = np.asarray(self.worth(action, rng, self.n_rows), np.float64)
            rows = replace(rows, cells=(worth,)).with_origin(unseen_fold=member)
            mask = np.ones((self.n_rows, 1), bool)
            parts.append(Candidates(rows, mask, np.zeros(self.n_rows, np.int64)))
        return Candidates.joined(parts)


@dataclass
class WorthGates:
    """Admits rows by their worth, and notes what each lineage was shown."""

    admits: object
    needs_prediction: bool = False
    shown: list = field(default_factory=list)

    def admit(self, candidates, context):
        self.shown.append((candidates, context))
        passed = np.array([bool(self.admits(w)) for w in worth_of(candidates.rows)])
        admitted = candidates.take(passed.astype(bool))
        admitted = replace(admitted, scores={"worth": worth_of(admitted.rows)})
        return Admission(admitted, {"worth": int((~passed).sum())})


@dataclass
class WorthUtility:
    """A set gains the summed worth of its rows, fold by fold."""

    real: object
    lineages: Lineages
    n_baselines: int = 0

    def baseline(self, committed):
        assert committed.schema is self.real.schema
        self.n_baselines += 1
        none = np.zeros(len(self.real))
        losses = tuple(np.ones(1) for _ in range(self.lineages.n_folds))
        return Baseline((), (), losses, none, none)

    def gains(self, baseline, added):
        assert baseline is not None
        return [self._one(rows) for rows in added]

    def foresee(self, rows):
        raise AssertionError(f"nobody asks about {len(rows)} rows")

    def _one(self, rows):
        folds = [
            float(worth_of(self.lineages.held_by(self.lineages.judging(k), rows)).sum())
            for k in range(self.lineages.n_folds)
        ]
        return UtilityEstimate(float(np.mean(folds)), tuple(folds))


@dataclass
class WorthReferee:
    """A row's score rises by a hundredth of the worth that may stand beside it."""

    real: object
    lineages: Lineages
    name: str = "stand-in: worth"
    n_asked: int = 0

    def scores(self, synthetic):
        self.n_asked += 1
        total = np.array(
            [
                worth_of(self.lineages.held_by(self.lineages.judging(k), synthetic))
                .sum()
                for k in self.lineages.fold
            ]
        )  # fmt: skip
        # Rows profit unequally, so that there is an error bar.
        unequal = 1 + 0.2 * np.cos(np.arange(len(self.real)))
        return RefereeScores(0.5 + 0.01 * total * unequal, {"only": 0.5 + total})


@dataclass(frozen=True)
class EvenPolicy:
    """Draws any target and template; learns nothing."""

    def sample(self, state, rng):
        target = int(rng.integers(len(state.deficit)))
        raw = float(rng.normal(0.5, 0.2))
        template = TEMPLATES[int(rng.integers(2))]
        return Action(target, template, min(max(raw, 0.0), 1.0), raw)

    def log_prob(self, _state, _action):
        raise AssertionError("nobody asks")

    def improved(self, experience):
        assert experience
        return self


@dataclass(frozen=True)
class CountingPolicy(EvenPolicy):
    """Draws by how many actions were desirable so far."""

    n_liked: int = 0

    def sample(self, state, rng):
        action = super().sample(state, rng)
        return replace(action, target=(action.target + self.n_liked) % N_TARGETS)

    def improved(self, experience):
        liked = sum(e.feedback is Feedback.DESIRABLE for e in experience)
        return replace(self, n_liked=self.n_liked + liked)


@dataclass(frozen=True)
class CountingSensor:
    """Reads how many rows passed so far."""

    n_passed: int = 0
    n_proposed: int = 0

    def read(self, real, committed, pool, uncertainty):
        assert len(uncertainty) == len(real)
        even = np.zeros(N_TARGETS)
        rate = np.full(2, (self.n_passed + 1) / (self.n_proposed + 2))
        novelty = len(pool) / (1 + len(pool) + len(committed))
        return LearnerState(even, even, rate, novelty, np.ones(N_TARGETS, bool))

    def noted(self, template, n_passed, n_proposed):
        assert template in TEMPLATES
        return CountingSensor(self.n_passed + n_passed, self.n_proposed + n_proposed)


@dataclass(frozen=True)
class BestCritic:
    """Likes a gain above the best so far, dislikes one below zero."""

    best: float = 0.0

    def judged(self, gain, n_admitted):
        if np.isnan(gain) or not n_admitted:
            return Feedback.NONE, float("nan"), self
        advantage = gain - self.best
        after = BestCritic(max(self.best, gain))
        if advantage > 0:
            return Feedback.DESIRABLE, advantage, after
        return Feedback.UNDESIRABLE if gain < 0 else Feedback.NONE, advantage, after


@dataclass
class World:
    """A scene of stand-ins, and how to run it."""

    scene: Scene
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
                **settings,
            }
        )
        config = AugmentConfig(
            **{"n_steps": 16, "actions_per_batch": 1, **shared}, commit=commit
        )
        given = worth if callable(worth) else lambda _a, _r, n: np.full(n, worth)
        utility = WorthUtility(real, lineages)
        if lineages.crossfit:
            rule = CrossfitCommitment(WorthReferee(real, lineages), commit)
        else:
            rule = PaperCommitment(utility, commit, "stand-in: worth")
        stages = Stages(
            proposer=WorthProposer(lineages, given, n_rows),
            gatekeeper=WorthGates(admits or (lambda _: True)),
            utility=utility,
            commitment=rule,
        )
        start = Progress(
            committed=Candidates.none(real),
            policy=policy or CountingPolicy(),
            sensor=CountingSensor(),
            critic=BestCritic(),
        )
        return World(Scene(real, lineages, stages, config, seed), start)

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
