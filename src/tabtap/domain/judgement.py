"""What rows are estimated to be worth, and what was decided because of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tabtap.domain.lineages import Lineages
from tabtap.table.schema import FloatArray
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
class Standing:
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
class Trial:
    """A pool that asks to be committed."""

    window: int
    lineages: Lineages

    committed: Table
    """Synthetic rows of all lineages that are in already."""

    pool: Table
    """Synthetic rows of all lineages that ask to be let in."""

    baseline: Baseline
    standing: Standing

    n_failures: int
    """Attempts of this run that are used up; see ``loop.progress.attempts_used``."""


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
