"""Whether a pool enters the training table: two rules with one shape.

``CrossfitCommitment`` compares the referee's scores of rows that neither the learner
nor the generator has seen, pair by pair.  ``PaperCommitment`` is section 3.4 to the
letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.config import CommitConfig
from tabtap.domain import (
    Bound,
    Certificate,
    CommitRequest,
    Decision,
    Figure,
    GroupEffect,
    Lineages,
    RefereeScores,
    ScoresToBeat,
)
from tabtap.domain.judgement import (
    WIDENING,
    Bars,
    believed_part,
    best_elsewhere,
    best_place,
    confidence_at,
    gain_bound,
    is_best_of_several,
    is_squared_error,
    table_sha256,
    two_sided_fold_margin,
    usual_gain,
    worth_of,
)
from tabtap.stages import Referee, Utility
from tabtap.table.cells import times_from_counts
from tabtap.table.schema import BoolArray, Column, FloatArray, IntArray, Kind
from tabtap.table.table import Table, concat
from tabtap.wording import plain_percent


@dataclass(frozen=True, slots=True, eq=False)
class CrossfitCommitment:
    """Commit when the best learner with the rows is shown to beat the best without.

    The gain of the synthetic table over real rows alone, this pool included, must
    exceed 0 by its error bar, at ``confidence`` shared among the attempts.  The plain
    figure, accuracy or RMSE, must be estimated to gain what is worth having,
    ``min_gain``.  Over the incumbent the pool must gain at ``increment_confidence``,
    which is 0.5 by default: demanding that each increment be significant by itself
    would stop after the first window; asking nothing of it would let a harmful pool
    ride on those before it.

    Parts of the first pool are judged beside the whole, because fewer rows may help
    where many do not.  Which part and which learner is best is chosen for each fold by
    the others (``best_elsewhere``), so that choosing is paid for.
    """

    real: Table
    referee: Referee
    config: CommitConfig
    clusters: IntArray | None = None
    """Group of every real row, if rows belong together."""

    teacher: str = ""
    """Who gives rows their targets, for the record."""

    lineages: Lineages | None = None
    """Of ``real``, where the rows that are learned are a sample of it."""

    no_harm: Mapping[str, float] = field(default_factory=dict)
    """Columns whose groups may not be harmed, and what a group may lose."""

    weights: FloatArray | None = None
    """Shape (n_real,): what real rows count in the referee's scores, 1 on average."""

    def check(self, request: CommitRequest) -> Decision:
        """Score the pool beside real rows only and beside the incumbent."""
        if self.lineages is not None:
            request = replace(request, lineages=self.lineages)
        standing = self._standing(request)
        real, incumbent, before = standing.real, standing.incumbent, standing.promised
        if real is None or incumbent is None or before is None:  # see _standing
            raise AssertionError
        alone = _best(real)
        parts = nested_parts(request, len(self.real)) if len(request.pool) else ()
        judged = self._judged(request, parts, alone)
        chosen, kept, after = incumbent, np.arange(0), before
        learner = request.standing.learner or alone
        if judged:
            # The whole pool for the learner that is best without it comes first.
            options = [(n, name) for n, p in enumerate(judged) for name in p.choices()]
            scores = [judged[place].choices()[name] for place, name in options]
            first = options.index((0, alone))
            place, learner = options[best_place(scores, first)]
            chosen, kept = judged[place], parts[place]
            after = best_elsewhere(scores, request.lineages.partitions, first)
        evidence = {"real": real.choices()[alone], "before": before, "after": after}
        certificate = self._certificate(
            replace(request, pool=request.pool.take(kept)),
            evidence,
            real,
            chosen,
            learner,
        )
        beaten = ScoresToBeat(real, incumbent, before, standing.learner)
        if certificate.committed:
            # Of a smaller part only the likeliest learners were asked.
            if len(chosen.by_learner) < len(real.by_learner):
                chosen = self._scores(request, kept)
            beaten = ScoresToBeat(real, chosen, after, learner)
        # What a part does to others is not asked where it is refused.
        told = judged[0] if judged and not certificate.committed else chosen
        certificate = self._with_effects(certificate, real, told)
        return Decision(certificate, beaten, kept)

    def _with_effects(
        self, certificate: Certificate, real: RefereeScores, with_rows: RefereeScores
    ) -> Certificate:
        """Write down what the rows do to each learner."""
        effects = {
            name: self._bound(real.by_learner[name], after, BAR)
            for name, after in with_rows.by_learner.items()
        }
        return replace(
            certificate, effects=effects, learners_after=with_rows.learner_means()
        )

    def _judged(
        self, request: CommitRequest, parts: Sequence[IntArray], alone: str
    ) -> list[RefereeScores]:
        """Score the whole pool with all learners, parts with the two that matter most.

        These are the best one without rows and the best one with all of them.
        """
        if not parts:
            return []
        whole = self._scores(request, parts[0])
        only = None if whole.is_mean else tuple(dict.fromkeys((alone, _best(whole))))
        return [whole, *(self._scores(request, part, only) for part in parts[1:])]

    def _scores(
        self, request: CommitRequest, part: IntArray, only: Sequence[str] | None = None
    ) -> RefereeScores:
        rows = concat([request.committed, request.pool.take(part)])
        return self.referee.scores(rows, only)

    def _standing(self, request: CommitRequest) -> ScoresToBeat:
        if request.standing.promised is not None:
            return request.standing
        real = self.referee.scores(request.committed.empty())
        alone = _best(real)
        incumbent = real
        if len(request.committed):
            incumbent = self.referee.scores(request.committed)
        return ScoresToBeat(real, incumbent, incumbent.choices()[alone], alone)

    def _certificate(
        self,
        request: CommitRequest,
        evidence: dict[str, FloatArray],
        real: RefereeScores,
        chosen: RefereeScores,
        learner: str,
    ) -> Certificate:
        """Decide about a part of the pool, and write down on what grounds."""
        attempt = request.n_attempts_used + 1
        sure = confidence_at(attempt, self.config.confidence)
        over_real = self._bound(evidence["real"], evidence["after"], sure)
        # Whether a pool adds to others is a question of sign, and decided as measured.
        over_incumbent = gain_bound(
            evidence["before"],
            evidence["after"],
            self.config.increment_confidence,
            replace(self._bars, usual=0.0),
            self.clusters,
        )
        delivered = _delivered_pool(request)
        best_alone = _best(real)
        scores = evidence["real"], evidence["after"]
        figures = self._figures(real, chosen, best_alone, learner)
        if self._bars.usual:
            believed = believed_part(float(np.mean(scores[1] - scores[0])), over_real)
            figures = tuple(figure.drawn_in(believed) for figure in figures)
        copies, over_copies = self._copies(request, real, chosen, best_alone, learner)
        worth = worth_of(self.referee.name, over_real, figures)
        groups = group_effects(
            *(self.real, self.no_harm, scores, self._bars),
            *(self.clusters, self.weights),
        )
        verdict = _Verdict(
            shown=bool(over_real.lower > 0.0),
            large=bool(worth >= self.config.min_gain),
            plain=not (figures and figures[0].gain < 0.0),
            harmed=next((g for g in groups if g.is_harmed), None),
            adds=not len(request.committed) or bool(over_incumbent.lower > 0.0),
        )
        if self.clusters is not None:
            evidence = evidence | {"clusters": self.clusters.astype(np.float64)}
        if self.weights is not None:
            evidence = evidence | {"weights": self.weights}
        return Certificate(
            window=request.window,
            protocol="crossfit",
            scorer=self.referee.name,
            pool_sha256=table_sha256(delivered),
            n_rows=len(delivered),
            n_judged=len(request.pool),
            score_real=float(np.mean(evidence["real"])),
            score_before=float(np.mean(evidence["before"])),
            score_after=float(np.mean(evidence["after"])),
            over_incumbent=over_incumbent,
            over_real=over_real,
            n_folds=request.lineages.n_folds_each,
            widening=self._bars.widening,
            is_squared=self._bars.is_squared,
            usual=self._bars.usual,
            look=attempt,
            shown=verdict.shown,
            committed=verdict.yes and len(delivered) > 0,
            reason=verdict.reason(over_real, over_incumbent, figures, worth)
            if len(delivered)
            else _NOTHING[len(request.pool) > 0],
            evidence=evidence,
            learners_before=real.learner_means(),
            learner=learner,
            best_alone=best_alone,
            figures=figures,
            groups=groups,
            copies=copies,
            over_copies=over_copies,
            learners=self.referee.learners,
            teacher=self.teacher,
        )

    def _figures(
        self, real: RefereeScores, chosen: RefereeScores, best_alone: str, learner: str
    ) -> tuple[Figure, ...]:
        if not (real.answers and chosen.answers):
            return ()
        return self.referee.figures(
            _answers(real, best_alone),
            _answers(real, learner),
            _answers(chosen, learner),
        )

    def _copies(
        self,
        request: CommitRequest,
        real: RefereeScores,
        chosen: RefereeScores,
        best_alone: str,
        learner: str,
    ) -> tuple[Bound | None, Bound | None]:
        """Bound what as many copies of real rows gain, and new rows over these."""
        everything = concat([request.committed, request.pool])
        if not len(everything):
            return None, None
        twins = copies_like(everything, self.real, request.lineages)
        asked = None if chosen.is_mean else (learner,)
        scores = self.referee.scores(twins, asked).choices()[learner]
        alone, with_rows = real.choices()[best_alone], chosen.choices()[learner]
        return self._bound(alone, scores, BAR), self._bound(scores, with_rows, BAR)

    def _bound(self, before: FloatArray, after: FloatArray, confidence: float) -> Bound:
        return gain_bound(before, after, confidence, self._bars, self.clusters)

    @property
    def _bars(self) -> Bars:
        """Where no learner is named, true gains are small, and both bars count."""
        scorer = self.referee.name
        return Bars(
            WIDENING,
            is_squared=is_squared_error(scorer, self.real.schema),
            is_strict=is_best_of_several(scorer),
            usual=usual_gain(scorer, self.real.schema),
        )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a pool has to be, all of it, to be let in."""

    shown: bool
    large: bool
    plain: bool
    harmed: GroupEffect | None
    adds: bool

    @property
    def yes(self) -> bool:
        harmless = self.harmed is None
        return self.shown and self.large and self.plain and harmless and self.adds

    def reason(
        self,
        over_real: Bound,
        over_incumbent: Bound,
        figures: Sequence[Figure],
        worth: float,
    ) -> str:
        """Say why it is let in or not."""
        if np.isnan(over_real.gain):
            return "the referee's scores are not numbers, so nothing can be promised"
        promise = (
            f"with {plain_percent(over_real.confidence)} confidence the gain over real "
            f"rows alone is at least {over_real.lower:.4g}"
        )
        if not self.shown:
            return f"{promise}, which is not enough"
        if not self.plain:
            name = figures[0].name
            return f"{promise}, but the {name} is estimated to get worse"
        if self.harmed is not None and self.harmed.change is not None:
            loss = f"{-self.harmed.change.gain:.4g}"
            return f"{promise}, but {group_name(self.harmed)} loses {loss}"
        if not self.large:
            return f"{promise}, but a gain of {worth:.4g} is too small to matter"
        if not self.adds:
            adds = over_incumbent.gain
            return f"{promise}, but this pool adds {adds:.4g} to what is there"
        return promise


BAR = 0.95
"""One-sided confidence of the bars that describe, which decide nothing."""


def _best(scores: RefereeScores) -> str:
    choices = scores.choices()
    return max(choices, key=lambda name: float(np.mean(choices[name])))


def _answers(scores: RefereeScores, learner: str) -> list[FloatArray]:
    """Return the answers of a learner; of all of them, if it is their mean."""
    if scores.is_mean:
        return list(scores.answers.values())
    return [scores.answers[learner]]


# ---- Groups of real rows that may not be harmed.
#
# The question is what becomes of a group if the verdict is followed, so its rows keep
# the scores of the promise.  A pool is refused where harm beyond the loss allowed is
# likelier than not, by the estimate: to wait until harm is shown would let most of it
# pass, for groups are small and their bars wide.


ALLOWED_LOSS = 0.02
"""What a group's score may be estimated to lose unless the user says otherwise."""

