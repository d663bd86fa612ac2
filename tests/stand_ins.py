"""Stages whose answers are known in advance, for tests of what stands around them.

A stand-in that only one test file needs stands there.  ``worth`` is a function by which
a test says what a table of synthetic rows is worth.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from tabtap.archive import Archive
from tabtap.domain import (
    TEMPLATES,
    Action,
    Admission,
    Baseline,
    Candidates,
    ClassPrediction,
    Feedback,
    LearnerState,
    Lineages,
    RefereeScores,
    UtilityEstimate,
    ValuePrediction,
)
from tabtap.policy.steering import PolicySteering

# ---- Evaluators: who answers queries.


class MoreIsBetter:
    """Is the surer of the truth the more rows its context has; sign -1: the fewer.

    ``worse_for`` says of some rows which of them it is the less sure of.
    """

    def __init__(self, sign=1.0, worse_for=None):
        self.name = "more is better" if sign > 0 else "more is worse"
        self.sign, self.worse_for = sign, worse_for

    def predict(self, contexts, queries):
        pairs = zip(contexts, queries, strict=True)
        return [self._answer(len(context), asked) for context, asked in pairs]

    def _answer(self, n_rows, asked):
        sign = np.full(len(asked), self.sign)
        if self.worse_for is not None:
            sign[self.worse_for(asked)] *= -1
        sure = 1 / (1 + np.exp(-sign * n_rows / 50))
        if asked.schema.target.task == "regression":
            off = (1 - sure) * np.std(asked.target_values)
            return ValuePrediction(asked.target_values + off, np.ones(len(asked)))
        n_classes = asked.schema.n_conditions
        p = np.repeat((1 - sure)[:, None] / max(n_classes - 1, 1), n_classes, axis=1)
        p[np.arange(len(asked)), asked.target.astype(int)] = sure
        return ClassPrediction(p)


class Told:
    """Answers as a function of all contexts and queries tells it to, or raises."""

    def __init__(self, answer, name="mine"):
        self.answer, self.name = answer, name

    def predict(self, contexts, queries):
        return self.answer(contexts, queries)


class Listener:
    """Answers as another evaluator does, and notes what it was asked."""

    name = "listener"

    def __init__(self, inner):
        self.inner, self.asked = inner, []

    def predict(self, contexts, queries):
        self.asked += zip(contexts, queries, strict=True)
        return self.inner.predict(contexts, queries)


def all_zero(_contexts, queries):
    """Answer: every query has the value 0."""
    return [ValuePrediction(np.zeros(len(q)), np.ones(len(q))) for q in queries]


def same_for_all(probability, name="mine"):
    """Return an evaluator that gives every class of every query this probability."""

    def answer(_contexts, queries):
        shapes = [(len(asked), asked.schema.n_conditions) for asked in queries]
        return [ClassPrediction(np.full(shape, probability)) for shape in shapes]

    return Told(answer, name)


# ---- Generators: who redraws cells, and who makes candidates with their help.


class Mirror:
    """A stack that redraws nothing, and notes what its first lineage was asked for."""

    def __init__(self, unseen_folds):
        self.unseen_folds = tuple(unseen_folds)

    def inpaint_seeded(self, anchors, regenerate, seeds, **_):
        self.anchors, self.regenerate, self.seeds = anchors[0], regenerate[0], seeds[0]
        return list(anchors)


@dataclass
class LineageRows:
    """Proposes for every lineage what a function makes of the rows that it has seen."""

    lineages: Lineages

    make: object
    """Takes action, real table, seen row numbers and generator; gives rows, mask."""

    def propose(self, real, _committed, hardness, actions, rngs):
        assert len(hardness) == len(real)
        return [self._one(real, a, rng) for a, rng in zip(actions, rngs, strict=True)]

    def _one(self, real, action, rng):
        parts = []
        for member in self.lineages.members:
            rows, mask = self.make(action, real, self.lineages.seen(member), rng)
            rows = rows.with_origin(unseen_fold=member)
            parts.append(Candidates(rows, mask, np.zeros(len(rows), np.int64)))
        return Candidates.joined(parts)


# ---- Gates.


@dataclass
class ToldGates:
    """Admits the candidates that a function says, and notes what it was shown."""

    passes: object
    """Takes candidates, gives one verdict per row."""

    scores: object
    """Takes those that were admitted, gives numbers of each by name."""

    names: tuple = ("worth",)
    """Of gates, the last of which refuses what is refused."""

    needs_prediction: bool = False
    shown: list = field(default_factory=list)

    def admit(self, candidates, context):
        self.shown.append((candidates, context))
        passed = np.asarray(self.passes(candidates), dtype=bool)
        admitted = candidates.take(passed)
        refused = dict.fromkeys(self.names, 0) | {self.names[-1]: int((~passed).sum())}
        return Admission(replace(admitted, scores=self.scores(admitted)), refused)


# ---- Utilities and referees: what rows are worth, step by step and at a commitment.


class ToldGains:
    """A utility to which any rows gain these numbers, fold by fold."""

    def __init__(self, fold_gains):
        self.fold_gains = tuple(fold_gains)

    def gains(self, _baseline, added):
        gain = float(np.mean(self.fold_gains))
        return [UtilityEstimate(gain, self.fold_gains) for _ in added]


@dataclass
class WorthUtility:
    """A utility to which a table gains its worth, a bit more in every further fold."""

    real: object
    lineages: Lineages
    worth: object
    more_by_fold: float = 0.0
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
            float(self.worth(self.lineages.held_by(self.lineages.judging(k), rows)))
            * (1 + self.more_by_fold * k)
            for k in range(self.lineages.n_folds)
        ]
        return UtilityEstimate(float(np.mean(folds)), tuple(folds))


def one_learner(scores):
    """Return what a referee of a single learner says."""
    return RefereeScores({"learner": np.asarray(scores)})


@dataclass
class WorthReferee:
    """A referee to whom a row's score rises by the worth that may stand beside it."""

    real: object
    lineages: Lineages
    worth: object
    name: str = "stand-in: worth"
    learners: dict = field(default_factory=dict)
    n_asked: int = 0

    def scores(self, synthetic, only=None):
        self.n_asked += only is None
        beside = [
            self.worth(self.lineages.held_by(self.lineages.judging(k), synthetic))
            for k in self.lineages.partitions[0]
        ]
        # Rows profit unequally, so that there is an error bar.
        unequal = 1 + 0.2 * np.cos(np.arange(len(self.real)))
        if only is not None:  # copies of real rows are worth nothing
            beside = [0.0]
        scores = 0.5 + np.array(beside) * unequal
        return RefereeScores({"one": scores, "other": scores - 0.1})


