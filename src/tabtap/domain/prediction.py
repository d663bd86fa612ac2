"""What an evaluator says, whatever the task.

A ``Prediction`` hides classification against regression.  In regression it is in the
target's own units, and a loss needs one unit for all contexts: ask ``in_unit_of`` for
it with the real rows.  In the unit of its own context, a context of wildly spread
synthetic targets would make every error look small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tabtap.errors import UserInputError
from tabtap.table.schema import FloatArray, IntArray
from tabtap.table.table import NumberScale, Table

MIN_PROBABILITY = 1e-6
"""Smaller probabilities count as this much, so that a surprise costs 13.8 nats at most.

Float32 evaluators cannot tell smaller ones from 0, and those that count votes say 0.
"""


class Prediction(Protocol):
    """What an evaluator says about the queries of one context."""

    def __len__(self) -> int:
        """Return the number of queries."""

    def losses(self, queries: Table) -> FloatArray:
        """Return cross-entropy in nats, or squared error; one per query."""

    def scores(self, queries: Table) -> FloatArray:
        """Return a proper score per query, 1 at best; larger is better."""

    def hardness(self, queries: Table) -> FloatArray:
        """Return entropy in nats, or the absolute residual; larger is harder."""

    def uncertainty(self) -> FloatArray:
        """Return entropy in nats, or the standard deviation; needs no true target."""

    def in_unit_of(self, real: Table) -> Prediction:
        """Return the same with errors counted in the real targets' deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPrediction:
    """Probabilities of every class, for every query of one context."""

    probabilities: FloatArray
    """Shape (n_queries, n_classes), in the order of the target's levels; 0 for a class
    that the context does not have."""

    def __len__(self) -> int:
        return len(self.probabilities)

    def take(self, rows: IntArray) -> ClassPrediction:
        """Return the answers to some of the queries."""
        return ClassPrediction(self.probabilities[rows])

    def of_label(self, queries: Table) -> FloatArray:
        """Return the probability of each query's own label."""
        return self.probabilities[np.arange(len(self)), _labels(self, queries)]

    def losses(self, queries: Table) -> FloatArray:
        """Return each query's cross-entropy in nats."""
        likely = np.maximum(self.of_label(queries), MIN_PROBABILITY)
        return np.asarray(-np.log(np.minimum(likely, 1.0)))

    def scores(self, queries: Table) -> FloatArray:
        """Return the mean of being right and of 1 minus half the Brier score.

        1 when sure and right, 0 when sure and wrong.  It is proper: no learner gains by
        stating other probabilities than it believes.

        Examples
        --------
        >>> from tabtap.table.schema import Column, Kind, Schema, Target
        >>> from tabtap.table.table import blank
        >>> column = Column(
        ...     name="y", kind=Kind.CATEGORY, dtype="object", levels=("a", "b")
        ... )
        >>> target = Target(column=column, task="classification", position=0)
        >>> queries = blank(Schema(features=(), target=target), np.array([0, 1]))
        >>> ClassPrediction(np.array([[0.8, 0.2], [0.7, 0.3]])).scores(queries)
        array([0.98 , 0.255])
        """
        return 0.5 * self.right(queries) + 0.5 * (1.0 - self.brier(queries))

    def brier(self, queries: Table) -> FloatArray:
        """Return half the squared distance of what was stated from the truth."""
        truth = np.eye(self.probabilities.shape[1])[_labels(self, queries)]
        return np.asarray(0.5 * ((self.probabilities - truth) ** 2).sum(axis=1))

    def right(self, queries: Table) -> FloatArray:
        """Return 1 where the most likely label is the query's own, and else 0.

        Labels that share the largest probability share being right, so that the order
        of the levels does not matter.
        """
        best = self.probabilities == self.probabilities.max(axis=1, keepdims=True)
        n_best = np.maximum(best.sum(axis=1), 1)  # 0 where the answer is NaN
        return np.asarray(best[np.arange(len(self)), _labels(self, queries)] / n_best)

    def hardness(self, queries: Table) -> FloatArray:
        """Return each query's entropy in nats."""
        _check_pair(self, queries)
        return self.uncertainty()

    def uncertainty(self) -> FloatArray:
        """Return each query's entropy in nats."""
        # Not ``> 0``: that would make a NaN as certain as can be.
        positive = np.where(self.probabilities <= 0, 1.0, self.probabilities)
        # Adding 0 turns the -0 of a certain answer into 0.
        return np.asarray(-(positive * np.log(positive)).sum(axis=1) + 0.0)

    def in_unit_of(self, real: Table) -> ClassPrediction:  # noqa: ARG002  see Prediction
        """Return itself: probabilities have no unit."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class TargetUnit:
    """Where a regression target's zero is and how long its one is."""

    center: float
    spread: float

    @classmethod
    def of(cls, rows: Table) -> TargetUnit:
        """Return mean and standard deviation of the rows' targets; 1 for no spread."""
        scale = NumberScale.of(rows.target_values[:, None])
        center = float(np.ldexp(scale.center, scale.exponent)[0])
        return cls(center, float(scale.deviation[0]) or 1.0)

    def standardise(self, values: FloatArray) -> FloatArray:
        """Return values of the target in this unit."""
        # Divided first: the difference of two of the largest floats overflows.
        return np.asarray(values / self.spread - self.center / self.spread)


