"""Whether a pool enters the training table: two rules with one shape.

``CrossfitCommitment`` compares the referee's scores of rows that neither the learner
nor the generator has seen, pair by pair.  ``PaperCommitment`` is section 3.4 to the
letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tabtap.config import CommitConfig
from tabtap.domain import (
    Bound,
    Certificate,
    CommitRequest,
    RefereeScores,
    ScoresToBeat,
)
from tabtap.domain.judgement import (
    confidence_at,
    one_sided,
    table_sha256,
    two_sided_fold_margin,
)
from tabtap.stages import Referee, Utility
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import Table, concat
from tabtap.wording import plain_percent


@dataclass(frozen=True, slots=True, eq=False)
class CrossfitCommitment:
    """Commit when the whole is shown to beat the real rows and this pool adds to it.

    With the pool, the synthetic table's gain over real rows alone must exceed
    ``min_gain`` by its error bar, at ``confidence`` shared among the attempts.  Over
    the incumbent the pool must gain at ``increment_confidence``, which is 0.5 by
    default: demanding that each increment be significant by itself would stop after the
    first window; asking nothing of it would let a harmful pool ride on those before it.
    """

    referee: Referee
    config: CommitConfig
    clusters: IntArray | None = None
    """Group of every real row, if rows belong together."""

    def check(self, request: CommitRequest) -> tuple[Certificate, ScoresToBeat]:
        """Score the pool beside real rows only and beside the incumbent."""
        standing = self._standing(request)
        real, before = standing.real, standing.incumbent
        if real is None or before is None:  # _standing never leaves one out
            raise AssertionError
        after = before
        if len(request.pool):
            after = self.referee.scores(concat([request.committed, request.pool]))
        confidence = confidence_at(request.n_attempts_used + 1, self.config.confidence)
        over_real = self._bound(after, real, confidence)
        over_incumbent = self._bound(after, before, self.config.increment_confidence)
        first = not len(request.committed)
        shown = bool(over_real.lower > self.config.min_gain)
        adds = first or bool(over_incumbent.lower > 0.0)
        committed = shown and adds and len(_delivered_pool(request)) > 0
        certificate = _certificate(
            request,
            scorer=self.referee.name,
            protocol="crossfit",
            scores=(real, before, after),
            over_incumbent=over_incumbent,
            over_real=over_real,
            shown=shown,
            committed=committed,
            reason=_crossfit_reason(over_real, over_incumbent, shown=shown, adds=adds),
            evidence=self._evidence(real, before, after),
        )
        return certificate, ScoresToBeat(real, after if committed else before)

    def _standing(self, request: CommitRequest) -> ScoresToBeat:
        if request.standing.real is not None and request.standing.incumbent is not None:
            return request.standing
        real = self.referee.scores(request.committed.empty())
        same = real if not len(request.committed) else None
        return ScoresToBeat(real, same or self.referee.scores(request.committed))

    def _evidence(self, *scores: RefereeScores) -> dict[str, FloatArray]:
        names = ("real", "before", "after")
        evidence = {
            name: score.overall for name, score in zip(names, scores, strict=True)
        }
        if self.clusters is not None:
            evidence["clusters"] = self.clusters.astype(np.float64)
        return evidence

    def _bound(
        self, after: RefereeScores, before: RefereeScores, confidence: float
    ) -> Bound:
        difference = np.asarray(after.overall - before.overall)
        return one_sided(difference, confidence, self.clusters)


@dataclass(frozen=True, slots=True, eq=False)
class PaperCommitment:
    """Commit when the pooled plug-in gain exceeds tau + eps (equations 4 and 19)."""

    utility: Utility
    config: CommitConfig
    scorer: str

    def check(self, request: CommitRequest) -> tuple[Certificate, ScoresToBeat]:
        """Ask the evaluator about the whole pool, on the window's focus rows."""
        estimate = self.utility.gains(request.baseline, [request.pool])[0]
        folds = np.asarray(estimate.fold_gains)
        margin = two_sided_fold_margin(folds, self.config.confidence)
        bound = Bound(estimate.gain, margin, self.config.confidence)
        enough = bound.gain > self.config.min_gain + margin
        committed = bool(enough and len(_delivered_pool(request)))
        before = RefereeScores(-np.concatenate(request.baseline.fold_losses))
        after = RefereeScores(np.asarray([before.mean + estimate.gain]))
        relation = "exceeds" if committed else "does not exceed"
        certificate = _certificate(
            request,
            scorer=self.scorer,
            protocol="paper",
            scores=(None, before, after),
            over_incumbent=bound,
            over_real=None,
            shown=committed,
            committed=committed,
            reason=(
                f"the pooled gain {bound.gain:.4g} {relation} min_gain "
                f"{self.config.min_gain:g} plus the error bar {margin:.4g}"
            ),
            evidence={"fold_gains": folds},
        )
        return certificate, request.standing


def _delivered_pool(request: CommitRequest) -> Table:
    """Return those of the pool's rows that the user gets if it is committed."""
    # Every M-th row of a lineage is delivered, counted from its first committed one.
    everything = concat([request.committed, request.pool])
    numbers = request.lineages.delivered(everything)
    return everything.take(numbers[numbers >= len(request.committed)])


def _crossfit_reason(
    over_real: Bound, over_incumbent: Bound, *, shown: bool, adds: bool
) -> str:
    if np.isnan(over_real.gain):
        return "the referee's scores are not numbers, so nothing can be promised"
    promise = (
        f"with {plain_percent(over_real.confidence)} confidence the gain over real "
        f"rows alone is at least {over_real.lower:.4g}"
    )
    if not shown:
        return f"{promise}, which is not enough"
    if adds:
        return promise
    return f"{promise}, but this pool adds {over_incumbent.gain:.4g} to what is there"


_NOTHING = {
    False: "no candidate passed the gates",
    True: "so few candidates passed the gates that none would be delivered",
}


def _certificate(  # noqa: PLR0913  everything a certificate states, by name
    request: CommitRequest,
    *,
    scorer: str,
    protocol: str,
    scores: tuple[RefereeScores | None, RefereeScores, RefereeScores],
    over_incumbent: Bound,
    over_real: Bound | None,
    shown: bool,
    committed: bool,
    reason: str,
    evidence: Mapping[str, FloatArray],
) -> Certificate:
    real, before, after = scores
    delivered = _delivered_pool(request)
    return Certificate(
        window=request.window,
        protocol=protocol,
        scorer=scorer,
        pool_sha256=table_sha256(delivered),
        n_rows=len(delivered),
        n_judged=len(request.pool),
        score_real=float("nan") if real is None else real.mean,
        score_before=before.mean,
        score_after=after.mean,
        over_incumbent=over_incumbent,
        over_real=over_real,
        look=request.n_attempts_used + 1,
        shown=shown,
        committed=committed,
        reason=reason if len(delivered) else _NOTHING[len(request.pool) > 0],
        evidence=evidence,
        learners_before=before.learner_means(),
        learners_after=after.learner_means(),
    )
