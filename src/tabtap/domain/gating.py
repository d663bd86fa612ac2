"""What a gate may look at besides the candidates, and what the gates decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tabtap.domain.candidates import Candidates
from tabtap.domain.prediction import Prediction
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class GateContext:
    """One lineage's view of the rows that exist."""

    real: Table
    """The real rows that the lineage has seen."""

    kept: Table
    """Synthetic rows of the lineage that were committed or are in the pool."""

    prediction: Prediction | None = None
    """What an evaluator that has not seen their anchors says of the candidates."""

    residuals: FloatArray | None = None
    """Regression: out-of-fold residual magnitudes of the real rows, standardised."""


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """What the gates made of some candidates."""

    admitted: Candidates
    """With ``scores``: what gates measured of each row, a probability or a distance."""

    refused: Mapping[str, int]
    """Candidates refused, by the first gate that did, in the order of the gates."""
