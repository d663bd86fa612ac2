"""The gate that asks whether someone who has not seen its anchor believes a row.

The prediction is the caller's: it must come from an evaluator that has seen neither
the anchor of a row nor the row.  In-sample, every real label looks plausible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabtap.domain import ClassPrediction, GateContext, Prediction
from tabtap.errors import UserInputError
from tabtap.table.schema import BoolArray, FloatArray
from tabtap.table.table import Table

_ROUNDING = 1e-9
"""So that 0.6 against 0.5 is a margin of 0.1, which floats deny."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plausible:
    """A label that is likely and ahead of the others; a residual as real rows have.

    Parameters
    ----------
    min_probability : float
        Least probability of a row's own label; the paper's p_min.
    min_margin : float
        How far its own label must be ahead of the likeliest other.
    residual_percentile : float
        Regression: percentile of the real rows' out-of-fold residual magnitudes that
        a row's own may not exceed.
    """

    min_probability: float
    min_margin: float
    residual_percentile: float

    name: ClassVar[str] = "plausibility"
    needs_prediction: ClassVar[bool] = True

    def passes(self, candidates: Table, context: GateContext) -> BoolArray:
        """Return whether the evaluator finds each row plausible; NaN is not."""
        if candidates.schema.target is None:
            return np.ones(len(candidates), dtype=np.bool_)
        prediction = _prediction(context)
        classes = _classes(prediction)
        if classes is None:
            limit = _largest_residual(context, self.residual_percentile)
            return np.asarray(_residuals(prediction, candidates, context) <= limit)
        likely = classes.of_label(candidates)
        ahead = likely - _next_best(classes, candidates)
        fine = likely >= self.min_probability - _ROUNDING
        return np.asarray(fine & (ahead >= self.min_margin - _ROUNDING))

    def scores(self, candidates: Table, context: GateContext) -> dict[str, FloatArray]:
        """Return the probability of each row's label, or its residual magnitude."""
        if candidates.schema.target is None:
            return {}
        prediction = _prediction(context)
        classes = _classes(prediction)
        if classes is None:
            return {"residual": _residuals(prediction, candidates, context)}
        return {"plausibility": classes.of_label(candidates)}


def _prediction(context: GateContext) -> Prediction:
    if context.prediction is None:
        raise UserInputError(
            "The plausibility gate was given no prediction. Pass one to GateContext, "
            "by an evaluator that has not seen the candidates' anchors, or leave the "
            "gate out with GateConfig(plausibility=False)."
        )
    return context.prediction


def _classes(prediction: Prediction) -> ClassPrediction | None:
    """Return the probabilities, of a panel the averaged ones; None for values."""
    told = getattr(prediction, "mixture", prediction)
    return told if isinstance(told, ClassPrediction) else None


def _next_best(classes: ClassPrediction, candidates: Table) -> FloatArray:
    others = classes.probabilities.copy()
    others[np.arange(len(others)), candidates.target.astype(np.int64)] = 0.0
    return np.asarray(others.max(axis=1, initial=0.0))


def _residuals(
    prediction: Prediction, candidates: Table, context: GateContext
) -> FloatArray:
    return prediction.in_unit_of(context.real).hardness(candidates)


def _largest_residual(context: GateContext, percentile: float) -> float:
    if context.residuals is None or not np.isfinite(context.residuals).any():
        raise UserInputError(
            "The plausibility gate of a regression target was given no residuals of "
            "real rows. Pass their out-of-fold magnitudes, standardised, as "
            "GateContext(residuals=...)."
        )
    known = context.residuals[np.isfinite(context.residuals)]
    return float(np.percentile(known, percentile))
