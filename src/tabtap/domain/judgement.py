"""What rows are estimated to be worth, the bound on it, and what was decided."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from tabtap.domain.rows import Lineages
from tabtap.saved import LEFT_OUT
from tabtap.table.schema import FloatArray, IntArray, Schema
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """How the evaluator answers before any row of a window is added."""

    contexts: tuple[Table, ...]
    """One per fold: the other folds and the committed rows that may stand beside."""

    focus: tuple[Table, ...]
    """One per fold: its hardest rows, which every question of the window is about."""

    fold_losses: tuple[FloatArray, ...]
    """One per fold: losses of its focus rows."""

    hardness: FloatArray
    """Shape (n_real,): every real row's, answered without its own fold."""

    uncertainty: FloatArray
    """Shape (n_real,): likewise."""


@dataclass(frozen=True, slots=True)
class UtilityEstimate:
    """The estimated gain of adding some rows (equation 14)."""

    gain: float
    """Mean loss before minus mean loss after, over the focus rows of all folds."""

    fold_gains: tuple[float, ...] = ()
    """The same fold by fold."""


@dataclass(frozen=True, slots=True, eq=False)
class RefereeScores:
    """Scores of the real rows, each given by learners that have not seen it."""

    by_learner: Mapping[str, FloatArray]
    """Shape (n_real,) for each learner; larger is better; mean over partitions."""

    answers: Mapping[str, FloatArray] = field(default_factory=dict)
    """What each learner said, partition by partition: probabilities of shape
    (n_partitions, n_real, n_classes), or values of shape (n_partitions, n_real)."""

    is_mean: bool = False
    """Whether the promise is about the mean of the learners and about none of them."""

    def choices(self) -> dict[str, FloatArray]:
        """Return what one can train, by name: each learner, or all of them at once."""
        if self.is_mean:
            return {PANEL_MEAN: np.mean(list(self.by_learner.values()), axis=0)}
        return dict(self.by_learner)

    def learner_means(self) -> dict[str, float]:
        """Return each learner's mean score."""
        return {name: float(np.mean(part)) for name, part in self.by_learner.items()}


