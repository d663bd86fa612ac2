"""The nouns: frozen values that the stages hand to each other."""

from tabtap.domain.candidates import Candidates
from tabtap.domain.control import (
    TEMPLATES,
    Action,
    Experience,
    Feedback,
    LearnerState,
    Template,
)
from tabtap.domain.gating import Admission, GateContext
from tabtap.domain.judgement import (
    Baseline,
    Bound,
    Certificate,
    RefereeScores,
    Standing,
    Trial,
    UtilityEstimate,
)
from tabtap.domain.lineages import WHOLE, Lineages
from tabtap.domain.prediction import (
    MIN_PROBABILITY,
    ClassPrediction,
    LearnerPrediction,
    Prediction,
    TargetUnit,
    ValuePrediction,
    mix,
    scatter,
)
from tabtap.domain.records import StepRecord, WindowRecord

__all__ = [
    "MIN_PROBABILITY",
    "TEMPLATES",
    "WHOLE",
    "Action",
    "Admission",
    "Baseline",
    "Bound",
    "Candidates",
    "Certificate",
    "ClassPrediction",
    "Experience",
    "Feedback",
    "GateContext",
    "LearnerPrediction",
    "LearnerState",
    "Lineages",
    "Prediction",
    "RefereeScores",
    "Standing",
    "StepRecord",
    "TargetUnit",
    "Template",
    "Trial",
    "UtilityEstimate",
    "ValuePrediction",
    "WindowRecord",
    "mix",
    "scatter",
]