# ---- Policies, sensors and critics: what is tried next.


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
        target = (action.target + self.n_liked) % len(state.deficit)
        return replace(action, target=target)

    def improved(self, experience):
        liked = sum(e.feedback is Feedback.DESIRABLE for e in experience)
        return replace(self, n_liked=self.n_liked + liked)


@dataclass(frozen=True)
class CountingSensor:
    """Reads how many rows passed so far."""

    n_targets: int
    n_passed: int = 0
    n_proposed: int = 0

    def read(self, real, committed, pool, uncertainty):
        assert len(uncertainty) == len(real)
        deficit = np.linspace(0.0, 0.5, self.n_targets)
        rate = (self.n_passed + 1) / (self.n_proposed + 2)
        novelty = len(pool) / (1 + len(pool) + len(committed))
        return LearnerState(
            deficit,
            1 - deficit,
            np.array([rate, rate / 2]),
            novelty,
            np.ones(self.n_targets, bool),
        )

    def noted(self, template, n_passed, n_proposed):
        assert template in TEMPLATES
        return replace(
            self,
            n_passed=self.n_passed + n_passed,
            n_proposed=self.n_proposed + n_proposed,
        )


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


# ---- Observers: who is told of steps and windows.


class Tape:
    """Keeps every record, in order."""

    def __init__(self):
        self.steps, self.windows = [], []

    def on_step(self, record):
        self.steps.append(record)

    def on_window(self, record):
        self.windows.append(record)


class StopAfter(Tape):
    """Interrupts a run as Ctrl-C would, after so many windows or steps."""

    def __init__(self, *, n_windows=None, n_steps=None):
        super().__init__()
        self.n_windows, self.n_steps = n_windows, n_steps

    def on_step(self, record):
        super().on_step(record)
        if len(self.steps) == self.n_steps:
            raise KeyboardInterrupt

    def on_window(self, record):
        super().on_window(record)
        if len(self.windows) == self.n_windows:
            raise KeyboardInterrupt


class CountingSteering(PolicySteering):
    """Writes down the stand-ins that count."""

    def save(self):
        counts = np.array([self.sensor.n_passed, self.sensor.n_proposed])
        about = {"liked": self.policy.n_liked, "best": self.critic.best}
        return Archive({"sensor": counts}, about)

    def restore(self, saved):
        n_passed, n_proposed = saved.arrays["sensor"].tolist()
        return replace(
            self,
            policy=replace(self.policy, n_liked=saved.about["liked"]),
            sensor=replace(self.sensor, n_passed=n_passed, n_proposed=n_proposed),
            critic=replace(self.critic, best=saved.about["best"]),
        )
