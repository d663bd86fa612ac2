"""The nouns: frozen values that the stages hand to each other."""

from tabtap.domain.judgement import (
    Baseline,
    Bound,
    Certificate,
    CommitRequest,
    RefereeScores,
    ScoresToBeat,
    UtilityEstimate,
)
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
from tabtap.domain.rows import WHOLE, Candidates, Lineages
from tabtap.domain.steps import (
    TEMPLATES,
    Action,
    ActionOutcome,
    Admission,
    Experience,
    Feedback,
    GateContext,
    LearnerState,
    StepRecord,
    Template,
    WindowRecord,
)

Standing, Trial = ScoresToBeat, CommitRequest  # their old names, kept until 0.3

__all__ = [
    "MIN_PROBABILITY",
    "TEMPLATES",
    "WHOLE",
    "Action",
    "ActionOutcome",
    "Admission",
    "Baseline",
    "Bound",
    "Candidates",
    "Certificate",
    "ClassPrediction",
    "CommitRequest",
    "Experience",
    "Feedback",
    "GateContext",
    "LearnerPrediction",
    "LearnerState",
    "Lineages",
    "Prediction",
    "RefereeScores",
    "ScoresToBeat",
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