PANEL_MEAN = "panel"
"""What the mean of several learners is called."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoresToBeat:
    """What pools are compared with: scores before the run and of the incumbent."""

    real: RefereeScores | None = None
    incumbent: RefereeScores | None = None

    promised: FloatArray | None = None
    """Shape (n_real,): the incumbent's scores as they were certified."""

    learner: str = ""
    """The learner that they are of."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A mean difference with a one-sided error bar."""

    gain: float
    """NaN where it could not be measured."""

    margin: float
    """Not negative; infinite where too few differences were there to tell."""

    confidence: float

    @property
    def lower(self) -> float:
        """What the gain is at least, with the confidence stated."""
        return self.gain - self.margin


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure with its error bar."""

    value: float

    margin: float
    """Half of a two-sided interval that holds with 90 %."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure that people read, without the new rows and with them."""

    name: str
    """Accuracy, AUC, log loss or Brier score; RMSE, MAE or R2."""

    larger_is_better: bool

    best_alone: Measured
    """Of the learner that does best on real rows alone."""

    without: Measured
    """Of the promised learner on real rows alone."""

    with_rows: Measured
    """Of the promised learner with the new rows."""

    change: Measured
    """With the rows, less that of the best alone: what following the verdict does."""

    @property
    def gain(self) -> float:
        """The change for the better, whichever direction that is."""
        return self.change.value if self.larger_is_better else -self.change.value

    @property
    def worth(self) -> float:
        """The gain as people weigh it: of an error, as a share of what it was."""
        if self.larger_is_better:
            return self.gain
        whole = abs(self.best_alone.value)
        return self.gain / whole if whole > 0 else 0.0

    def drawn_in(self, weight: float) -> Figure:
        """Return it with a change that is believed only in part; see ``gain_bound``."""
        change = Measured(
            self.change.value * weight, self.change.margin * float(np.sqrt(weight))
        )
        # As measured it may be 1 without an error; no surer than the change it is.
        value = self.best_alone.value + change.value
        with_rows = Measured(value, max(self.with_rows.margin, change.margin))
        return replace(self, change=change, with_rows=with_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffect:
    """What the new rows do to a group of real rows that may not be harmed."""

    column: str
    value: str
    """What the rows have in that column: a level, or a side of the median."""

    n_rows: int

    allowed_loss: float
    """What the group's score may be estimated to lose."""

    change: Bound | None = None
    """Change of the group's mean score; bars of 95 % to either side.  None: too few
    rows to tell."""

    @property
    def is_harmed(self) -> bool:
        """Whether the group is estimated to lose more than is allowed."""
        return self.change is not None and bool(self.change.gain < -self.allowed_loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Something that one can do with these rows, and how well it does."""

    name: str
    """Short: ``forest alone``, ``stack``, ``tabpfn-v1``, ``forest with new rows``."""

    words: str
    """What to do, as a sentence."""

    figure: str = ""
    value: Measured | None = None
    """Accuracy or RMSE; None where it could not be measured here."""

    score: Measured | None = None
    is_enough: bool = False
    """Whether nothing is shown to do better by the score."""

    note: str = ""
    """What it takes, such as weights that are to be fetched."""

    described: str = field(default="", metadata=LEFT_OUT)
    """Class, settings and version of the learner, where it is a single one."""


@dataclass(frozen=True, slots=True, eq=False)
class CommitRequest:
    """A pool that asks to be committed."""

    window: int
    lineages: Lineages

    committed: Table
    """Synthetic rows of all lineages that are in already."""

    pool: Table
    """Synthetic rows of all lineages that ask to be let in."""

    baseline: Baseline
    standing: ScoresToBeat

    n_attempts_used: int
    """Attempts of this run that are used up; see ``loop.augment``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """One commitment check: what was measured and what was decided."""

    window: int
    protocol: str
    scorer: str
    """Who scored, and by what yardstick."""

    pool_sha256: str
    """Of the pool's delivered rows."""

    n_rows: int
    """Delivered rows in the pool."""

    n_judged: int
    """Rows of the pool in all lineages."""

    score_real: float
    score_before: float
    score_after: float
    """Mean score with real rows only, with the incumbent, and with the pool too."""

    over_incumbent: Bound
    over_real: Bound | None
    """None under the paper's protocol, which looks at the incumbent only."""

    shown: bool
    """Whether the gain over real rows was shown, this pool included."""

    n_folds: int = 0
    """Folds that the rows were cut into, each time; 0 under the paper's protocol."""

    widening: float = 0.0
    """How much wider bars are than those of independent rows; 0 in older files, where
    the number of folds says it."""

    usual: float = 0.0
    """How large gains usually are, as a share of the loss; 0: they are not drawn in."""

    is_squared: bool = False
    """Whether scores are 1 less a squared error, and bars as ``gain_bound`` has them
    for these."""

    look: int
    """One more than the attempts before that showed no gain: confidence is shared among
    attempts."""

    committed: bool
    reason: str
    """The decision as a sentence."""

    learner: str = ""
    """The learner to train on the bigger table, which the promise is about."""

    best_alone: str = ""
    """The learner that does best on real rows alone; the same one if it was named."""

    figures: tuple[Figure, ...] = ()
    """The same gain in the figures that people read; the first is the plain one, which
    may not be estimated to get worse."""

    effects: Mapping[str, Bound] = field(default_factory=dict)
    """What the new rows do to each learner; bars of 95 % to either side."""

    groups: tuple[GroupEffect, ...] = ()
    """What they do to the groups that may not be harmed, by following the promise."""

    copies: Bound | None = None
    """Gain of as many copies of real rows in the place of new ones."""

    over_copies: Bound | None = None
    """Gain over these copies; bars of 95 % to either side."""

    learners: Mapping[str, str] = field(default_factory=dict)
    """Class, settings and version of every learner that was asked."""

    teacher: str = ""
    """Who gave the rows their targets; empty: they have those they were drawn for."""

    evidence: Mapping[str, FloatArray] = field(default_factory=dict)
    """Scores that the bounds were computed from: ``real``, ``before``, ``after``, and
    ``clusters`` where rows belong together, ``weights`` where rows count by these (the
    scores are weighed already); fold gains under the paper's protocol.
    With the pool, a row's scores are those of the part of it and the learner that do
    best on the other folds (``best_elsewhere``)."""

    learners_before: Mapping[str, float] = field(default_factory=dict)
    learners_after: Mapping[str, float] = field(default_factory=dict)
    """Mean score of each learner with the incumbent, and with the pool too."""

    @property
    def expected(self) -> float:
        """The score to be expected with the pool; less than measured, if drawn in."""
        if self.over_real is None:
            return self.score_after
        return self.score_real + self.over_real.gain

    @property
    def believed(self) -> float:
        """Which part of the measured gain is believed; 1 if it is not drawn in."""
        if self.over_real is None or not self.usual:
            return 1.0
        return believed_part(self.score_after - self.score_real, self.over_real)

    @property
    def share_at_least(self) -> float:
        """What is promised, as a share of the loss without new rows; else NaN.

        Only our own yardsticks are 1 less a loss.
        """
        loss = 1.0 - self.score_real
        if self.over_real is None or " by " in self.scorer or not loss > 0.0:
            return float("nan")
        return self.over_real.lower / loss

    @property
    def harmed(self) -> tuple[GroupEffect, ...]:
        """The groups for whose sake the pool is not let in."""
        return tuple(group for group in self.groups if group.is_harmed)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What came of a request."""

    certificate: Certificate

    standing: ScoresToBeat
    """What the next pool is compared with."""

    kept: IntArray
    """Rows of the pool that the certificate is about: all of it, or a part."""


def is_squared_error(scorer: str, schema: Schema) -> bool:
    """Tell whether scores are 1 less a squared error: numbers, by our own yardstick."""
    target = schema.target
    own = " by " not in scorer
    return own and target is not None and target.task == "regression"


def usual_gain(scorer: str, schema: Schema) -> float:
    """Return how large gains usually are, by our own yardstick; 0 by another."""
    target = schema.target
    own = " by " not in scorer
    return USUAL_GAINS[target.task] if own and target is not None else 0.0


def worth_of(scorer: str, over_real: Bound, figures: Sequence[Figure]) -> float:
    """Return the gain that ``min_gain`` is about.

    Points of accuracy, or a share of the RMSE; of the score itself where the user named
    a yardstick, which ``scorer`` then says, or where there are no figures.
    """
    if not figures or " by " in scorer:
        return over_real.gain
    return figures[0].worth


# ---- One-sided bounds on a mean difference, and how confidence is shared among looks.


def one_sided(
    differences: FloatArray, confidence: float, clusters: IntArray | None = None
) -> Bound:
    """Bound the mean of some paired differences from below, by Student's t.

    A difference is the score with a pool minus the score without, one per query or per
    fold.  ``confidence`` is how often the mean may not fall below the bound.
    Differences of one cluster say the same thing again, so the clusters' means are what
    is counted.  With fewer than two of them the margin is infinite.

    Examples
    --------
    >>> bound = one_sided(np.array([0.1, 0.2, 0.3]), 0.9)
    >>> round(bound.gain, 3), round(bound.margin, 3)
    (0.2, 0.109)
    """
    gain = float(np.mean(differences)) if len(differences) else float("nan")
    if clusters is not None and len(clusters) == len(differences):
        _, cluster_index = np.unique(clusters, return_inverse=True)
        count = len(np.bincount(cluster_index))
        totals = np.bincount(cluster_index, weights=differences - gain)
        # The error of the mean when whole groups are drawn, not rows.
        spread = np.sqrt(np.sum(totals**2) * count / max(count - 1, 1))
        error = spread / len(differences)
    else:
        count = len(differences)
        error = np.std(differences, ddof=1) / np.sqrt(count) if count > 1 else 0.0
    if count < 2:
        return Bound(gain, float("inf"), confidence)
    return Bound(gain, float(stdtrit(count - 1, confidence) * error), confidence)


def cross_fitted(
    differences: FloatArray,
    confidence: float,
    n_folds: int,
    clusters: IntArray | None = None,
    widening: float = 0.0,
) -> Bound:
    """Bound a mean of differences that learners of overlapping rows have given.

    As ``one_sided``, with a wider bar.  Rows that are asked by turns are answered by
    learners that share most of their training rows, so their answers err together, and
    a mean over rows is less sure than one of independent rows.  The factor is that of
    Nadeau and Bengio (2003), "Inference for the generalization error": the square root
    of 1 + n_folds * (test rows / training rows); or ``widening``, if it is given.

    Examples
    --------
    >>> plain = one_sided(np.array([0.1, 0.2, 0.3]), 0.9)
    >>> round(cross_fitted(np.array([0.1, 0.2, 0.3]), 0.9, 5).margin / plain.margin, 3)
    1.5
    """
    bound = one_sided(differences, confidence, clusters)
    factor = widening or np.sqrt(1.0 + n_folds / (n_folds - 1))
    return replace(bound, margin=float(bound.margin * factor))


WIDENING = 1.5
"""How much wider the bars of promises are than those of independent rows: the factor of
Nadeau and Bengio for five folds, which measurement agrees with; see DECISIONS.md."""


@dataclass(frozen=True, slots=True)
class Bars:
    """How the error bars of promises are made."""

    widening: float
    """How much wider than those of independent rows."""

    is_squared: bool = False
    """Whether scores are 1 less a squared error."""

    is_strict: bool = False
    """Whether of two bars the wider one counts."""

    usual: float = 0.0
    """How large gains usually are, as a share of the loss without rows; 0: unknown.
    See ``USUAL_GAINS``."""


USUAL_GAINS = {"classification": 0.12, "regression": 0.4}
"""Scale of the share of a learner's loss that new rows take away or add, by task.

Of the sets that were measured for classifiers half were below 0.1, two of three below
0.15 and one in ten above 0.3, as in a Student's t of two degrees of freedom; gains of
regressors, where a teacher helps more, are larger.  See DECISIONS.md, 62 and 69."""


def gain_bound(
    before: FloatArray,
    after: FloatArray,
    confidence: float,
    bars: Bars,
    clusters: IntArray | None = None,
) -> Bound:
    """Bound a mean gain of scores from below.

    Of many pools the lucky ones are let in, and what they are measured to gain is more
    than they do.  So where it is known how large gains usually are, an estimate is
    drawn in towards none: much where its bar is wide, little where the evidence is
    strong.  Estimate and bound are then those of all gains that are likely after the
    measurement, and hold for pools that were let in as for others.

    Examples
    --------
    >>> before, after = np.array([0.5, 0.6, 0.4, 0.7]), np.array([0.9, 0.8, 0.6, 0.5])
    >>> round(gain_bound(before, after, 0.9, Bars(1.0, usual=0.12)).gain, 3)
    0.032
    """
    bound = _measured_gain(before, after, confidence, bars, clusters)
    error = _measured_gain(before, after, ONE_ERROR, bars, clusters).margin
    loss = float(np.mean(1.0 - before)) if len(before) else 0.0
    # Without a usual size, a bar or a loss there is nothing to draw in by.
    if not (bars.usual and loss > 0.0 and 0.0 < error < np.inf):
        return bound
    spread = bars.usual * loss
    gain, lower = _likely(bound.gain / spread, error / spread, confidence)
    return replace(bound, gain=gain * spread, margin=(gain - lower) * spread)


def believed_part(measured: float, bound: Bound) -> float:
    """Return which part of a measured gain a bound believes."""
    return bound.gain / measured if measured and np.isfinite(measured) else 1.0


ONE_ERROR = 0.8413
"""The one-sided confidence that a bar of one standard error has."""

_SPREADS = 1.0 / np.sqrt(-np.log((np.arange(200) + 0.5) / 200))
"""A Student's t of two degrees of freedom is a mixture of normals of these spreads."""


def _likely(gain: float, error: float, confidence: float) -> tuple[float, float]:
    """Return mean and lower bound of what is likely after a measurement.

    Before it, gains had a Student's t of two degrees of freedom around 0, of scale 1.
    """
    total = np.hypot(_SPREADS, error)
    chance = -0.5 * (gain / total) ** 2 - np.log(total)
    weight = np.exp(chance - chance.max())  # of a gain far off all would be 0
    weight /= weight.sum()
    part = (_SPREADS / total) ** 2
    far = 40.0 * error  # farther off than any confidence asks for
    low, high = min(gain, 0.0) - far, max(gain, 0.0) + far
    for _ in range(100):  # halved until the ends meet
        middle = (low + high) / 2
        below = weight @ ndtr((middle - part * gain) / (error * np.sqrt(part)))
        low, high = (middle, high) if below < 1.0 - confidence else (low, middle)
    return float(weight @ part) * gain, low


def _measured_gain(
    before: FloatArray,
    after: FloatArray,
    confidence: float,
    bars: Bars,
    clusters: IntArray | None,
) -> Bound:
    """Bound a mean gain by what was measured alone.

    Where scores are 1 less a squared error, a few rows that are far off decide about
    their mean and its bar.  So the bar then comes from each row's share of the gain,
    (error before - error after) / (error before + error after), which lies from -1 to
    1: the gain is as sure as the mean of these, and not shown where the two disagree
    about its sign.

    Examples
    --------
    >>> before, after = np.array([0.9, 0.5, -9.0]), np.array([0.95, 0.8, -4.0])
    >>> round(_measured_gain(before, after, 0.9, Bars(1.0), None).lower, 2)
    -1.25
    >>> squared = Bars(1.0, is_squared=True)
    >>> round(_measured_gain(before, after, 0.9, squared, None).lower, 2)
    1.49
    """
    wide = bars.widening
    plain = cross_fitted(after - before, confidence, 2, clusters, wide)
    if not bars.is_squared or not np.isfinite(plain.gain):
        return plain
    together = (1.0 - before) + (1.0 - after)
    share = (after - before) / np.where(together > 0.0, together, 1.0)
    relative = cross_fitted(share, confidence, 2, clusters, wide)
    if plain.gain * relative.gain <= 0.0:
        return replace(plain, margin=max(plain.margin, abs(plain.gain)))
    margin = float(plain.gain / relative.gain * relative.margin)
    if bars.is_strict:
        margin = max(margin, plain.margin)
    return replace(plain, margin=margin)


def is_best_of_several(scorer: str) -> bool:
    """Tell whether nobody was named, so that the best of several is promised."""
    return scorer.partition(" by ")[0] == BEST


BEST = "best"
"""What the best of the panel is called, where no learner is named."""


def two_sided_fold_margin(fold_gains: FloatArray, confidence: float) -> float:
    """Return the paper's error bar: a t interval over folds (equation 49)."""
    n_folds = len(fold_gains)
    if n_folds < 2:
        return float("inf")
    spread = float(np.std(fold_gains, ddof=1))
    quantile = float(stdtrit(n_folds - 1, (1 + confidence) / 2))
    return quantile * spread / float(np.sqrt(n_folds))


def confidence_at(attempt: int, confidence: float) -> float:
    """Return the confidence one check needs so that the run as a whole has its own.

    What is kept is the chance that a run commits anything although nothing beats the
    real rows.  A check after a success needs no correction: testing one hypothesis
    after another, each at the full level and only as long as all before were accepted,
    keeps the level.  A check after a failure is another attempt, counted from 1.
    The attempts share the run's error probability as 3/4, 3/16, 3/64, ..., which add up
    to 1: later pools of one generator are much like the first, and what the first did
    not show they seldom do.  The size of the gain is not covered that way: of several
    pools the luckiest tends to be kept.

    Examples
    --------
    >>> [round(confidence_at(attempt, 0.8), 3) for attempt in (1, 2, 3)]
    [0.85, 0.963, 0.991]
    """
    return 1.0 - (1.0 - confidence) * 0.75 * 0.25 ** (attempt - 1)


# ---- The best of several, chosen for each row by what is known of the others.
#
# Whoever trains the best of several learners has chosen by luck as well: its score on
# the rows by which it was chosen is too high.  So each fold is answered by whichever is
# best on the other folds.  That pays for the choice, and one bound serves, however many
# there were to choose from.  Only what is clearly ahead replaces the first choice: a
# choice that hangs on a few rows is made anew in every fold, and is worth less for it.


AHEAD = 1.0
"""Standard errors that a choice must be ahead of the first one to replace it."""


def best_place(choices: Sequence[FloatArray], first: int = 0) -> int:
    """Return which of several scores is best: the first, unless one is clearly ahead.

    Examples
    --------
    >>> one, other = np.array([0.5, 0.6, 0.4]), np.array([0.9, 0.8, 0.9])
    >>> best_place([one, other]), best_place([one, one + [0.0, 0.3, -0.2]])
    (1, 0)
    """
    scores = np.stack(list(choices))
    ahead = scores - scores[first]
    gain = ahead.mean(axis=1)
    error = ahead.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    gain[~(gain > AHEAD * error)] = -np.inf
    gain[first] = 0.0
    return int(np.argmax(gain))


def best_elsewhere(
    choices: Sequence[FloatArray], partitions: IntArray, first: int = 0
) -> FloatArray:
    """Score each row by whichever choice is best on the rows of other folds.

    ``choices`` are scores of shape (n_rows,), ``partitions`` folds of shape
    (n_partitions, n_rows); the result is the mean over partitions.

    Examples
    --------
    >>> one, other = np.array([0.5, 0.6, 0.4, 0.5]), np.array([0.9, 0.8, 0.9, 0.0])
    >>> best_elsewhere([one, other], np.array([[0, 0, 1, 1]]))
    array([0.5, 0.6, 0.9, 0. ])
    """
    scores = np.stack(list(choices))
    found = np.zeros((len(partitions), scores.shape[1]))
    for place, fold in enumerate(partitions):
        for number in np.unique(fold):
            own = fold == number
            best = best_place(list(scores[:, ~own]), first)
            found[place, own] = scores[best, own]
    return np.asarray(found.mean(axis=0))


# ---- A fingerprint of rows, the same whatever container they come from.


def table_sha256(table: Table) -> str:
    """Return the SHA-256 of the cells, holes and targets of some rows, in order."""
    digest = hashlib.sha256()
    for cells, hole in zip(table.cells, table.missing.T, strict=True):
        # What lies under a hole is not part of the row.
        shown = np.where(hole > 0, np.zeros(1, cells.dtype), cells)
        digest.update(_little_endian(shown))
    digest.update(_little_endian(table.missing))
    digest.update(_little_endian(table.target))
    return digest.hexdigest()


def _little_endian(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
