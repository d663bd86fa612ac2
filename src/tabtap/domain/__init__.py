"""The nouns: frozen values that the stages hand to each other.

Reads from: errors, table.  Read by: stages, and every stage package.
"""

from tabtap.domain.candidates import Candidates
from tabtap.domain.control import (
    TEMPLATES,
    Action,
    Experience,
    Feedback,
    LearnerState,
    Template,
)
from tabtap.domain.gating import GateContext
from tabtap.domain.lineages import DELIVERED, Lineages
from tabtap.domain.prediction import (
    MIN_PROBABILITY,
    ClassPrediction,
    LearnerPrediction,
    Prediction,
    TargetUnit,
    ValuePrediction,
    mix,
)

__all__ = [
    "DELIVERED",
    "MIN_PROBABILITY",
    "TEMPLATES",
    "Action",
    "Candidates",
    "ClassPrediction",
    "Experience",
    "Feedback",
    "GateContext",
    "LearnerPrediction",
    "LearnerState",
    "Lineages",
    "Prediction",
    "TargetUnit",
    "Template",
    "ValuePrediction",
    "mix",
]
