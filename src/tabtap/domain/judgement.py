"""What rows are estimated to be worth, the bound on it, and what was decided."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tabtap.domain.rows import Lineages
from tabtap.table.schema import FloatArray, IntArray
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

    overall: FloatArray
    """Larger is better.  One per real row, or one per fold that can be scored."""

    by_learner: Mapping[str, FloatArray] = field(default_factory=dict)
    """The same for each learner of a panel."""

    @property
    def mean(self) -> float:
        """The mean score."""
        return float(np.mean(self.overall))

    def learner_means(self) -> dict[str, float]:
        """Return each learner's mean score."""
        return {name: float(np.mean(part)) for name, part in self.by_learner.items()}


@dataclass(frozen=True, slots=True, eq=False)
class ScoresToBeat:
    """What pools are compared with: scores before the run and of the incumbent."""

    real: RefereeScores | None = None
    incumbent: RefereeScores | None = None


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

    look: int
    """One more than the attempts before that showed no gain: confidence is shared among
    attempts."""

    committed: bool
    reason: str
    """The decision as a sentence."""

    evidence: Mapping[str, FloatArray] = field(default_factory=dict)
    """Scores that the bounds were computed from: ``real``, ``before``, ``after``, and
    ``clusters`` where rows belong together; fold gains under the paper's protocol."""

    learners_before: Mapping[str, float] = field(default_factory=dict)
    learners_after: Mapping[str, float] = field(default_factory=dict)
    """Mean score of each learner with the incumbent, and with the pool too."""


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
    The attempts share the run's error probability as 1/2, 1/6, 1/12, ..., which add up
    to 1.  The size of the gain is not covered that way: of several pools the luckiest
    tends to be kept.

    Examples
    --------
    >>> [round(confidence_at(attempt, 0.9), 3) for attempt in (1, 2, 3)]
    [0.95, 0.983, 0.992]
    """
    return 1.0 - (1.0 - confidence) / (attempt * (attempt + 1))


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
