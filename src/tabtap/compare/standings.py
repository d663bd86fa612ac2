"""How methods stand: the best learner with their rows against the best without.

The rule is that of ``tabtap augment`` (``loop.commit``): the learner is chosen for each
fold by the others, a proper score decides, and the plain figure may not get worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tabtap.compare.store import Record
from tabtap.config import CommitConfig
from tabtap.domain import Measured, RefereeScores
from tabtap.domain.judgement import (
    PANEL_MEAN,
    best_elsewhere,
    best_place,
    cross_fitted,
    one_sided,
)
from tabtap.errors import TapError
from tabtap.evaluate.figures import (
    FigureKind,
    figure_kinds,
    plain_figure,
    prediction_of,
)
from tabtap.evaluate.metric import metric_of
from tabtap.table.schema import FloatArray, IntArray, Task
from tabtap.table.table import Table

BEST = "best"
"""Whom a comparison is about if no learner is named: the best of the panel."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedRows:
    """The real rows that learners were asked about."""

    rows: Table

    fold: IntArray
    """Of every row, shape (n_rows,) or (n_partitions, n_rows).  A learner is chosen for
    a fold by what it does on the others."""

    n_trained_folds: int | None = None
    """Folds of one partition that were trained on by turns; None for rows that nobody
    trained on."""

    groups: IntArray | None = None
    """Whom every row belongs to; rows of one group count as one."""

    @property
    def partitions(self) -> IntArray:
        """Shape (n_partitions, n_rows): the fold of every row."""
        return np.atleast_2d(self.fold)

    @property
    def task(self) -> Task:
        """What is asked about the rows."""
        target = self.rows.schema.target
        if target is None:
            raise AssertionError("a comparison has a target")
        return target.task

    def measured(self, by_row: FloatArray) -> Measured:
        """Return one mean over the rows, with an interval of its own."""
        (found,) = self.measured_together([by_row])
        return found

    def measured_together(self, columns: Sequence[FloatArray]) -> list[Measured]:
        """Return several means over the rows, with intervals that hold together."""
        found = intervals(
            np.column_stack(columns), self.groups, n_folds=self.n_trained_folds
        )
        return [Measured(float(mean), float(mean - low)) for mean, low, _ in found]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a method did."""

    method: str

    learner: str
    """Who was trained with its rows: the best, the one that was named, or all."""

    plain: Measured
    """Accuracy, or RMSE in the target's own units; the interval is of this alone."""

    plain_gain: Measured
    """How much better that is than the best learner without new rows."""

    worth: float
    """The same in points of accuracy, or as a share of the RMSE."""

    score: float
    """The yardstick, which decides; larger is better."""

    gain: Measured
    """Of the score over the best learner without new rows."""

    n_rows: float
    """Rows added, mean over repeats."""

    cpu_seconds: float
    """Of making them, mean over repeats."""

    failures: tuple[str, ...] = ()
    """Why it failed, once for each repeat in which it did."""

    by_learner: Mapping[str, float] = field(default_factory=dict)
    """The plain figure of every learner that was trained with its rows."""

    min_gain: float = CommitConfig().min_gain
    """What it must be worth to be worth having."""

    @property
    def is_shown(self) -> bool:
        """Whether a gain of the score is above zero with both ends of its interval."""
        return bool(self.gain.value - self.gain.margin > 0.0)

    @property
    def helps(self) -> bool:
        """Whether a gain is shown, worth having, and plain to see."""
        return self.is_shown and self.worth >= self.min_gain

    @property
    def harms(self) -> bool:
        """Whether a loss of the score is shown."""
        return bool(self.gain.value + self.gain.margin < 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """All methods, the best score first."""

    asked: AskedRows
    promise: str
    """``BEST``, the panel's mean, or the learner that was named."""

    standings: tuple[Standing, ...]

    scores: Mapping[str, FloatArray]
    """Of every asked row, by method, as its standing has them."""

    alone: Mapping[str, FloatArray]
    """Of every asked row, by learner, without new rows."""

    learners: Mapping[str, str] = field(default_factory=dict)
    """Class, settings and version of every learner."""

    likely_groups: str = ""
    """A column that looks like groups where none were named, as ``augment`` has it."""

    notes: tuple[str, ...] = ()
    """What there is to know of the table, a sentence each."""

    def _repr_html_(self) -> str:
        from tabtap.compare.page import comparison_verdict
        from tabtap.report import verdict_box

        return verdict_box(comparison_verdict(self))

    def of(self, method: str) -> Standing:
        """Return how one method did."""
        return next(s for s in self.standings if s.method == method)

    @property
    def others(self) -> list[Standing]:
        """All methods but real rows alone."""
        return [s for s in self.standings if s.method != "Real"]

    @property
    def task(self) -> Task:
        """What was asked about the rows."""
        return self.asked.task

    @property
    def n_test(self) -> int:
        """Rows that were asked."""
        return len(self.asked.rows)

    @property
    def figure(self) -> FigureKind:
        """The plain figure: accuracy or RMSE."""
        return figure_kinds(self.asked.rows)[0]

    @property
    def gain_unit(self) -> float:
        """What a gain of the plain figure is multiplied by: points, or percent."""
        if self.task == "classification":
            return 100.0
        return 100.0 / max(self.of("Real").plain.value, 1e-300)

    def is_worse(self, one: FloatArray, other: FloatArray) -> bool:
        """Tell whether some scores of the asked rows are shown to be below others."""
        ahead = self.asked.measured(other - one)
        return bool(ahead.value - ahead.margin > 0.0)


# ---- From records to standings.


def summarise(
    records: Sequence[Record],
    asked: AskedRows,
    promise: str = BEST,
    learners: Mapping[str, str] | None = None,
    *,
    min_gain: float | None = None,
) -> Comparison:
    """Put the records of all cells of a comparison together.

    The records come from ``MethodComparison.record``; real rows alone (``Real``) must
    be among them.

    Raises
    ------
    TapError
        If learners could not be trained on real rows alone.
    """
    by_method = _whole_records(records)
    everyone = {name: _scores(part, asked) for name, part in by_method.items()}
    promised = {name: _promised(part, promise) for name, part in everyone.items()}
    alone = _best(promised["Real"])
    base = promised["Real"].choices()[alone]
    taken, by_row = {"Real": alone}, {"Real": base}
    for name, scores in promised.items():
        if name == "Real" or not _n_rows(by_method[name]):
            taken[name], by_row[name] = alone, base
        else:
            taken[name], by_row[name] = _chosen(scores, alone, asked.partitions)
    plain = {
        name: plain_figure(asked.rows, _answers(promised[name], taken[name]))
        for name in promised
    }
    sign = 1.0 if figure_kinds(asked.rows)[0].larger_is_better else -1.0
    gains = asked.measured_together([part - base for part in by_row.values()])
    plain_gains = asked.measured_together(
        [sign * (part - plain["Real"]) for part in plain.values()]
    )
    least = CommitConfig().min_gain if min_gain is None else min_gain
    standings = [
        Standing(
            name,
            taken[name],
            asked.measured(plain[name]),
            plain_gain,
            plain_gain.value / (1.0 if sign > 0 else float(plain["Real"].mean())),
            float(by_row[name].mean()),
            gain,
            **_told(by_method[name]),
            by_learner=_plain_by_learner(everyone[name], asked.rows),
            min_gain=least,
        )
        for name, gain, plain_gain in zip(by_row, gains, plain_gains, strict=True)
    ]
    return Comparison(
        asked,
        promise,
        tuple(sorted(standings, key=lambda standing: -standing.score)),
        by_row,
        everyone["Real"].by_learner,
        dict(learners or {}),
    )


def _whole_records(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return records by method; one whose worker died is that of no rows."""
    real = {r["cell"]["split"]: r for r in records if r["cell"]["method"] == "Real"}
    for record in real.values():
        if "answers" not in record:
            raise TapError(
                "Learners could not be trained on the real rows alone: "
                f"{record['failure']['reason']}"
            )
    by_method: dict[str, list[Record]] = {"Real": []}
    for record in records:
        whole = record
        if "answers" not in record:
            alike = real[record["cell"]["split"]]
            kept = {"cell": record["cell"], "failure": record["failure"]}
            whole = {**alike, **kept, "n_rows": 0}
        by_method.setdefault(record["cell"]["method"], []).append(whole)
    return by_method


def _scores(records: Sequence[Record], asked: AskedRows) -> RefereeScores:
    """Return what learners said of every row, once for each time it was asked."""
    named = list(records[0]["answers"])
    names = [name for name in named if all(name in r["answers"] for r in records)]
    # A store has no order of its own; partitions are to follow one another.
    records = sorted(records, key=lambda record: int(record["cell"]["split"]))
    numbers = np.concatenate([np.asarray(r["asked"], np.int64) for r in records])
    order = np.argsort(numbers, kind="stable")
    answers = {
        name: _by_time(
            np.concatenate([np.asarray(r["answers"][name]) for r in records])[order],
            len(asked.rows),
        )
        for name in names
    }
    metric = metric_of("score")
    scores = {
        name: np.mean(
            [
                metric.by_row(prediction_of(part, asked.rows), asked.rows)
                for part in said
            ],
            axis=0,
        )
        for name, said in answers.items()
    }
    return RefereeScores(scores, answers)


def _by_time(answers: NDArray[np.float64], n_rows: int) -> FloatArray:
    """Return sorted answers with one axis for how often rows were asked, first."""
    apart = answers.reshape(n_rows, -1, *answers.shape[1:])
    return np.asarray(np.swapaxes(apart, 0, 1))


def _promised(scores: RefereeScores, promise: str) -> RefereeScores:
    """Return the scores of those whom the comparison is about."""
    by_learner, answers = scores.by_learner, scores.answers
    if promise in (BEST, PANEL_MEAN):
        return RefereeScores(by_learner, answers, is_mean=promise == PANEL_MEAN)
    return RefereeScores({promise: by_learner[promise]}, {promise: answers[promise]})


def _best(scores: RefereeScores) -> str:
    choices = scores.choices()
    return max(choices, key=lambda name: float(np.mean(choices[name])))


def _chosen(
    scores: RefereeScores, alone: str, partitions: IntArray
) -> tuple[str, FloatArray]:
    """Return the learner to train, and scores that have paid for the choice."""
    choices = scores.choices()
    names, parts = list(choices), list(choices.values())
    first = names.index(alone)
    n_elsewhere = min(len(fold) - int(np.bincount(fold).max()) for fold in partitions)
    if len(names) == 1 or n_elsewhere < _FEWEST_TO_CHOOSE_BY:
        return alone, choices[alone]
    learner = names[best_place(parts, first)]
    return learner, best_elsewhere(parts, partitions, first)


_FEWEST_TO_CHOOSE_BY = 2
"""Rows by which a learner can be chosen: one has no spread."""


def _answers(scores: RefereeScores, learner: str) -> list[FloatArray]:
    if scores.is_mean:
        return list(scores.answers.values())
    return [scores.answers[learner]]


def _plain_by_learner(scores: RefereeScores, rows: Table) -> dict[str, float]:
    return {
        name: float(plain_figure(rows, [said]).mean())
        for name, said in scores.answers.items()
    }


def _told(records: Sequence[Record]) -> dict[str, Any]:
    seconds = [r["costs"]["cpu_seconds"].get("method", 0.0) for r in records]
    failed = [r["failure"]["reason"] for r in records if r["failure"]]
    return {
        "n_rows": _n_rows(records),
        "cpu_seconds": float(np.mean(seconds)),
        "failures": tuple(map(str, failed)),
    }


def _n_rows(records: Sequence[Record]) -> float:
    return float(np.mean([r["n_rows"] for r in records]))


# ---- Intervals of several mean differences that hold together.
#
# Of seven methods that change nothing, one looks good by chance far more often than a
# single one would. So the intervals are widened until all of them hold at once, by what
# their differences have in common: methods that are wrong about the same rows are
# hardly more than one.


CONFIDENCE = 0.9
"""That all of the two-sided intervals hold."""

_N_DRAWS = 20_000


def intervals(
    differences: FloatArray,
    clusters: IntArray | None = None,
    n_folds: int | None = None,
) -> FloatArray:
    """Return mean, low and high of each column, as an array of shape (n_columns, 3).

    ``differences`` tells how much better each row is answered, one column for each
    method.  Rows of one cluster say the same thing again, and count as one.  Rows that
    were asked by turns, ``n_folds`` of them, are less sure (``cross_fitted``).  All
    intervals hold together with ``CONFIDENCE``.

    Examples
    --------
    >>> together = intervals(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> alone = intervals(np.array([[0.0], [1.0], [1.0]]))
    >>> bool(together[0, 1] < alone[0, 1] < alone[0, 0])
    True
    """
    # One standard error: the margin of a one-sided bound over its quantile.
    one = (1 + CONFIDENCE) / 2
    bound = one_sided if n_folds is None else partial(cross_fitted, n_folds=n_folds)
    bounds = [bound(column, one, clusters=clusters) for column in differences.T]
    count = len(differences) if clusters is None else len(np.unique(clusters))
    means = np.array([bound.gain for bound in bounds])
    margins = np.array([bound.margin for bound in bounds])
    if count > 1:
        centred = _totals(differences - means, clusters)
        margins *= _critical(centred, count - 1) / stdtrit(count - 1, one)
    return np.column_stack([means, means - margins, means + margins])


def _totals(centred: FloatArray, clusters: IntArray | None) -> FloatArray:
    if clusters is None:
        return centred
    names, cluster_index = np.unique(clusters, return_inverse=True)
    totals = np.zeros((len(names), centred.shape[1]))
    np.add.at(totals, cluster_index, centred)
    return totals


def _critical(centred: FloatArray, freedom: int) -> float:
    """Return how many standard errors the largest of several t values reaches."""
    size = np.sqrt((centred**2).sum(axis=0))
    varied = size > 0
    alone = float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    if varied.sum() < 2:
        return alone
    unit = centred[:, varied] / size[varied]
    # Rotated noise has the columns' correlation, whatever their number.
    rng = np.random.default_rng(0)
    root = np.asarray(np.linalg.qr(unit, mode="r"))
    noise = rng.standard_normal((_N_DRAWS, root.shape[0])) @ root
    scale = np.sqrt(rng.chisquare(freedom, _N_DRAWS) / freedom)
    largest = np.abs(noise).max(axis=1) / scale
    return max(alone, float(np.quantile(largest, CONFIDENCE)))