FEWEST_ROWS = 10
"""In a smaller group a single row decides, so nothing is told."""

MOST_RARE = 3
"""Smaller groups of a column that are told one by one."""


def group_effects(
    real: Table,
    no_harm: Mapping[str, float],
    scores: Sequence[FloatArray],
    bars: Bars,
    clusters: IntArray | None = None,
    weights: FloatArray | None = None,
) -> tuple[GroupEffect, ...]:
    """Return what new rows do to every group of some columns.

    ``scores`` are those of the real rows without new ones and with them; where rows
    count by weights, their mean over all rows is the weighted one.
    """
    before, after = scores
    bars = replace(bars, usual=0.0)  # harm to a group is not to be belittled
    weight = np.ones(len(real)) if weights is None else weights
    effects = []
    for column, allowed in no_harm.items():
        for value, rows in groups_of(real, column):
            effect = GroupEffect(
                column=column, value=value, n_rows=int(rows.sum()), allowed_loss=allowed
            )
            share = float(weight[rows].mean())
            if effect.n_rows >= FEWEST_ROWS and share > 0.0:
                together = None if clusters is None else clusters[rows]
                own = before[rows] / share, after[rows] / share
                change = gain_bound(*own, BAR, bars, together)
                effect = replace(effect, change=change)
            effects.append(effect)
    return tuple(effects)