@dataclass(frozen=True, slots=True, eq=False)
class ValuePrediction:
    """Mean and variance of the target, for every query of one context."""

    mean: FloatArray
    """Shape (n_queries,), in the target's own units."""

    variance: FloatArray
    """Shape (n_queries,), in the target's own units squared."""

    unit: TargetUnit | None = None
    """What errors are counted in; None until ``in_unit_of`` has been asked."""

    def __len__(self) -> int:
        return len(self.mean)

    def take(self, rows: IntArray) -> ValuePrediction:
        """Return the answers to some of the queries."""
        return replace(self, mean=self.mean[rows], variance=self.variance[rows])

    def residuals(self, queries: Table) -> FloatArray:
        """Return predicted minus true target, in standard deviations."""
        _check_pair(self, queries)
        unit = self._unit()
        return unit.standardise(self.mean) - unit.standardise(queries.target_values)

    def losses(self, queries: Table) -> FloatArray:
        """Return each query's squared error on the standardised target."""
        return np.asarray(self.residuals(queries) ** 2)

    def scores(self, queries: Table) -> FloatArray:
        """Return 1 minus the squared error in variances; the mean is an R squared."""
        return np.asarray(1.0 - self.losses(queries))

    def hardness(self, queries: Table) -> FloatArray:
        """Return each query's absolute residual on the standardised target."""
        return np.asarray(np.abs(self.residuals(queries)))

    def uncertainty(self) -> FloatArray:
        """Return each query's standard deviation on the standardised target."""
        return np.asarray(np.sqrt(self.variance) / self._unit().spread)

    def in_unit_of(self, real: Table) -> ValuePrediction:
        """Return the same with errors counted in the real targets' deviations."""
        return replace(self, unit=TargetUnit.of(real))

    def _unit(self) -> TargetUnit:
        if self.unit is None:
            raise UserInputError(
                "This regression prediction is in the target's own units, in which "
                "losses of different tables cannot be compared. Ask for its losses "
                "after prediction.in_unit_of(real), real being the real rows."
            )
        return self.unit


LearnerPrediction = ClassPrediction | ValuePrediction
"""The answers of one learner, as opposed to a panel's."""


def mix(parts: Sequence[LearnerPrediction]) -> LearnerPrediction:
    """Return the equal-weight mixture of several answers to the same queries.

    The variance of a mixture is the mean of the parts' variances plus the variance of
    their means.
    """
    values = [part for part in parts if isinstance(part, ValuePrediction)]
    if values:
        means = np.array([part.mean for part in values])
        within = np.mean([part.variance for part in values], axis=0)
        total = within + means.var(axis=0)
        return ValuePrediction(means.mean(axis=0), total, values[0].unit)
    classes = [p.probabilities for p in parts if isinstance(p, ClassPrediction)]
    return ClassPrediction(np.mean(classes, axis=0))


def scatter(
    parts: Sequence[tuple[IntArray, LearnerPrediction]],
) -> LearnerPrediction:
    """Return the answers to parts of some rows, each put at its rows' numbers."""
    rows = np.argsort(np.concatenate([index for index, _ in parts]), kind="stable")
    values = [part for _, part in parts if isinstance(part, ValuePrediction)]
    if values:
        mean = np.concatenate([part.mean for part in values])
        variance = np.concatenate([part.variance for part in values])
        return ValuePrediction(mean[rows], variance[rows], values[0].unit)
    classes = [p.probabilities for _, p in parts if isinstance(p, ClassPrediction)]
    return ClassPrediction(np.concatenate(classes)[rows])


def _labels(prediction: ClassPrediction, queries: Table) -> IntArray:
    _check_pair(prediction, queries)
    return queries.target.astype(np.int64)


def _check_pair(prediction: Prediction, queries: Table) -> None:
    # Numpy would repeat a single query for all predictions, without a word.
    if len(prediction) != len(queries):
        raise UserInputError(
            f"{len(prediction)} predictions cannot be judged by {len(queries)} "
            "queries. Pass the queries that were predicted, in their order."
        )
