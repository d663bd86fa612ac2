"""Runs of the real loop with stages whose answers are known, in milliseconds."""

from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
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
from tabtap.result import AugmentResult, RunAbout
from tabtap.table import read_frame


@dataclass
class Mixer:
    """Proposes real rows, some of whose cells are those of other real rows."""

    lineages: Lineages

    def propose(self, real, _committed, _hardness, actions, rngs):
        return [self._one(real, rng) for _, rng in zip(actions, rngs, strict=True)]

    def _one(self, real, rng):
        parts = []
        for member in self.lineages.members:
            seen = self.lineages.seen(member)
            rows, other = (real.take(rng.choice(seen, 2)) for _ in range(2))
            mask = rng.random(rows.missing.shape) < 0.5
            cells = tuple(
                np.where(chosen, theirs, ours)
                for chosen, theirs, ours in zip(
                    mask.T, other.cells, rows.cells, strict=True
                )
            )
            missing = np.where(mask, other.missing, rows.missing)
            rows = replace(rows, cells=cells, missing=missing)
            rows = rows.with_origin(unseen_fold=member)
            parts.append(Candidates(rows, mask, np.zeros(2, np.int64)))
        return Candidates.joined(parts)


@dataclass
class Gates:
    """Refuses the first candidate of every lineage, or all of them."""

    none_pass: bool = False
    needs_prediction: bool = False

    def admit(self, candidates, _context):
        passed = np.arange(len(candidates)) > 0
        passed &= not self.none_pass
        admitted = candidates.take(passed)
        scores = {"distance": np.linspace(1.0, 2.0, len(admitted))}
        refused = {"range": 0, "copies": int((~passed).sum())}
        return Admission(replace(admitted, scores=scores), refused)


@dataclass
class Judge:
    """Every row beside the real ones changes all scores by about ``gain``."""

    n_real: int
    lineages: Lineages
    gain: float
    name: str = "stand-in: accuracy"

    def scores(self, synthetic):
        beside = [
            len(self.lineages.held_by(self.lineages.judging(k), synthetic))
            for k in self.lineages.fold
        ]
        unequal = 1 + 0.2 * np.cos(np.arange(self.n_real))
        scores = 0.5 + self.gain * np.array(beside) * unequal
        return RefereeScores(scores, {"one": scores, "other": scores - 0.1})

    def baseline(self, _committed):
        none = np.zeros(self.n_real)
        losses = tuple(np.ones(2) for _ in range(self.lineages.n_folds))
        return Baseline((), (), losses, none, none)

    def gains(self, _baseline, added):
        return [self._estimate(len(rows)) for rows in added]

    def _estimate(self, n_rows):
        folds = tuple(self.gain * n_rows * (1 + 0.01 * k) for k in range(3))
        return UtilityEstimate(float(np.mean(folds)), folds)


@dataclass(frozen=True)
class Even:
    """Policy, sensor and critic in one: nothing is learned."""

    n_targets: int

    def sample(self, _state, rng):
        share = float(rng.random())
        target = int(rng.integers(self.n_targets))
        return Action(target, TEMPLATES[int(rng.integers(2))], share, share)

    def improved(self, _experience):
        return self

    def read(self, _real, _committed, _pool, _uncertainty):
        even = np.linspace(0.0, 0.5, self.n_targets)
        yes = np.ones(self.n_targets, bool)
        return LearnerState(even, 1 - even, np.array([0.5, 0.25]), 0.125, yes)

    def noted(self, _template, _n_passed, _n_proposed):
        return self

    def judged(self, gain, _n_admitted):
        return Feedback.DESIRABLE, gain, self


@pytest.fixture
def make_result():
    """Run the loop on a table: two steps a window, three folds."""

    def make(real, *, gain=0.01, budget=9, groups=None, index=None, **settings):
        none_pass = settings.pop("none_pass", False)
        time_budget = settings.pop("time_budget", None)
        commit = CommitConfig(**{"window_length": 2, "confidence": 0.9, **settings})
        config = AugmentConfig(n_steps=12, actions_per_batch=1, commit=commit)
        lineages = Lineages(np.arange(len(real)) % 3, commit.protocol == "crossfit")
        judge = Judge(len(real), lineages, gain)
        clusters = None
        if groups is not None:
            clusters = pd.factorize(np.asarray(groups))[0].astype(np.int64)
        even = Even(real.schema.n_conditions)
        rule = PaperCommitment(judge, commit, "stand-in: accuracy")
        if commit.protocol == "crossfit":
            rule = CrossfitCommitment(judge, commit, clusters)
        stages = Stages(
            proposer=Mixer(lineages),
            gatekeeper=Gates(none_pass),
            utility=judge,
            commitment=rule,
        )
        start = Progress(
            committed=Candidates.none(real), policy=even, sensor=even, critic=even
        )
        limits = Limits(budget=budget, time_budget=time_budget)
        outcome = augment(Scene(real, lineages, stages, config, 0), start, limits)
        about = RunAbout(
            seed=0,
            budget=budget,
            settings={"augment": asdict(config)},
            evaluator="stand-in",
            referee_why="It is what the user will train.",
            versions={"tabtap": "0"},
            seconds={"fit": 1.5},
            groups=groups,
            rules=("age > 0",),
            licences={"tiny": "Apache-2.0"},
            notes=("Nothing was asked of anyone.",),
        )
        return AugmentResult.of(real, outcome, lineages, about, index=index)

    return make


@pytest.fixture
def frame():
    """Twelve rows of what is easily lost: zones, unused levels, 64 bits, holes."""
    moments = pd.date_range("2024-03-30 22:00", periods=12, freq="3h", tz="UTC")
    places = pd.Categorical(["b", None, "a"] * 4, categories=["z", "b", "a"])
    big = 2**53 + 1 + np.arange(12) % 7 * 1_000_003
    return pd.DataFrame(
        {
            "dose": np.where(np.arange(12) == 5, np.nan, np.arange(12) * 0.1),
            "when": moments.tz_convert("Europe/Berlin"),
            "place": places,
            "big": big,
            "key": [f"p{k:03d}" for k in range(12)],
            "ill": ["no", "yes", "maybe"] * 4,
        },
        index=pd.Index([f"row {k}" for k in range(12)], name="patient"),
    )


@pytest.fixture
def classes(frame):
    return read_frame(frame, "ill", kinds={"key": "identifier"})


@pytest.fixture
def numbers(frame):
    y = pd.Series(np.arange(12) * 1.5, name="cost", index=frame.index)
    return read_frame(frame, y=y, kinds={"ill": "category", "key": "identifier"})


@pytest.fixture(params=["classification", "regression"])
def table(request, classes, numbers):
    return classes if request.param == "classification" else numbers


@pytest.fixture
def result(make_result, classes, frame):
    """Return nine rows in three windows, and their real rows' labels."""
    return make_result(classes, index=frame.index)


@pytest.fixture
def saved(result, tmp_path):
    result.save(tmp_path / "r.tabtap")
    return tmp_path / "r.tabtap"


@pytest.fixture
def content():
    """Return everything of some candidates, as bytes."""

    def read(candidates):
        rows = candidates.rows
        arrays = (*rows.cells, rows.missing, rows.target, rows.origin, rows.unseen_fold)
        arrays += (candidates.regenerate, candidates.step, *candidates.scores.values())
        return [(a.dtype.str, a.shape, a.tobytes()) for a in arrays]

    return read