def groups_of(real: Table, name: str) -> Iterator[tuple[str, BoolArray]]:
    """Yield the groups of a column: what their rows have in it, and which these are.

    A number or a time is cut at its median; rows without a value are a group, and so
    are the values together that few rows have, if there are many.
    """
    columns = named_columns(real)
    place = [str(column.name) for column in columns].index(name)
    column, cells, hole = columns[place], real.target, np.zeros(len(real), np.bool_)
    if place < len(real.cells):
        cells, hole = real.cells[place], real.missing[:, place] > 0
    if not column.levels and not hole.all():
        yield from _sides(column, cells, hole)
    own = [(cells == code) & ~hole for code in range(len(column.levels))]
    rare = [rows for rows in own if 0 < rows.sum() < FEWEST_ROWS]
    if len(rare) > MOST_RARE:
        yield f"{len(rare)} other values", np.any(rare, axis=0)
    for level, rows in zip(column.levels, own, strict=True):
        if rows.sum() >= (FEWEST_ROWS if len(rare) > MOST_RARE else 1):
            yield str(level), rows
    if hole.any():
        yield "missing", hole


def _sides(
    column: Column, cells: NDArray[Any], hole: BoolArray
) -> Iterator[tuple[str, BoolArray]]:
    """Yield the lower and the upper half of the rows, by some numbers."""
    numbers = np.sort(cells[~hole])
    middle = numbers[(len(numbers) - 1) // 2]
    low, words = cells <= middle, ("at most", "above")
    if middle == numbers[-1]:  # most rows have the largest value
        low, words = cells < middle, ("below", "from")
    for side, word in zip((low, ~low), words, strict=True):
        if (side & ~hole).any():
            yield f"{word} {_cell_text(column, middle)}", side & ~hole


def named_columns(real: Table) -> tuple[Column, ...]:
    """Return the columns that groups can be made by: features, then the target."""
    target = real.schema.target
    return (*real.schema.features, *(() if target is None else (target.column,)))


def _cell_text(column: Column, cell: Any) -> str:  # noqa: ANN401 - of any storage
    if column.kind is Kind.DATETIME:
        return str(times_from_counts(np.array([cell]), column.dtype)[0])
    return f"{cell:.6g}" if column.kind is Kind.CONTINUOUS else str(cell)


def group_name(group: GroupEffect) -> str:
    """Return a group as text.

    Examples
    --------
    >>> group_name(GroupEffect(column="sex", value="f", n_rows=9, allowed_loss=0.02))
    'the group sex (f)'
    """
    return f"the group {group.column} ({group.value})"


# ---- Parts of a pool, and copies to hold it against.


PART_SIZES = (1.0, 1 / 4)
"""Shares of the first pool that are judged."""

SMALLEST_PART = 1 / 5
"""Fewer rows than this share of the real ones are not tried as a part."""


def nested_parts(request: CommitRequest, n_real: int) -> tuple[IntArray, ...]:
    """Return the whole pool and smaller parts of it, each inside the one before.

    Every lineage has its share in each part, and its rows are spread over the window.
    Once rows were committed a pool is judged as a whole.
    """
    sizes = PART_SIZES if not len(request.committed) else PART_SIZES[:1]
    members = request.lineages.members
    own = [np.flatnonzero(request.pool.unseen_fold == member) for member in members]
    parts = [np.arange(len(request.pool))]
    for share in sizes[1:]:
        n_rows = [int(np.ceil(share * len(rows))) for rows in own]
        if max(n_rows) < SMALLEST_PART * n_real:
            break
        pairs = zip(own, n_rows, strict=True)
        picked = [rows[_spread(len(rows))[:n]] for rows, n in pairs]
        parts.append(np.sort(np.concatenate(picked)))
    return tuple(parts)


def _spread(n_rows: int) -> IntArray:
    """Return an order of which every beginning is spread evenly over the rows."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    return np.argsort((np.arange(n_rows) * golden) % 1.0, kind="stable")


def copies_like(synthetic: Table, real: Table, lineages: Lineages) -> Table:
    """Return copies of real rows in the place of synthetic ones, lineage by lineage.

    A lineage gets copies of rows that it has seen, each as often as any other.
    """
    parts = []
    for member in lineages.members:
        n_rows = int(np.sum(synthetic.unseen_fold == member))
        seen = lineages.seen(member)
        order = seen[_spread(len(seen))]
        rows = real.take(np.resize(order, n_rows))
        parts.append(rows.with_origin(unseen_fold=member))
    return concat(parts)


@dataclass(frozen=True, slots=True, eq=False)
class PaperCommitment:
    """Commit when the pooled plug-in gain exceeds tau + eps (equations 4 and 19)."""

    utility: Utility
    config: CommitConfig
    scorer: str

    def check(self, request: CommitRequest) -> Decision:
        """Ask the evaluator about the whole pool, on the window's focus rows."""
        estimate = self.utility.gains(request.baseline, [request.pool])[0]
        folds = np.asarray(estimate.fold_gains)
        margin = two_sided_fold_margin(folds, self.config.confidence)
        bound = Bound(estimate.gain, margin, self.config.confidence)
        enough = bound.gain > self.config.min_gain + margin
        committed = bool(enough and len(_delivered_pool(request)))
        before = -float(np.mean(np.concatenate(request.baseline.fold_losses)))
        relation = "exceeds" if committed else "does not exceed"
        delivered = _delivered_pool(request)
        certificate = Certificate(
            window=request.window,
            protocol="paper",
            scorer=self.scorer,
            pool_sha256=table_sha256(delivered),
            n_rows=len(delivered),
            n_judged=len(request.pool),
            score_real=float("nan"),
            score_before=before,
            score_after=before + estimate.gain,
            over_incumbent=bound,
            over_real=None,
            look=request.n_attempts_used + 1,
            shown=committed,
            committed=committed,
            reason=(
                f"the pooled gain {bound.gain:.4g} {relation} min_gain "
                f"{self.config.min_gain:g} plus the error bar {margin:.4g}"
            )
            if len(delivered)
            else _NOTHING[len(request.pool) > 0],
            evidence={"fold_gains": folds},
        )
        return Decision(certificate, request.standing, np.arange(len(request.pool)))


_NOTHING = {
    False: "no candidate passed the gates",
    True: "so few candidates passed the gates that none would be delivered",
}


def _delivered_pool(request: CommitRequest) -> Table:
    """Return those of the pool's rows that the user gets if it is committed."""
    # Every M-th row of a lineage is delivered, counted from its first committed one.
    everything = concat([request.committed, request.pool])
    numbers = request.lineages.delivered(everything)
    return everything.take(numbers[numbers >= len(request.committed)])
